import { describe, expect, test } from 'vitest'
import { documentedContract } from '../../../../src/contract/documented.ts'
import { cellsPerOctave, createSlices, type Slice } from '../../../../src/judge/metrics/slices.ts'
import type { Observation } from '../../../../src/observation/observation.ts'
import type { Plan } from '../../../../src/plan/plan.ts'
import { anObservation, aPlan, aStage, dropped, failed, respondedWith, streamed } from './fixtures.ts'

const slicesOf = (observations: readonly Observation[], plan: Plan = aPlan()) => {
  const fold = createSlices(plan, documentedContract)
  for (const observation of observations) fold.add(observation)
  return fold.slices().calls
}
const only = (observations: readonly Observation[], plan?: Plan): readonly Slice[] =>
  slicesOf(observations, plan)[0]?.slices ?? []
const sum = (slices: readonly Slice[], of: (slice: Slice) => number) => slices.reduce((total, s) => total + of(s), 0)

describe('the slices of a stage', () => {
  test('are twentieths by due time, whenever requests ended', () => {
    const slices = only([
      anObservation({ dueMs: 0 }),
      anObservation({ dueMs: 499, endMs: 9_000 }),
      anObservation({ dueMs: 500 }),
    ])
    expect(slices).toHaveLength(20)
    expect(slices.map(({ sent }) => sent)).toEqual([2, 1, ...Array.from({ length: 18 }, () => 0)])
    expect(slices.map(({ activeMs }) => activeMs)).toEqual(Array.from({ length: 20 }, () => 500))
  })

  test('are aligned to the clock of the run, so those of several workers match', () => {
    // The load started at 750 ms: the first and the last slice cover 250 ms each.
    const slices = only([anObservation({ dueMs: 750 }), anObservation({ dueMs: 10_740 })])
    expect(slices.map(({ index }) => index)).toEqual(Array.from({ length: 21 }, (_, index) => index + 1))
    expect(slices.at(0)?.activeMs).toBe(250)
    expect(slices.at(-1)?.activeMs).toBe(250)
    expect(sum(slices, ({ activeMs }) => activeMs)).toBe(10_000)
  })

  test('start with the earliest arrival of any stage', () => {
    const plan = aPlan({ stages: [aStage('first', 1_000), aStage('steady', 10_000, { startMs: 1_000 })] })
    const calls = slicesOf(
      [anObservation({ stage: 'steady', dueMs: 1_700 }), anObservation({ stage: 'first', dueMs: 30 })],
      plan,
    )
    expect(calls.map(({ stage }) => stage)).toEqual(['first', 'steady'])
    expect(calls[1]?.slices[0]?.activeMs).toBe(470)
  })

  test('are bounded in number, however late the due times', () => {
    const fold = createSlices(aPlan(), documentedContract)
    for (let dueMs = 0; dueMs < 1_000_000; dueMs += 500) fold.add(anObservation({ dueMs }))
    const sizes = [...fold.snapshot().found.values()].flatMap(calls => [...calls.values()].map(slices => slices.size))
    expect(sizes).toEqual([22])
    expect(fold.slices().calls[0]?.slices.every(({ sent }) => sent === 1)).toBe(true)
  })

  test('exclude system stages and calls outside of the plan', () => {
    expect(slicesOf([anObservation({ stage: '(opening)' }), anObservation({ call: 'other' })])).toEqual([])
  })
})

describe('a slice', () => {
  test('counts each outcome once', () => {
    const slices = only([
      respondedWith(200),
      respondedWith(204),
      respondedWith(429),
      respondedWith(400),
      respondedWith(503),
      failed(),
      dropped(),
      dropped({ outcome: { kind: 'dropped', reason: 'no-credentials' } }),
    ])
    expect(slices[0]).toMatchObject({
      sent: 6,
      answered: 5,
      failed: 1,
      dropped: 1,
      succeeded: 2,
      refused: 2,
      faulty: 1,
    })
  })

  test('counts responses that met the SLO of their call as good', () => {
    const slices = only(
      [anObservation({ endMs: 100 }), anObservation({ endMs: 101 })],
      aPlan({ slo: { chat: { latency: 100 } } }),
    )
    expect(slices[0]?.good).toBe(1)
  })

  test('adds up the claimed costs exactly', () => {
    const slices = only([
      streamed({ cost: { usd: 0.0000001, diem: 0 } }),
      streamed({ cost: { usd: 0.0000002, diem: 0 } }),
    ])
    expect(slices[0]?.claimedUsd).toBe('0.0000003')
  })

  test('stores times in buckets 0.5 % apart, and the lateness of everything sent', () => {
    const [slice] = only([
      anObservation({ endMs: 100 }),
      anObservation({ endMs: 100.1 }),
      anObservation({ endMs: 200 }),
      failed({ sentMs: 3 }),
    ])
    const cellOf = (ms: number) => Math.floor(Math.log2(ms * 1000) * cellsPerOctave)
    expect(slice?.times.latency).toEqual([
      [cellOf(100), 2],
      [cellOf(200), 1],
    ])
    expect(cellOf(200) - cellOf(100)).toBe(cellsPerOctave)
    expect(slice?.times.lateness).toEqual([
      [cellOf(1), 3],
      [cellOf(3), 1],
    ])
  })

  test('stores times of 0 and beyond an hour in the outermost buckets', () => {
    const [slice] = only([
      anObservation({ endMs: 0 }),
      anObservation({ endMs: -0.001 }),
      anObservation({ endMs: 9_000_000 }),
    ])
    expect(slice?.times.latency?.map(([, count]) => count)).toEqual([2, 1])
    expect(slice?.times.latency?.[0]?.[0]).toBe(0)
  })

  test('stores every gap of a stream, and its TPOT once', () => {
    const [slice] = only([streamed({ gapsMs: [10, 10, 10, 30] })])
    expect(slice?.times.icl?.map(([, count]) => count)).toEqual([3, 1])
    expect(slice?.times.tpot?.map(([, count]) => count)).toEqual([1])
  })
})
