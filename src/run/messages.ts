import type { Share } from '../arrivals/share.ts'
import type { SpecialKeys } from '../callers/api-keys.ts'
import type { Caller } from '../callers/caller.ts'
import type { PurseSum } from '../drivers/purse.ts'
import type { JudgeJob, WorkerResult } from '../judging/judge-run.ts'
import type { Glance } from '../judging/readings.ts'
import type { Epoch } from '../lib/clock.ts'
import type { GaugeSnapshot } from '../metrics/gauges.ts'
import type { LogEnd } from '../observation/log.ts'
import type { Opening, RunEnd } from './worker.ts'

/** All that a thread needs to be a worker: plain data, and one sum in shared memory. */
export type Order = JudgeJob & {
  readonly callers: readonly Caller[]
  readonly specialKeys: SpecialKeys
  readonly epoch: Epoch
  readonly share: Share
  readonly purseSum: PurseSum
  readonly logFile: string
  readonly maxConnections: number
  /** Whether anybody may ask for the meters. */
  readonly isMetered: boolean
  /** Whether its calls are rehearsed before the first that counts. */
  readonly isRehearsed: boolean
}

/** What the one who conducts asks of a thread, which answers under the same number. */
export type Question = { readonly id: number } & (
  | { readonly ask: 'open' | 'close' | 'look' }
  | { readonly ask: 'drive'; readonly loadStartMs: number }
  | { readonly ask: 'end'; readonly end: RunEnd }
)

/** What it tells a thread. */
export type Call =
  | { readonly tell: 'halt'; readonly why: Exclude<LogEnd['ended'], 'complete'> }
  | { readonly tell: 'abandon' | 'quit' }

/** What a thread answers, and what it says unasked: that all are to halt. */
export type Reply =
  | { readonly id: number; readonly answer: Opening | WorkerResult | Sight | null }
  | { readonly halted: Exclude<LogEnd['ended'], 'complete'> }

/** What a worker has come to, for whoever watches. */
export type Sight = {
  readonly glance: Glance
  readonly meters: GaugeSnapshot
  readonly inFlight: number
  readonly stage: string
}
