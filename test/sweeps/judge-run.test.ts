import { describe, expect, test } from 'vitest'
import { documentedContract } from '../../src/contract/documented.ts'
import { createJudge } from '../../src/judge/judge.ts'
import { judgeRun, type WorkerResult } from '../../src/judge/judge-run.ts'
import type { LogFooter } from '../../src/observation/log-lines.ts'
import type { Observation } from '../../src/observation/observation.ts'
import { shardOf } from '../../src/plan/shard.ts'
import type { Report } from '../../src/report/document.ts'
import { makeReport } from '../../src/run/make-report.ts'
import { lieByName } from '../../src/service/lies/lies.ts'
import { todays } from '../support/nightly.ts'
import { virtualRun } from '../support/virtual-run.ts'

type Run = Awaited<ReturnType<typeof virtualRun>>

const end: LogFooter = {
  ended: 'complete',
  durationMs: 30_000,
  startedMs: 5,
  eventLoopDelayMs: null,
  notRecorded: 0,
  loadStartMs: null,
  pushed: null,
}

/** Splits the observations of a run among workers, each with its own sequence numbers. */
function shards({ plan, observations }: Run, workers: number): readonly (readonly Observation[])[] {
  const callers = plan.callers.names.length
  return Array.from({ length: workers }, (_, worker) => {
    const own = observations.filter(({ id }) => shardOf(id % callers, plan, workers) === worker)
    const seqs = new Map(own.toSorted((a, b) => a.seq - b.seq).map(({ id }, seq) => [id, seq]))
    return own.map(observation => ({ ...observation, seq: seqs.get(observation.id) ?? 0 }))
  })
}

/** Copies the result, as between threads. */
function judge({ plan, head }: Run, observations: readonly Observation[]): WorkerResult {
  const judged = createJudge(plan, documentedContract, head)
  for (const observation of observations) judged.add(observation)
  return { snapshot: structuredClone(judged.finish(true)), end }
}

async function judgedBy(run: Run, workers: number) {
  const results = shards(run, workers).map(shard => judge(run, shard))
  const judged = { plan: run.plan, contract: documentedContract, head: run.head }
  const { report } = await makeReport(judged, results, async function* () {
    yield* run.observations
  })
  return { report, slices: JSON.stringify(judgeRun(judged, results).slices) }
}

/** The report without the data of the workers. */
const withoutWorkers = ({ load: { workers: _, ...load }, ...report }: Report) => ({ ...report, load })

const namedLies = ['failed-item-in-full', 'charged-twice', 'remaining-never-falls', 'replay-charged-again']

describe.each(['none', ...todays(namedLies, 2)])(
  'the report of several workers equals the report of one, to the last digit: %s',
  lie => {
    const lies = [lieByName(lie)].filter(found => found !== undefined)
    const running = virtualRun({ scenario: 'scenarios/smoke.yaml', lies })
    const judgingAlone = running.then(run => judgedBy(run, 1))

    test.each(lie === 'none' ? [2, 3, 4] : todays([2, 3, 4], 3))('%d workers, and so do the slices', async workers => {
      const [alone, together] = [await judgingAlone, await judgedBy(await running, workers)]
      const { load } = together.report
      expect(withoutWorkers(together.report)).toEqual(withoutWorkers(alone.report))
      expect(JSON.stringify(withoutWorkers(together.report))).toBe(JSON.stringify(withoutWorkers(alone.report)))
      expect(load.workers).toHaveLength(workers)
      expect(load.workers.reduce((sum, { sent }) => sum + sent, 0)).toBe(alone.report.load.sent)
      expect(together.slices).toBe(alone.slices)
    })
  },
)
