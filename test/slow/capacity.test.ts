import { describe, expect, test } from 'vitest'
import { documented } from '../../src/contract/documented.ts'
import type { CapacityResult } from '../../src/judge/capacity/result.ts'
import { createJudge } from '../../src/judge/judge.ts'
import { formatRate } from '../../src/lib/format.ts'

import { makeReport } from '../../src/run/make-report.ts'
import { type VirtualRun, virtualRun } from '../support/virtual-run.ts'

const scenario = (changes: Readonly<Record<string, string>> = {}) => {
  const parts = {
    callers: '{ count: 60 }',
    service: '{ slots: 4, service-time: 40ms, queue: 30 }',
    search: 'duration: 110s, from: 10/s, to: 250/s, good: 99%',
    slo: '{ chat: { latency: 1s } }',
    thresholds: '',
    more: '',
    ...changes,
  }
  return `name: search
callers: ${parts.callers}
calls: { chat: { kind: chat, stream: false, model-tier: XS, prompt-tokens: 20, max-completion-tokens: 4 } }
service: ${parts.service}
stages: [{ name: search, shape: capacity, ${parts.search}, mix: { chat: 1 } }]
slo: ${parts.slo}
${parts.more}
thresholds:
  - { expect: violations == 0, why: A busy service keeps its word. }${parts.thresholds}
`
}

async function searchIn(text: string, options: Omit<VirtualRun, 'scenario'> = {}) {
  const run = await virtualRun({ scenario: text, ...options })
  const [result] = run.report.capacity
  if (result === undefined) throw new Error('the run searched for a capacity')
  return { ...run, result }
}

const outcomes = ({ trials }: CapacityResult) => new Set(trials.map(({ outcome }) => outcome))

describe('a search in a whole run', () => {
  const found = searchIn(
    scenario({
      thresholds: `
  - { expect: capacity of chat in search >= 90/s, why: A release must sustain it. }
  - { expect: capacity >= 120/s, why: A wish. }`,
    }),
  )

  test('finds the knee of the reference service and says what it rests on', async () => {
    const { report, result } = await found
    expect(result.status).toBe('found')
    expect(Math.abs((result.ratePerSecond ?? 0) / 100 - 1)).toBeLessThan(0.05)
    expect(result.confirmation).toMatchObject({ percent: 99, samples: expect.any(Number) })
    expect(result.confirmation?.samples).toBeGreaterThanOrEqual(299)
    expect(result.reason).toMatch(/^The target sustained .*\/s for .* good of .* arrivals; it did not sustain .*\/s: /)
    expect(report.findings).toEqual([])
  })

  test('is judged again from its observations to the last digit', async () => {
    const { report, plan, head, observations } = await found
    const again = createJudge(plan, documented, head)
    for (const observation of observations) again.add(JSON.parse(JSON.stringify(observation)))
    const noted = { startedMs: null, eventLoopDelayMs: null, notRecorded: 0, loadStartMs: null, pushed: null }
    const end = { ended: 'complete', durationMs: report.run.durationMs, ...noted } as const
    const parts = [{ facts: again.finish(true), end }]
    const judged = await makeReport({ plan, contract: documented, head }, parts, async function* () {
      yield* observations
    })
    expect(judged.report.capacity).toEqual(report.capacity)
  })

  test('is over with its answer, long before its time', async () => {
    const { report } = await found
    expect(report.run.durationMs).toBeLessThan(80_000)
  })

  test('decides a threshold by what was confirmed', async () => {
    const { report } = await found
    expect(report.thresholds.map(({ verdict }) => verdict)).toEqual(['pass', 'pass', 'fail'])
    expect(report.verdict).toBe('fail')
  })

  test('asks nothing that has a caller blocked', async () => {
    const { report, observations } = await found
    expect(report.load.blocked).toBe(0)
    expect(observations.some(({ outcome }) => outcome.kind === 'answered' && outcome.status === 503)).toBe(true)
  })

  test('finds the knee although some answers are bad for no reason', async () => {
    const { result } = await searchIn(scenario(), { faults: [{ status: 503, probability: 0.004 }] })
    expect(result.status).toBe('found')
    expect(Math.abs((result.ratePerSecond ?? 0) / 100 - 1)).toBeLessThan(0.05)
  })

  test('finds it with arrivals at random moments, where a queue has to take them up', async () => {
    const { result } = await searchIn(
      scenario({
        service: '{ slots: 8, service-time: 80ms, queue: 100 }',
        search: 'duration: 3m, from: 20/s, to: 250/s, good: 99%, spacing: poisson, confirm: 20s',
      }),
    )
    expect(result.status).toBe('found')
    expect(Math.abs((result.ratePerSecond ?? 0) / 100 - 1)).toBeLessThan(0.06)
  })
})

describe('a search that finds no capacity', () => {
  test('says so where the target never breaks, and at least how much it sustains', async () => {
    const { report, result } = await searchIn(
      scenario({
        search: 'duration: 110s, from: 10/s, to: 80/s, good: 99%',
      }),
    )
    expect(result).toMatchObject({ status: 'above-range', perSecond: 80 })
    expect(result.reason).toMatch(/^At least 80\/s/)
    expect(report.verdict).toBe('pass')
  })

  test('says that the lowest rate broke already', async () => {
    const { result } = await searchIn(scenario({ search: 'duration: 110s, from: 150/s, to: 250/s, good: 99%' }))
    expect(result).toMatchObject({ status: 'below-range', perSecond: null })
  })

  test('says that rate limits came first, and gives no number', async () => {
    const { report, result } = await searchIn(
      scenario({
        callers: '{ count: 4 }',
        service: '{ slots: 100, service-time: 40ms, queue: 30 }',
        search: 'duration: 110s, from: 10/s, to: 250/s, good: 99%, exceed-tier: true',
      }),
    )
    expect(result).toMatchObject({ status: 'limited-by-tier', perSecond: null })
    expect(report.verdict).toBe('inconclusive')
    expect(report.reasons[0]).toMatch(/^No capacity was found in search: The rate limits of the callers came first/)
  })

  test('says that the bound of the harness came first, and gives no number', async () => {
    const { report, result } = await searchIn(
      scenario({ service: '{ slots: 100, service-time: 40ms, queue: 30 }', more: 'limits: { max-in-flight: 20 }' }),
    )
    expect(result).toMatchObject({ status: 'harness-limited', perSecond: null })
    expect(outcomes(result)).toContain('harness-saturated')
    const spoiled = result.trials
      .filter(({ outcome }) => outcome === 'harness-saturated')
      .map(each => each.offeredPerSecond)
    expect(result.reason).toContain(`was reached at ${formatRate(Math.min(...spoiled))}`)
    expect(report.verdict).toBe('inconclusive')
  })

  test('ends before its only caller would be blocked', async () => {
    const { report, result, observations } = await searchIn(
      scenario({
        callers: '{ count: 1 }',
        service: '{ slots: 1, service-time: 400ms, queue: 1 }',
        search: 'duration: 110s, from: 1/s, to: 8/s, good: 70%, confirm: 30s, trial: 20s',
        slo: '{ chat: { latency: 5s } }',
      }),
    )
    expect(report.load.blocked).toBe(0)
    expect(result).toMatchObject({ status: 'inconclusive', perSecond: null })
    expect(result.trials.at(-1)?.outcome).toBe('failure-limit')
    expect(result.reason).toMatch(/^Callers would have been blocked/)
    const failures = observations.filter(({ outcome }) => outcome.kind === 'answered' && outcome.status === 503)
    expect(failures.length).toBeLessThanOrEqual(20)
  })

  test('is inconclusive where its time is over', async () => {
    const { report, result } = await searchIn(scenario({ search: 'duration: 20s, from: 10/s, to: 250/s, good: 99%' }))
    expect(result).toMatchObject({ status: 'inconclusive', perSecond: null })
    expect(report.run.durationMs).toBeLessThan(30_000)
    expect(report.verdict).toBe('inconclusive')
  })

  test('is inconclusive where the budget is reached', async () => {
    const { report, result } = await searchIn(scenario({ more: 'budget: { usd: 0.006 }' }))
    expect(report.run.ended).toBe('budget-reached')
    expect(result).toMatchObject({ status: 'inconclusive', perSecond: null })
    expect(result.trials.at(-1)?.outcome).toBe('unfinished')
  })
})
