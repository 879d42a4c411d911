import { describe, expect, test } from 'vitest'
import { documented } from '../../../src/contract/documented.ts'
import { createJudge } from '../../../src/judge/judge.ts'
import { judgeRun, type WorkerResult } from '../../../src/judge/judge-run.ts'
import type { LogFooter } from '../../../src/observation/log.ts'
import type { Observation } from '../../../src/observation/observation.ts'
import { shardOf } from '../../../src/plan/shard.ts'
import type { Report } from '../../../src/report/document.ts'

import { makeReport } from '../../../src/run/make-report.ts'
import { lieByName } from '../../../src/service/lies/lies.ts'
import { virtualRun } from '../../support/virtual-run.ts'

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

/** What so many workers would have seen of a run, each in the order in which it ended, with places of its own. */
function shards({ plan, observations }: Run, workers: number): readonly (readonly Observation[])[] {
  const callers = plan.callers.names.length
  return Array.from({ length: workers }, (_, worker) => {
    const own = observations.filter(({ id }) => shardOf(id % callers, plan, workers) === worker)
    const places = new Map(own.toSorted((a, b) => a.seq - b.seq).map(({ id }, seq) => [id, seq]))
    return own.map(observation => ({ ...observation, seq: places.get(observation.id) ?? 0 }))
  })
}

/** As facts come from a thread: copied. */
function judge({ plan, head }: Run, observations: readonly Observation[]): WorkerResult {
  const judged = createJudge(plan, documented, head)
  for (const observation of observations) judged.add(observation)
  return { facts: structuredClone(judged.finish(true)), end }
}

async function reportBy(run: Run, workers: number): Promise<Report> {
  const results = shards(run, workers).map(shard => judge(run, shard))
  const made = await makeReport({ plan: run.plan, contract: documented, head: run.head }, results, async function* () {
    yield* run.observations
  })
  return made.report
}

/** All but what workers say of themselves. */
const ofTheService = ({ load: { workers: _, ...load }, ...report }: Report) => ({ ...report, load })

describe.each(['none', 'failed-item-in-full', 'charged-twice', 'remaining-never-falls', 'replay-charged-again'])(
  'the report of several workers is that of one, to the last digit: %s',
  lie => {
    const lies = [lieByName(lie)].filter(found => found !== undefined)
    const running = virtualRun({ scenario: 'scenarios/smoke.yaml', lies })

    test.each([2, 3, 4])('%d workers', async workers => {
      const run = await running
      const [alone, together] = [await reportBy(run, 1), await reportBy(run, workers)]
      expect(ofTheService(together)).toEqual(ofTheService(alone))
      expect(JSON.stringify(ofTheService(together))).toBe(JSON.stringify(ofTheService(alone)))
      expect(together.load.workers).toHaveLength(workers)
      expect(together.load.workers.reduce((sum, { sent }) => sum + sent, 0)).toBe(alone.load.sent)
    })

    test('and so are the slices that runs are compared by', async () => {
      const run = await running
      const slicesBy = (workers: number) =>
        judgeRun(
          { plan: run.plan, contract: documented, head: run.head },
          shards(run, workers).map(shard => judge(run, shard)),
        ).slices
      expect(JSON.stringify(slicesBy(4))).toBe(JSON.stringify(slicesBy(1)))
    })
  },
)
