import type { Conclusion } from '../capacity/next-trial.ts'
import { isBroken, type TrialOutcome } from '../capacity/search-terms.ts'
import type { Trial } from '../plan/plan.ts'
import type { Percentiles } from './percentiles.ts'

/** What a stage has found out about the capacity of its target. */
export type CapacityResult = {
  readonly stage: string
  readonly status: Conclusion['status']
  /** Arrivals a second of all callers that were confirmed; null where none were. */
  readonly perSecond: number | null
  readonly because: string
  readonly fromPerSecond: number
  readonly toPerSecond: number
  /** Of each call among the arrivals; together they are 1. */
  readonly shares: Readonly<Record<string, number>>
  /** The share of the answers to each call that had to be good, and how near the rate had to be found. */
  readonly good: number
  readonly precision: number
  /** Of the trial that confirmed the rate: the latency that `percent` % of its answers do not exceed. */
  readonly confirmation: {
    readonly percent: number
    readonly samples: number
    readonly latencyMs: number | null
  } | null
  /** In the order in which they were made. */
  readonly trials: readonly TrialResult[]
}

/** One rate, and what came of it. */
export type TrialResult = {
  readonly purpose: Trial['purpose']
  readonly offeredPerSecond: number
  readonly outcome: TrialOutcome
  /** Arrivals that were due; `planned` are those that would have been, had the trial not been ended early. */
  readonly arrivals: number
  readonly planned: number
  readonly achievedPerSecond: number | null
  readonly goodputPerSecond: number | null
  readonly goodRatio: number | null
  readonly latencyMs: Percentiles
  /** Answers with 429 and with 503; requests without an answer; arrivals that were never sent. */
  readonly refused: number
  readonly atCapacity: number
  readonly failed: number
  readonly dropped: number
  /** Requests in flight that came to be more each second; null where there is too little to tell. */
  readonly inFlightPerSecond: number | null
}

/** Whether a trial showed that the target does not sustain its rate. */
export const hasBroken = ({ outcome }: Pick<TrialResult, 'outcome'>): boolean => isBroken(outcome)
