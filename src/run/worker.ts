import { createInventedKeys } from '../judge/answers.ts'
import { countedFailureOf } from '../judge/audits/abuse/failure.ts'
import { createSpendOf } from '../judge/audits/ledger/spend.ts'
import { createJudge, mergeSnapshots } from '../judge/judge.ts'
import { createGauges, mergeGauges } from '../judge/metrics/gauges.ts'
import { createTraceChoice } from '../judge/traced-requests.ts'
import type { Defer } from '../lib/batches.ts'
import type { LogWriter } from '../observation/log.ts'
import type { EventLoopDelay } from '../observation/log-lines.ts'
import { traceIdsOf } from '../observation/trace-id.ts'
import { createEngine, type EngineIo } from '../produce/engine.ts'
import type { Feedback } from '../produce/firing.ts'
import { inTurns } from '../produce/transport/in-turns.ts'
import type { FinishedWorker, OpeningResult, RunEnd, WorkerJob, WorkerSnapshot } from './messages.ts'
import { followSearches, type SearchOrder, type SearchReport } from './search.ts'

/** All effects of a worker. */
export type WorkerIo = Omit<EngineIo, 'sink' | 'feedback' | 'searchLead'> & {
  /** null: nothing is recorded. */
  readonly log: LogWriter | null
  /** Defers judging until responses that have arrived are read and requests that are due are sent. */
  readonly defer: Defer
  /** null: not measured. */
  readonly eventLoopDelayMs: () => EventLoopDelay | null
  /** Whether only times are measured, and nothing is judged. Missing: all is judged. */
  readonly timesOnly?: boolean
  /** Reports to the run, which leads all workers through a capacity search. */
  readonly reportSearch: (report: SearchReport) => void
}

export type Worker = {
  readonly open: () => Promise<OpeningResult>
  readonly drive: (loadStartMs: number) => Promise<void>
  readonly close: () => Promise<void>
  /** Ends the log. */
  readonly finish: (end: RunEnd) => Promise<FinishedWorker>
  readonly snapshot: (withDetails: boolean) => WorkerSnapshot
  /** Receives an order of the run in a capacity search. */
  readonly search: (order: SearchOrder) => void
}

/** How often --fail-fast looks for a violation. */
const violationCheckMs = 250

/** Connects one engine, one judge and one log. */
export function createWorker(job: WorkerJob, io: WorkerIo): Worker {
  const { plan, contract, info } = job
  const { log } = io
  const traceIds = info.traces ? traceIdsOf(info.runId) : null
  const traces = traceIds && createTraceChoice(contract, id => Number.parseInt(traceIds.traceId(id).slice(-8), 16))
  const judge = createJudge(plan, contract, info, {
    defer: io.defer,
    keepsRecent: job.details,
    timesOnly: io.timesOnly === true,
    onJudged: (observation, isCited) => {
      if (plan.record === 'findings' && isCited) log?.write(observation)
      traces?.add(observation, isCited)
    },
  })
  const isUnknownKey = createInventedKeys(info.inventedKeys === true)
  const gauges = job.gauges ? createGauges(contract) : null
  const feedback: Feedback = {
    spendOf: createSpendOf(contract, plan.callers.shared),
    countsAsFailure: observation => countedFailureOf(observation, contract) !== null,
  }
  const searches = followSearches(judge.trialPart, io.reportSearch)
  const engine = createEngine(job, {
    ...io,
    ...(job.turns !== undefined && { transport: inTurns(io.transport, io.clock, job.turns) }),
    feedback,
    searchLead: searches.lead,
    sink: observation => {
      judge.add(observation)
      if (isUnknownKey(observation)) io.stop.stop('unauthorized')
      // Written before it is judged, so a crash loses only data that is not on the disk yet.
      if (plan.record === 'all') log?.write(observation)
      gauges?.add(observation)
    },
  })
  /** Looks for a violation, again and again. Returns a function that ends it. */
  function stopAtViolation(): () => void {
    let cancel = () => {}
    const look = () => {
      if (judge.hasViolation()) io.stop.stop('violation-found')
      else cancel = io.clock.at(io.clock.nowMs() + violationCheckMs, look)
    }
    look()
    return () => cancel()
  }
  let plannedMs: number | null = null
  let startedMs: number | null = null

  return {
    open: async () => {
      await engine.open()
      // Taking a snapshot judges the balance checks now instead of during the load.
      const { sent, answered, statuses } = mergeSnapshots(plan, [judge.snapshot()]).metrics.select({
        call: null,
        stage: '(opening)',
      })
      return { sent, answered, unauthorized: statuses.get(401) ?? 0 }
    },
    drive: async loadStartMs => {
      plannedMs = loadStartMs
      const cancelWatch = job.failFast ? stopAtViolation() : () => {}
      startedMs = await engine.drive(loadStartMs)
      cancelWatch()
    },
    close: engine.close,
    finish: async run => {
      const eventLoopDelayMs = io.eventLoopDelayMs()
      const statesStalls = io.stalls === undefined ? undefined : (true as const)
      const snapshot = judge.finish(true)
      traces?.end()
      const end = {
        ...run,
        loadStartMs: plannedMs,
        startedMs,
        eventLoopDelayMs,
        statesStalls,
        notRecorded: log?.notRecorded() ?? 0,
      }
      return { snapshot, end, unwritten: (await log?.end(end)) ?? null }
    },
    snapshot: withDetails => ({
      judge: judge.snapshot(),
      gauges: gauges?.snapshot() ?? mergeGauges([]),
      traced: traces?.snapshot() ?? { count: 0, last: [] },
      inFlight: engine.inFlight(),
      inFlightByCall: engine.inFlightByCall(),
      stage: engine.stage(),
      details: withDetails ? judge.details() : null,
      eventLoopDelayMs: io.eventLoopDelayMs(),
    }),
    search: searches.obey,
  }
}
