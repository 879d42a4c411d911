import { describe, expect, test } from 'vitest'
import { randomStream } from '../../../src/lib/random.ts'
import { describeLoad } from '../../../src/plan/describe-plan.ts'
import type { Plan } from '../../../src/plan/plan.ts'
import { arrivalsBetween } from '../../../src/plan/rate-curve.ts'
import { type PackedArrival, packArrivals, type Recording, unpackArrivals } from '../../../src/plan/recorded-load.ts'
import { createArrivalSource } from '../../../src/produce/arrivals/arrivals.ts'
import { planOf } from './plan-of.ts'

type Row = readonly [offsetMs: number, call: string, caller: number]

const recordingOf = (rows: readonly Row[], durationMs = 60_000): Recording => ({
  runId: 'r1',
  durationMs,
  count: rows.length,
  offsetMs: index => rows[index]?.[0] ?? 0,
  call: index => rows[index]?.[1] ?? '',
  caller: index => rows[index]?.[2] ?? 0,
})
const planFor = (rows: readonly Row[], more = '', others: Readonly<Record<string, string>> = {}): Plan =>
  planOf(
    { ...others, again: `shape: recorded, run: runs/r1${more}` },
    { recordings: new Map([['again', recordingOf(rows)]]) },
  )
const arrivalsOf = (plan: Plan): readonly Row[] => {
  const stage = plan.stages.find(({ name }) => name === 'again')
  if (stage === undefined) throw new Error('no such stage')
  return [...createArrivalSource(plan).open(stage)].map(({ dueMs, call, caller }) => [
    dueMs - stage.startMs,
    call,
    caller,
  ])
}

describe('a recorded stage', () => {
  const rows: readonly Row[] = [
    [0, 's', 3],
    [0.125, 'models', 0],
    [1_000.0625, 's', 3],
    [59_999, 'single', 1],
  ]

  test('has the due times, calls and callers of its run', () => {
    expect(arrivalsOf(planFor(rows))).toEqual([
      [0, 's', 3],
      [0.125, 'models', 0],
      // Rounded to a microsecond.
      [1_000.063, 's', 3],
      [59_999, 'single', 1],
    ])
  })

  test('is split among workers without loss', () => {
    const plan = planFor(rows)
    const [stage] = plan.stages
    if (stage === undefined) throw new Error('no stage')
    const byWorker = [0, 1].map(worker => [...createArrivalSource(plan, { worker, workers: 2 }).open(stage)])
    expect(byWorker.every(own => own.length > 0 && own.length < rows.length)).toBe(true)
    const together = byWorker.flat().toSorted((a, b) => a.dueMs - b.dueMs)
    expect(together.map(({ dueMs, call, caller }) => [dueMs, call, caller])).toEqual(arrivalsOf(plan))
  })

  test('starts at the end of the previous stage and lasts as long as its run', () => {
    const plan = planFor(rows, '', { before: 'duration: 5s, shape: pause' })
    expect(plan.stages[1]).toMatchObject({ startMs: 5_000, durationMs: 60_000, callers: 4, firstCaller: 0 })
    expect(arrivalsOf(plan)[0]?.[0]).toBe(0)
  })

  test('takes half the time at speed 2', () => {
    const plan = planFor(rows, ', speed: 2')
    expect(plan.stages[0]?.durationMs).toBe(30_000)
    expect(arrivalsOf(plan).map(([dueMs]) => dueMs)).toEqual([0, 0.063, 500.031, 29_999.5])
  })

  test('has an exact forecast', () => {
    const { forecast } = planFor([...rows, [59_999.5, 'replay', 2]])
    expect(forecast.calls.map(({ call, requests }) => [call, requests])).toEqual([
      ['s', 2],
      ['models', 1],
      ['single', 1],
      ['replay', 4],
    ])
  })

  test('counts arrivals between any two instants', () => {
    const [stage] = planFor(rows).stages
    if (stage === undefined) throw new Error('no stage')
    const between = (fromMs: number, toMs: number) => arrivalsBetween(stage, fromMs, toMs)
    expect([between(0, 60_000), between(0, 1_000), between(0.125, 59_999), between(1_001, 2_000)]).toEqual([4, 2, 2, 0])
  })

  test('survives JSON, and describes its recording', () => {
    const plan = planFor(rows, ', stage: steady, speed: 2')
    expect(arrivalsOf(JSON.parse(JSON.stringify(plan)))).toEqual(arrivalsOf(plan))
    expect(plan.stages.map(describeLoad)).toEqual([
      'recorded in r1, stage steady, speed 2: s 50%, models 25%, single 25%',
    ])
  })
})

describe('the busiest minute of a recorded stage', () => {
  const perMinute = (plan: Plan, stage: string, scope: string) =>
    plan.forecast.limits.find(row => row.stage === stage && row.scope === scope)?.perMinute

  test('is that of its busiest caller, at any time of the run', () => {
    const spread: readonly Row[] = Array.from({ length: 30 }, (_, index) => [index * 1_000, 'single', index % 3])
    const crowd: readonly Row[] = Array.from({ length: 20 }, (_, index) => [40_000 + index, 'single', 3])
    expect(perMinute(planFor([...spread, ...crowd]), 'again', 'rpc')).toBe(20)
  })

  test('counts only calls with that limit', () => {
    const rows: readonly Row[] = [0, 1, 2, 3, 4].map(offsetMs => [offsetMs, offsetMs < 2 ? 'single' : 's', 0])
    const plan = planFor(rows)
    expect(perMinute(plan, 'again', 'rpc')).toBe(2)
    expect(perMinute(plan, 'again', 'chat:ref-small-24b')).toBe(3)
  })

  test('adds the arrivals of neighboring stages', () => {
    const rows: readonly Row[] = Array.from({ length: 10 }, (_, index) => [index * 100, 'single', 2])
    const plan = planFor(rows, '', { before: 'duration: 10s, shape: constant, rate: 4/s, mix: { single: 1 }' })
    expect(perMinute(plan, '(run)', 'rpc')).toBe(20)
  })

  test('excludes an arrival exactly one minute later', () => {
    const rows: readonly Row[] = [0, 30_000, 59_999.999, 60_000].map(offsetMs => [offsetMs, 'single', 0])
    expect(perMinute(planFor(rows), 'again', 'rpc')).toBe(3)
  })

  test('also applies to expected failures', () => {
    const rows: readonly Row[] = Array.from({ length: 25 }, (_, index) => [20_000 + index * 100, 'unlisted', 1])
    expect(planFor(rows).forecast.failures).toMatchObject([{ stage: 'again', expected: 25, tolerated: 20 }])
  })
})

describe('recordedLoad throws if the run', () => {
  test('has calls that the scenario lacks, and lists them', () => {
    const rows: readonly Row[] = [
      [0, 'chat', 0],
      [1, 's', 0],
      [2, 'toString', 0],
    ]
    expect(() => planFor(rows)).toThrow(
      'stage again: got calls in run r1 that the scenario lacks: chat, toString, expected each of them under "calls"',
    )
  })

  test('has more callers than the scenario', () => {
    expect(() => planFor([[0, 's', 4]])).toThrow(
      'stage again: got 5 callers in run r1, expected at most 4, the value of callers.count',
    )
  })

  test('sent nothing', () => {
    expect(() => planFor([])).toThrow('stage again: got no arrivals in run r1, expected a run with requests')
  })
})

const unpacked = (arrivals: readonly PackedArrival[]) => [...unpackArrivals({ packed: packArrivals(arrivals) })]

test('packing preserves arrivals to the microsecond, at any distance', () => {
  const weekMs = 7 * 86_400_000
  const arrivals = [
    { offsetMs: 0, call: 0, caller: 0 },
    { offsetMs: 0, call: 127, caller: 128 },
    { offsetMs: 0.001, call: 16_384, caller: 9_999 },
    { offsetMs: 120.482, call: 1, caller: 3 },
    { offsetMs: weekMs, call: 2, caller: 0 },
    { offsetMs: 1_000 * weekMs + 0.001, call: 0, caller: 1 },
  ]
  expect(unpacked(arrivals)).toEqual(arrivals)
  expect(unpacked([])).toEqual([])
})

test('rounding errors do not accumulate: after a day at 8.3/s they stay within half a microsecond', () => {
  const arrivals = Array.from({ length: 717_120 }, (_, k) => ({ offsetMs: (k * 1_000) / 8.3, call: 0, caller: k % 16 }))
  let maxError = 0
  let k = 0
  for (const { offsetMs } of unpackArrivals({ packed: packArrivals(arrivals) }))
    maxError = Math.max(maxError, Math.abs(offsetMs - (k++ * 1_000) / 8.3))
  expect(k).toBe(717_120)
  expect(maxError).toBeLessThan(0.000_501)
})

test('100,000 random arrivals pack into less than 600 kB of text', () => {
  const random = randomStream(3, 'packed')
  let offsetMs = 0
  const arrivals = Array.from({ length: 100_000 }, () => {
    offsetMs += random.exponential() * 5
    return { offsetMs, call: random.int(8), caller: random.int(64) }
  })
  expect(packArrivals(arrivals).length).toBeLessThan(500_000 * 1.2)
})

test('packing is deterministic', () => {
  const arrivals = [{ offsetMs: 1.5, call: 1, caller: 2 }]
  expect(packArrivals(arrivals)).toBe(packArrivals(arrivals))
})
