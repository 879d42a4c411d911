import type { AccountTier } from '../contract/contract.ts'
import type { Call, Mix } from './call.ts'
import type { Threshold, Timing } from './threshold.ts'
import type { Rate } from './units.ts'

/**
 * What a scenario file says, checked against itself and the contract. Names are resolved and units are numbers; a null
 * is what the file leaves open, for the planner to decide.
 */
export type Scenario = {
  readonly name: string
  readonly question: string | null
  readonly target: string | null
  readonly service: ServiceSpec | null
  readonly seed: number | null
  readonly callers: CallersSpec
  readonly calls: Readonly<Record<string, Call>>
  readonly stages: readonly Stage[]
  readonly slo: Readonly<Record<string, Readonly<Partial<Record<Timing, number>>>>>
  readonly budgetUsd: string | null
  readonly limits: LimitsSpec
  readonly record: 'all' | 'findings' | 'none'
  readonly thresholds: readonly Threshold[]
}

/** So many requests at a time, each of which takes so long, and so many more that wait; whoever comes then is refused. */
export type ServiceSpec = {
  readonly slots: number
  readonly serviceTimeMs: number
  readonly spread: 'constant' | 'exponential'
  readonly queue: number
}

export type CallersSpec = {
  readonly count: number
  /** Of each caller. */
  readonly keys: number
  readonly accountTier: AccountTier
  readonly shared: boolean
  readonly keysFile: string | null
  /** Whose limits "of tier" means, where the target says what it grants. */
  readonly limits: 'target' | 'profile'
}

export type Stage = {
  readonly name: string
  /** So many callers take part, from this one on. */
  readonly callers: number
  readonly firstCaller: number
  /** Whether its callers may fail more often than the service tolerates. */
  readonly beyondFailures: boolean
} & (({ readonly durationMs: number } & StageLoad) | Recorded)

/** What another run sent, at the instants at which it was due there. How long that lasts, that run knows. */
export type Recorded = {
  readonly shape: 'recorded'
  /** Its directory, as it was written. */
  readonly run: string
  readonly stage: string | null
  readonly speed: number
}

export type StageLoad =
  | { readonly shape: 'constant' | 'poisson'; readonly rate: Rate; readonly mix: Mix }
  | { readonly shape: 'ramp'; readonly from: Rate; readonly to: Rate; readonly mix: Mix }
  | {
      readonly shape: 'stairs'
      readonly from: Rate
      readonly to: Rate
      readonly steps: number
      readonly rampMs: number
      readonly mix: Mix
    }
  | {
      readonly shape: 'spike'
      readonly base: Rate
      readonly peak: Rate
      /** The peak is reached at `atMs`, where a ramp up ends, and lasts for `forMs`. */
      readonly atMs: number
      readonly forMs: number
      readonly rampUpMs: number
      readonly rampDownMs: number
      readonly mix: Mix
    }
  | { readonly shape: 'burst'; readonly size: BurstSize; readonly everyMs: number | null; readonly mix: Mix }
  | { readonly shape: 'pause' }
  | { readonly shape: 'closed'; readonly users: number; readonly thinkMs: number; readonly mix: Mix }
  | { readonly shape: 'saturate'; readonly connections: number; readonly maxCalls: number; readonly mix: Mix }
  | ({ readonly shape: 'capacity'; readonly mix: Mix } & CapacitySpec)
  | { readonly shape: 'sequence'; readonly calls: readonly string[] }

/** What a search for a capacity goes by; `good` and `precision` are shares, of which 1 is all. */
export type CapacitySpec = {
  readonly from: Rate
  readonly to: Rate
  readonly good: number
  readonly precision: number
  readonly trialMs: number
  readonly confirmMs: number
  readonly coolDownMs: number
  readonly spacing: 'even' | 'poisson'
}

/** Arrivals of all callers together, or the share of what one window allows to each caller. */
export type BurstSize =
  | { readonly kind: 'absolute'; readonly arrivals: number }
  | { readonly kind: 'of-tier'; readonly share: number }

export type LimitsSpec = {
  readonly maxInFlight: number | null
  readonly maxBodyBytes: number | null
  readonly drainMs: number | null
  readonly timeouts: Readonly<Record<TimeoutGroup, TimeoutsSpec>>
}

export type TimeoutGroup = 'chat' | 'rpc' | 'control'
export type TimeoutsSpec = {
  readonly connectMs: number | null
  readonly headersMs: number | null
  readonly idleMs: number | null
  readonly totalMs: number | null
}
