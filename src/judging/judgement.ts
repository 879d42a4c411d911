import { type CrossWorkerState, createAudits } from '../audits/audits.ts'
import { type CapacitySearch, createCapacitySearch } from '../capacity/search.ts'
import { createChecks } from '../checks/checks.ts'
import { createFindingLog, type FindingLog } from '../checks/findings.ts'
import type { Contract } from '../contract/contract.ts'
import type { Defer } from '../lib/batches.ts'
import { createBatch } from '../lib/batches.ts'
import { createMetrics } from '../metrics/request-stats.ts'
import { createSeries, type SeriesSnapshot } from '../metrics/series.ts'
import { createSlices, type SlicesSnapshot } from '../metrics/slices.ts'
import type { RunHead } from '../observation/log.ts'
import type { Observation, Sink } from '../observation/observation.ts'
import { isSystemStage, type Plan } from '../plan/plan.ts'
import { type Glance, type Readings, thresholdsOf } from './readings.ts'

/** The judges of a worker's observations; each part has caught up when it is asked for. What they come to is plain data, which `reportOf` makes a verdict of. */
export type Judgement = Readings & {
  /** Takes an observation, which may be judged a little later, together with others. */
  readonly add: Sink
  readonly docket: Pick<FindingLog, 'tallies' | 'violations' | 'cites'>
  /** What searches are to try next. */
  readonly search: CapacitySearch
  readonly glance: () => Glance
  /**
   * Judges what was still open. To be called once, after the last observation. Of a record that was cut off, `isWhole`
   * is false.
   */
  readonly conclude: (isWhole: boolean) => Facts
}

/** All that judges have come to. The facts of several workers, who have no caller in common, are those of the run. */
export type Facts = Glance & {
  readonly memories: CrossWorkerState
  readonly series: SeriesSnapshot
  readonly slices: SlicesSnapshot
  /** Observations that examples name, by their `seq`, as far as they were kept. */
  readonly kept: ReadonlyMap<number, Observation>
}

/** The program's own call, by which each caller states its balance and its limits before and after the load. */
export const statementCall = '(statement)'
export const ownCalls = { [statementCall]: { kind: 'rate-limits' } } as const

/**
 * Judging takes more code than fits into the nearest caches, and so does sending: by turns, each pushes the other out.
 * Together, so many observations take half the time that they take one by one.
 */
const judgedTogether = 32
/** More than all examples of all judges can name. */
const mostKept = 50_000

/** While load is driven, `later` is where judging is in nobody's way. */
export function createJudgement(
  plan: Plan,
  contract: Contract,
  { startedAtMs }: Pick<RunHead, 'startedAtMs'>,
  later?: Defer,
): Judgement {
  const docket = createFindingLog()
  const checks = createChecks(contract, docket)
  const series = createSeries(plan)
  const audits = createAudits({ contract, shared: plan.callers.shared, startedAtMs }, docket, series.spend)
  const metrics = createMetrics(plan)
  const slices = createSlices(plan, contract)
  const search = createCapacitySearch(plan, contract)
  const kept = new Map<number, Observation>()
  let latestMs = 0

  const batch = createBatch(judgedTogether, judge, later)
  const caughtUp = <Value>(value: Value): Value => {
    batch.flush()
    return value
  }

  function judge(observation: Observation): void {
    checks(observation)
    series.add(observation)
    audits.add(observation)
    metrics.add(observation)
    slices.add(observation)
    search.add(observation)
    latestMs = Math.max(latestMs, observation.endMs ?? observation.dueMs)
    if (!docket.cites(observation.seq)) return
    kept.set(observation.seq, observation)
    // An example gives way to an earlier one that is found later.
    if (kept.size > mostKept) for (const seq of kept.keys()) if (!docket.cites(seq)) kept.delete(seq)
  }

  function glance(): Glance {
    batch.flush()
    return {
      metrics: metrics.snapshot(),
      docket: docket.snapshot(),
      audits: audits.snapshot(),
      capacity: { complete: search.results(true), cutShort: search.results(false) },
      latestMs,
    }
  }

  return {
    add: observation => {
      batch.add(observation)
      // The load waits for the statements that open a run, and so for what is made of them.
      if (isSystemStage(observation.stage)) batch.flush()
    },
    get metrics() {
      return caughtUp(metrics)
    },
    get docket() {
      return caughtUp(docket)
    },
    get search() {
      return caughtUp(search)
    },
    capacity: complete => caughtUp(search).results(complete),
    get audits() {
      return caughtUp(audits)
    },
    thresholds: () => {
      batch.flush()
      return thresholdsOf(
        plan,
        { metrics, docket, audits, capacity: search.results },
        { complete: false, elapsedMs: latestMs },
        null,
      )
    },
    glance,
    conclude: isWhole => {
      batch.flush()
      audits.finish(isWhole)
      const named = new Map([...kept].filter(([seq]) => docket.cites(seq)))
      return {
        ...glance(),
        memories: audits.crossWorkerState(),
        series: series.snapshot(),
        slices: slices.snapshot(),
        kept: named,
      }
    },
  }
}
