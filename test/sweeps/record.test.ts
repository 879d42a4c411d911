import { describe, expect, test } from 'vitest'
import { createJudge } from '../../src/judge/judge.ts'
import type { LogFooter } from '../../src/observation/log-lines.ts'
import type { Observation } from '../../src/observation/observation.ts'
import { makeReport } from '../../src/run/make-report.ts'
import { lieByName } from '../../src/service/lies/lies.ts'
import { todays } from '../support/nightly.ts'
import { virtualRun } from '../support/virtual-run.ts'

const scenario = 'scenarios/smoke.yaml'

async function judgeAgain(
  { plan, contract, head }: Pick<Awaited<ReturnType<typeof virtualRun>>, 'plan' | 'contract' | 'head'>,
  observations: readonly Observation[],
  end: LogFooter | null,
) {
  const judge = createJudge(plan, contract, head)
  // Plain copies, as read from a file.
  for (const observation of observations) judge.add(JSON.parse(JSON.stringify(observation)))
  const result = { snapshot: judge.finish(end !== null), end }
  const made = await makeReport({ plan, contract, head }, [result], async function* () {
    yield* observations
  })
  return made.report
}

describe('a run that is judged again from its recording', () => {
  test.each(['none', 'failed-item-in-full', 'charged-twice', 'remaining-never-falls'])(
    'has the same report: %s',
    async name => {
      const lie = lieByName(name)
      const run = await virtualRun({ scenario, lies: lie === undefined ? [] : [lie] })
      const { ended, durationMs } = run.report.run
      if (ended === 'truncated') throw new Error('a complete run must have an end')
      const again = await judgeAgain(run, run.observations, {
        ended,
        durationMs,
        startedMs: run.report.load.workers[0]?.startedMs ?? null,
        eventLoopDelayMs: null,
        notRecorded: 0,
        loadStartMs: null,
        pushed: null,
      })
      expect(again).toEqual(JSON.parse(JSON.stringify(run.report)))
    },
  )

  test('has no findings if its recording is truncated, at any position', async () => {
    const run = await virtualRun({ scenario })
    const counts = Array.from({ length: Math.ceil(run.observations.length / 7) }, (_, index) => 1 + 7 * index)
    for (const count of todays(counts, 4)) {
      const report = await judgeAgain(run, run.observations.slice(0, count), null)
      expect(report.findings, `the first ${count} observations`).toEqual([])
      expect(report.billing.discrepancies).toEqual([])
      expect(report.verdict).toBe('inconclusive')
      expect(report.run.ended).toBe('truncated')
    }
  })
})
