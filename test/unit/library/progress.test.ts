import { expect, test } from 'vitest'
import { documentedContract } from '../../../src/contract/documented.ts'
import type { RunProgress } from '../../../src/library/options.ts'
import { progressOutput } from '../../../src/library/run-scenario.ts'
import { makePlan } from '../../../src/plan/make-plan.ts'
import type { Plan } from '../../../src/plan/plan.ts'
import { loadScenario } from '../../../src/scenario/load-scenario.ts'
import { virtualRun } from '../../support/virtual-run.ts'

const scenario = 'test/e2e/short.yaml'
const plan: Plan = makePlan(loadScenario(scenario, documentedContract), documentedContract, {
  seed: null,
  target: null,
  budgetUsd: null,
})

const watch = (onProgress: (progress: RunProgress) => void, onError: (cause: unknown) => void) =>
  virtualRun({ scenario, change: ({ clock }) => ({ outputs: [progressOutput(plan, clock, onProgress, onError)] }) })

test('progress comes about once per second, and at the end with the figures of the report', async () => {
  const seen: RunProgress[] = []
  const { report } = await watch(
    progress => seen.push(progress),
    cause => {
      throw cause
    },
  )
  expect(seen.map(({ stage }) => stage)).toEqual(expect.arrayContaining(['steady']))
  expect(seen.length).toBeGreaterThanOrEqual(3)
  expect(seen.length).toBeLessThanOrEqual(Math.ceil(report.run.durationMs / 1000) + 1)
  const sent = seen.map(progress => progress.sent)
  expect(sent).toEqual(sent.toSorted((a, b) => a - b))
  const last = seen.at(-1)
  const calls = report.calls.filter(({ stage }) => stage === null)
  const sentByCalls = calls.reduce((sum, { count }) => sum + count, 0)
  expect(last).toMatchObject({ scenario: 'short', sent: sentByCalls, failed: 0, violations: [], inFlight: 0 })
  expect(last?.claimedUsd).toBe(report.billing.claimedUsd)
  expect(structuredClone(last)).toEqual(last)
})

test('a function that throws is reported once, and not called again', async () => {
  const failures: unknown[] = []
  let calls = 0
  const bug = new Error('of the caller')
  const { report } = await watch(
    () => {
      calls++
      throw bug
    },
    cause => failures.push(cause),
  )
  expect([calls, failures]).toEqual([1, [bug]])
  expect(report.verdict).toBe('pass')
})
