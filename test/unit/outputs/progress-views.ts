import { createFindingLog } from '../../../src/judge/findings/findings.ts'
import { createMetrics } from '../../../src/judge/metrics/request-stats.ts'
import type { CapacityResult } from '../../../src/judge/results.ts'
import type { LiveMachine } from '../../../src/outputs/output.ts'
import { type ProgressSnapshot, progressAt, readProgress } from '../../../src/outputs/progress-snapshot.ts'
import type { Load } from '../../../src/plan/plan.ts'
import { aPlan, aStage, dropped, failed, respondedWith, streamed } from '../judge/metrics/fixtures.ts'
import { aSearch, aTrial, aTrialCall } from '../report/capacity-results.ts'

const ramp: Load = { model: 'open', shape: { kind: 'ramp', fromPerSecond: 0, toPerSecond: 20 }, mix: [['chat', 1]] }
const closed: Load = { model: 'closed', users: 2, thinkMs: 0, mix: [['chat', 1]] }
const terms = { fromPerSecond: 20, toPerSecond: 90, goodRatio: 0.9, precision: 0.05, mix: { chat: 1 } }
const times = { trialMs: 1_000, confirmMs: 1_000, confirmSamples: 29, callerPerSecond: null }
const search: Load = {
  model: 'capacity',
  search: { ...terms, ...times },
  spacing: 'even',
  coolDownMs: 0,
  mix: [['chat', 1]],
}
export const plan = aPlan({
  budgetUsd: '0.05',
  stages: [
    aStage('(opening)', 5000),
    aStage('ramp', 10_000, { load: ramp }),
    aStage('users', 30_000, { load: closed, startMs: 10_000 }),
    aStage('search', 20_000, { load: search, startMs: 40_000 }),
  ],
})

const missing = [aTrialCall({ bad: 17, missed: { ttft: 17 } })]

const violated = createFindingLog()
const price = violated.reporterFor('rpc-credits')
for (const id of [3, 4])
  price.fail('rpc.batch.error-price', 'got 40 credits for 1 item of 20 credits and 1 failed item, expected 25', [id])

export const readingAt = (
  stage: string,
  { capacity = [] as readonly CapacityResult[], log = violated, workers = [] as readonly LiveMachine[] } = {},
) => {
  const metrics = createMetrics(plan)
  for (let i = 0; i < 60; i++) metrics.add(streamed({}, { stage: 'ramp' }))
  for (const o of [respondedWith(429, { stage: 'ramp' }), failed({ stage: 'ramp' }), dropped({ stage: 'ramp' })])
    metrics.add(o)
  metrics.add(respondedWith(200, { stage: '(opening)' }))
  const view = { metrics, tallies: log.tallies(), findings: log.findings(), claimedUsd: '0.0077', capacity }
  return readProgress({ ...view, stage, inFlight: 3, achievedPerSecond: 12.2, workers })
}

export const snapshotAt = (
  stage: string,
  elapsedMs: number,
  known: Parameters<typeof readingAt>[1] = {},
): ProgressSnapshot => progressAt(plan, readingAt(stage, known), elapsedMs)

export const trials = [
  aTrial({ offeredPerSecond: 40 }),
  aTrial({ offeredPerSecond: 80 }),
  aTrial({
    offeredPerSecond: 160,
    outcome: 'slo-missed',
    arrivals: 115,
    planned: 480,
    goodRatio: 0.852,
    calls: missing,
  }),
  aTrial({ purpose: 'narrow', offeredPerSecond: 120, outcome: 'harness-late' }),
  aTrial({ purpose: 'confirm', offeredPerSecond: 80, outcome: 'unfinished', arrivals: 319, planned: 788 }),
]
export const searching = aSearch({ status: 'inconclusive', ratePerSecond: null, trials })

export const plainPage = (columns: number) => ({ columns, color: false })
