import { createEnding } from '../drivers/ending.ts'
import { createJudgement, type Judgement } from '../judge.ts'
import type { Slices } from '../metrics/slices.ts'
import type { LogEnd, PushTally } from '../observation/log.ts'
import type { Observation, Sink } from '../observation/observation.ts'
import type { Report } from '../report/report.ts'
import type { Outfit } from './sender.ts'
import { createShard, type Shard } from './shard.ts'

export type RunOptions = Omit<Outfit, 'ending' | 'judgement' | 'write'> & {
  /** Aborted when the load is to end: what is under way is waited for. */
  readonly stop: AbortSignal
  /** Aborted when everything is to end now. */
  readonly quit: AbortSignal
  /** Where the observations go beside the judges. */
  readonly record: {
    readonly write: Sink
    readonly unrecorded: () => number
    readonly end: (end: LogEnd, slices: Slices) => Promise<void>
    readonly recall: () => AsyncIterable<Observation>
  }
  readonly eventLoopDelayMs: () => LogEnd['eventLoopDelayMs']
  /** Asked at the end: what became of what was pushed until then. */
  readonly pushed: () => PushTally | null
  /** Told once, before the first request: what a live view may look at. */
  readonly onStart: (live: Live) => void
}

/** What can be seen of a run while it goes. */
export type Live = Pick<Shard, 'inFlight' | 'stage'> & {
  readonly judgement: Judgement
  /** When the stages began, on the clock of the run; null before that. */
  readonly loadStartMs: () => number | null
}

/** Carries out a plan: produces observations, judges them while they come, and gives the report. */
export async function carryOut(options: RunOptions): Promise<Report> {
  const { plan, contract, head, clock, record, quit } = options
  const judgement = createJudgement(plan, contract, head)
  const ending = createEnding(options.stop, quit)
  const shard = createShard({ ...options, ending, judgement, write: record.write }, quit)
  let loadStartMs: number | null = null
  options.onStart({ judgement, inFlight: shard.inFlight, stage: shard.stage, loadStartMs: () => loadStartMs })

  try {
    await shard.open()
    const opening = judgement.metrics.select({ call: null, stage: '(opening)' })
    if (opening.answered === 0) ending.halt('target-unreachable')
    else if (opening.statuses.get(401) === opening.answered) ending.halt('keys-refused')
    loadStartMs = clock.nowMs()
    await shard.drive(loadStartMs)
    if (ending.why() !== 'target-unreachable' && !quit.aborted) await shard.close()
  } finally {
    // Whatever went wrong here, nobody goes on sending.
    ending.abandon()
  }
  const end: LogEnd = {
    ended: ending.why(),
    durationMs: clock.nowMs(),
    eventLoopDelayMs: options.eventLoopDelayMs(),
    unrecorded: record.unrecorded(),
    pushed: options.pushed(),
  }
  await record.end(end, judgement.slices())
  return judgement.conclude(end, record.recall)
}
