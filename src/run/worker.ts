import type { Share } from '../arrivals/share.ts'
import type { PurseSum } from '../drivers/purse.ts'
import type { WorkerResult } from '../judging/judge-run.ts'
import { createJudgement, type Judgement } from '../judging/judgement.ts'
import type { Defer } from '../lib/batches.ts'
import type { LogEnd, LogWriter } from '../observation/log.ts'
import type { Outfit } from './sender.ts'
import { createShard, type Shard } from './shard.ts'

/** How the callers of a worker were received. */
export type Opening = { readonly answered: number; readonly unauthorized: number }

/** What is decided for all workers when the load is over. */
export type RunEnd = Pick<LogEnd, 'ended' | 'durationMs' | 'pushed'>

/**
 * Carries out a share of the run and judges it, step by step, as the one who conducts says. Every step is null where the
 * worker was lost.
 */
export type Worker = {
  readonly open: () => Promise<Opening | null>
  readonly drive: (loadStartMs: number) => Promise<unknown>
  readonly close: () => Promise<unknown>
  /** Ends the record; gives what the judges have come to. */
  readonly end: (end: RunEnd) => Promise<WorkerResult | null>
}

export type WorkerOptions = Omit<Outfit, 'judgement' | 'write'> & {
  readonly share: Share
  readonly purseSum: PurseSum
  /** Aborted when everything is to end now. */
  readonly quit: AbortSignal
  readonly record: LogWriter
  readonly eventLoopDelayMs: () => LogEnd['eventLoopDelayMs']
  /** Puts judging off until what has arrived is read and what is due is sent; missing: it is not put off. */
  readonly judgeLater?: Defer
}

/** A worker in this very thread. */
export function createWorker(
  options: WorkerOptions,
): Worker & Pick<Shard, 'inFlight' | 'stage'> & { judgement: Judgement } {
  const { plan, contract, head, record } = options
  const judgement = createJudgement(plan, contract, head, options.judgeLater)
  const shard = createShard({ ...options, judgement, write: record.write }, options.purseSum, options.quit)
  let plannedMs: number | null = null
  let beganMs: number | null = null

  return {
    judgement,
    inFlight: shard.inFlight,
    stage: shard.stage,
    open: async () => {
      await shard.open()
      const { answered, statuses } = judgement.metrics.select({ call: null, stage: '(opening)' })
      return { answered, unauthorized: statuses.get(401) ?? 0 }
    },
    drive: async loadStartMs => {
      plannedMs = loadStartMs
      beganMs = await shard.drive(loadStartMs)
    },
    close: shard.close,
    end: async run => {
      const { unrecorded } = record
      const delayMs = options.eventLoopDelayMs()
      const end = { ...run, loadStartMs: plannedMs, beganMs, eventLoopDelayMs: delayMs, unrecorded: unrecorded() }
      await record.end(end)
      return { facts: judgement.conclude(true), end }
    },
  }
}
