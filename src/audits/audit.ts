import type { Contract } from '../contract/contract.ts'
import type { Observation } from '../observation/observation.ts'

/** A fold over the observations in the order of their `seq`. */
export type Audit = {
  /** Whatever is added later was sent at `watermarkMs` or after it. */
  readonly add: (observation: Observation, watermarkMs: number) => void
  /**
   * Judges what was still open. To be called once, after the last observation. Of a record that was cut off, `isWhole`
   * is false: requests that were under way are missing from it, so what they leave open stays open.
   */
  readonly conclude: (isWhole: boolean) => void
}

/** What every audit may know beside the observations. */
export type AuditScope = {
  readonly contract: Contract
  /** Whether others use the same accounts during the run. */
  readonly shared: boolean
  /** Unix time in milliseconds at which the clock of the observations stands at 0. */
  readonly startedAtMs: number
}
