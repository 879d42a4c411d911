import { describe, expect, test } from 'vitest'
import { coarseSnapshot, createLiveSeries, createSeries, type Series } from '../../../../src/judge/metrics/series.ts'
import type { Observation } from '../../../../src/observation/observation.ts'
import type { Plan } from '../../../../src/plan/plan.ts'
import { anObservation, aPlan, aStage, dropped, failed, respondedWith, streamed } from './fixtures.ts'

function seriesOf(observations: readonly Observation[]): Series {
  const series = createSeries(aPlan({ stages: [aStage('steady', 10_000)] }))
  for (const observation of observations) series.add(observation)
  return series.series()
}

describe('counts over time', () => {
  test('an arrival is in the column of its due time, a response in that of its end', () => {
    const { due, sent, answered } = seriesOf([respondedWith(200, { dueMs: 900, sentMs: 1_001, endMs: 2_500 })])
    expect([due, sent, answered]).toEqual([
      [1, 0, 0],
      [0, 1, 0],
      [0, 0, 1],
    ])
  })

  test('a dropped arrival was due and not sent; a failed request was sent and not answered', () => {
    const all = seriesOf([dropped(), failed(), respondedWith(429)])
    expect(all).toMatchObject({ due: [3], dropped: [1], sent: [2], failed: [1], answered: [1], refused: [1] })
  })

  test('system calls are left out', () => {
    expect(seriesOf([anObservation({ stage: '(opening)', endMs: 1_500 })])).toMatchObject({
      due: [0, 0],
      answered: [0, 0],
    })
  })

  test('the earliest arrival defines when the stages started', () => {
    expect(seriesOf([anObservation({ dueMs: 700 })]).stages).toEqual([{ name: 'steady', startMs: 700, endMs: 10_700 }])
  })
})

describe('times over time', () => {
  test('a percentile needs enough values; the maximum needs one', () => {
    const many = Array.from({ length: 60 }, (_, id) => anObservation({ id, endMs: 100 + id }))
    const [call] = seriesOf(many).calls
    expect(call?.count).toBe(60)
    expect(call?.latencyMs.max).toEqual([159])
    expect(call?.latencyMs.p50[0]).toBeGreaterThan(120)
    expect(call?.latencyMs.p50[0]).toBeLessThan(140)
    expect(call?.latencyMs.p95[0]).toBeGreaterThan(145)
    const [lonely] = seriesOf([anObservation()]).calls
    expect(lonely?.latencyMs).toMatchObject({ p50: [null], p95: [null], max: [100] })
  })

  test('only streams have times to the first token and between chunks', () => {
    const [stream] = seriesOf([streamed()]).calls
    expect(stream?.ttftMs?.max).toEqual([20])
    expect(stream?.iclMs?.max).toEqual([10])
    expect(seriesOf([anObservation()]).calls[0]?.ttftMs).toBeNull()
  })

  test('the distribution and the heatmap count every response', () => {
    const { calls, heatmap: heat } = seriesOf([anObservation(), anObservation({ id: 1, endMs: 7_000 })])
    const sum = (counts: readonly number[]) => counts.reduce((total, count) => total + count, 0)
    expect(sum(calls[0]?.latencies.counts ?? [])).toBe(2)
    expect(sum(heat.counts.map(sum))).toBe(2)
    expect(heat.fromMs).toBeLessThanOrEqual(100)
  })

  test('calls beyond the first ten of the plan share one entry', () => {
    const names = Array.from({ length: 30 }, (_, index) => `call-${index}`)
    const [call] = Object.values(aPlan().calls)
    const series = createSeries(aPlan({ calls: Object.fromEntries(names.map(name => [name, call])) as Plan['calls'] }))
    for (const [id, name] of names.toReversed().entries()) series.add(anObservation({ id, call: name }))
    const { calls } = series.series()
    expect(calls).toHaveLength(11)
    expect(calls[0]).toMatchObject({ call: '(other calls)', count: 20 })
    expect(calls.map(({ call }) => call)).toContain('call-0')
  })
})

test('spend over time adds up by instant, in any order of reports', () => {
  const { add, spend, series } = createSeries(aPlan())
  add(anObservation({ endMs: 3_100 }))
  for (const atMs of [3_100, 100, 1_100])
    spend.spent(atMs, {
      expectedCredits: 2n,
      claimedCredits: 1n,
      expectedPicoUsd: 0n,
      claimedPicoUsd: 1_000_000_000_000n,
    })
  expect(series().spend.claimedUsd).toEqual(['1', '2', '2', '3'])
  expect(series().spend.expectedCredits).toEqual(['2', '4', '4', '6'])
})

test('the billed amount has values from when every account had a balance', () => {
  const { add, spend, series } = createSeries(aPlan())
  add(anObservation({ endMs: 3_100 }))
  spend.opened()
  spend.shown(10, null)
  spend.opened()
  spend.shown(1_500, null)
  spend.shown(2_500, 3_000_000_000_000n)
  expect(series().spend.billedUsd).toEqual([null, '0', '3', '3'])
})

describe('limits over time', () => {
  const headers = (remaining: number) => ({
    'x-ratelimit-limit-requests': '50',
    'x-ratelimit-remaining-requests': String(remaining),
  })
  const body = { kind: 'empty' } as const

  test('each response gives the usage of its window, and each 429 is listed', () => {
    const { limits } = seriesOf([
      anObservation({ response: { status: 200, headers: headers(49), bytes: 0, body } }),
      respondedWith(429, { id: 7, headersMs: 1_500, response: { status: 429, headers: headers(0), bytes: 0, body } }),
    ])
    expect(limits).toEqual([
      { caller: 'c0', scope: 'chat:m', limit: 50, used: [1, 50], refusedMs: [1_500], refusedIds: [7] },
    ])
  })

  test('invalid headers give no value', () => {
    const junk = { 'x-ratelimit-limit-requests': '-5e9', 'x-ratelimit-remaining-requests': 'NaN' }
    const { limits } = seriesOf([anObservation({ response: { status: 200, headers: junk, bytes: 0, body } })])
    expect(limits[0]).toMatchObject({ limit: null, used: [null] })
  })

  test('only some limits are shown; those with rejections come first', () => {
    const response = (status: number) => ({ status, headers: headers(20), bytes: 0, body })
    const calm = Array.from({ length: 100 }, (_, at) => anObservation({ caller: `c${at}`, response: response(200) }))
    const { limits } = seriesOf([...calm, respondedWith(429, { caller: 'late', response: response(429) })])
    expect(limits).toHaveLength(24)
    expect(limits[0]?.caller).toBe('late')
  })
})

describe('a coarse snapshot, for a live view', () => {
  const total = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0)

  test.each([5, 99, 100, 101, 599, 1_300])('of a run of %i s counts the same, in at most 100 columns', seconds => {
    const plan = aPlan()
    const fine = createSeries(plan)
    for (let id = 0; id < seconds; id++)
      fine.add(anObservation({ id, dueMs: id * 1_000, sentMs: id * 1_000 + 1, endMs: id * 1_000 + 100 }))
    const live = createLiveSeries(plan)
    live.merge(coarseSnapshot(plan, fine.snapshot()))
    const [all, coarse] = [fine.series(), live.series()]
    expect(coarse.due.length).toBeLessThanOrEqual(100)
    expect(coarse.due.length * coarse.stepMs).toBeGreaterThanOrEqual(seconds * 1_000)
    for (const row of ['due', 'sent', 'answered'] as const) expect(total(coarse[row])).toBe(total(all[row]))
    expect(total(coarse.calls[0]?.latencies.counts ?? [])).toBe(seconds)
    expect(total(coarse.heatmap.counts.flat())).toBe(seconds)
    // No column is empty: the load was steady.
    expect(coarse.due.every(due => due > 0)).toBe(true)
    if (seconds <= 100) expect(coarse).toEqual(all)
  })

  test('of workers that are at different times add up', () => {
    const plan = aPlan()
    const snapshots = [90, 230].map(seconds => {
      const fold = createSeries(plan)
      for (let id = 0; id < seconds; id++) fold.add(anObservation({ id, dueMs: id * 1_000, endMs: id * 1_000 + 100 }))
      return coarseSnapshot(plan, fold.snapshot())
    })
    const live = createLiveSeries(plan)
    for (const snapshot of snapshots) live.merge(snapshot)
    expect(total(live.series().due)).toBe(320)
    expect(live.series().due[0]).toBe((2 * live.series().stepMs) / 1_000)
  })
})
