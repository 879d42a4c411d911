import type { WorkerResult } from '../judge/judge-run.ts'
import type { StopReason } from '../produce/drivers/stop.ts'
import type { OpeningResult, RunEnd, WorkerSnapshot } from './worker.ts'

/** What a thread is asked; its answer bears the same number. */
export type WorkerQuery = { readonly id: number } & (
  | { readonly ask: 'open' | 'close' | 'snapshot' }
  | { readonly ask: 'drive'; readonly loadStartMs: number }
  | { readonly ask: 'finish'; readonly end: RunEnd }
)

/** What a thread is told, without an answer. */
export type WorkerCommand = { readonly tell: 'stop'; readonly reason: StopReason } | { readonly tell: 'cancel' }

/** What a thread answers, and what it reports by itself: that it stops, and so must all. */
export type WorkerMessage =
  | { readonly id: number; readonly answer: OpeningResult | WorkerResult | WorkerSnapshot | null }
  | { readonly stopped: StopReason }
