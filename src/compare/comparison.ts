import type { Unit } from '../lib/format.ts'

/** What is said of one number, or of a whole run, against its baselines. */
export type Outcome = 'improved' | 'unchanged' | 'regressed' | 'cannot-tell'

/** What a comparison goes by. All are shares: 0.05 is 5 %. */
export type Criteria = {
  /** A change that is smaller does not matter. Of ratios between 0 and 1, a fifth of it, as a difference. */
  readonly minimalEffect: number
  /** How much times and rates of the same thing vary from run to run, at least: the standard deviation of one run. */
  readonly noiseFloor: number
}

export const defaultCriteria: Criteria = { minimalEffect: 0.05, noiseFloor: 0.02 }

/** One number of a call in a stage, in the run and in its baselines. */
export type ComparedRow = {
  readonly call: string
  readonly stage: string
  /** Such as `latency p95` or `goodput`. */
  readonly measure: string
  readonly unit: Unit
  readonly better: 'lower' | 'higher'
  readonly verdict: Outcome
  /** The geometric mean of the baselines, or the mean of ratios; null: it has no such value. */
  readonly base: number | null
  readonly run: number | null
  readonly effect: Effect | null
  /** How sure it is that the number has become worse (or better, if it looks better): 0.5 to 1. null: no test was made. */
  readonly confidence: number | null
  /** Why it cannot be told; else `''`. */
  readonly because: string
}

/**
 * How the run differs. `relative`: run ÷ base − 1; `difference`: run − base. With 95 % confidence it is not below `low`,
 * and with as much not above `high`.
 */
export type Effect = {
  readonly kind: 'relative' | 'difference'
  readonly value: number
  readonly low: number
  readonly high: number
}

export type ComparedFacts = {
  readonly id: string
  readonly startedAt: string
  readonly target: string
  readonly version: string
  readonly seed: number
}

/** A run against its baselines. Changes only ever add. */
export type Comparison = {
  readonly schema: 1
  readonly verdict: Outcome
  /** Why, in sentences; never empty. */
  readonly because: readonly string[]
  readonly scenario: string
  readonly run: ComparedFacts
  /** Those that were used. */
  readonly baselines: readonly ComparedFacts[]
  readonly criteria: Criteria
  readonly rows: readonly ComparedRow[]
}
