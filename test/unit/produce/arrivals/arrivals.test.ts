import { describe, expect, test } from 'vitest'
import { inMicroseconds } from '../../../../src/lib/clock.ts'
import { randomStream } from '../../../../src/lib/random.ts'
import { type Arrival, createArrivalSource, requestIdOf } from '../../../../src/produce/arrivals/arrivals.ts'
import { planFor, stageOf, steady } from './plans.ts'

const mixed = [
  ['chat', 5],
  ['rpc', 3],
  ['replay', 2],
] as const

const frequency = (arrivals: readonly Arrival[], call: string) =>
  arrivals.filter(arrival => arrival.call === call).length / arrivals.length

describe('the arrivals of an open stage', () => {
  test('rotate through the callers: arrival k belongs to caller k mod C', () => {
    const arrivals = [...createArrivalSource(planFor(3)).open(stageOf(steady(10), { callers: 3 }))]
    expect(arrivals.map(({ caller }) => caller)).toEqual(Array.from({ length: 100 }, (_, k) => k % 3))
  })

  test('belong to the callers of the stage only, from its first caller', () => {
    const arrivals = [...createArrivalSource(planFor(8)).open(stageOf(steady(1), { callers: 2, firstCaller: 5 }))]
    expect(arrivals.map(({ caller }) => caller)).toEqual([5, 6, 5, 6, 5, 6, 5, 6, 5, 6])
  })

  test('rotate through the keys of their caller, independent of other callers', () => {
    const plan = planFor(2)
    const source = createArrivalSource({ ...plan, callers: { ...plan.callers, keysEach: 3 } })
    const arrivals = [...source.open(stageOf(steady(1), { callers: 2 }))]
    expect(arrivals.map(({ caller, key }) => [caller, key]).slice(0, 7)).toEqual([
      [0, 0],
      [1, 0],
      [0, 1],
      [1, 1],
      [0, 2],
      [1, 2],
      [0, 0],
    ])
  })

  test('of one caller are evenly spaced at its part of the rate', () => {
    const arrivals = [...createArrivalSource(planFor(4)).open(stageOf(steady(8)))]
    const own = arrivals.filter(({ caller }) => caller === 2).map(({ dueMs }) => dueMs)
    expect(own).toEqual(Array.from({ length: 20 }, (_, index) => 250 + index * 500))
  })

  test('are due relative to their stage: a pause shifts later stages', () => {
    const source = createArrivalSource(planFor(1))
    const pause = stageOf({ model: 'open', shape: { kind: 'pause' }, mix: [] }, { name: 'pause', startMs: 2_000 })
    const stages = [
      stageOf(steady(1), { durationMs: 2_000, callers: 1 }),
      { ...pause, durationMs: 5_000 },
      stageOf(steady(1), { name: 'after', startMs: 7_000, durationMs: 2_000, callers: 1 }),
    ]
    const due = stages.flatMap(stage => [...source.open(stage)]).map(({ stage, dueMs }) => [stage, dueMs])
    expect(due).toEqual([
      ['steady', 0],
      ['steady', 1_000],
      ['after', 7_000],
      ['after', 8_000],
    ])
  })

  test('have the calls of the mix in proportion to their weights', () => {
    const arrivals = [...createArrivalSource(planFor(4)).open(stageOf(steady(2_000, mixed)))]
    expect(arrivals).toHaveLength(20_000)
    expect(frequency(arrivals, 'chat')).toBeCloseTo(0.5, 1)
    // Three standard deviations of 20,000 draws.
    expect(Math.abs(frequency(arrivals, 'chat') - 0.5)).toBeLessThan(0.0107)
    expect(Math.abs(frequency(arrivals, 'rpc') - 0.3)).toBeLessThan(0.0098)
    expect(Math.abs(frequency(arrivals, 'replay') - 0.2)).toBeLessThan(0.0085)
  })

  test('are lazy: a stage of a year takes no time to create', () => {
    const year = stageOf(steady(1_000, mixed), { durationMs: 365 * 86_400_000 })
    const first = createArrivalSource(planFor(4)).open(year)[Symbol.iterator]().next()
    expect(first.value).toMatchObject({ id: 0, dueMs: 0 })
  })
})

describe('the ids of arrivals', () => {
  const source = createArrivalSource(planFor(4))
  const arrivals = [
    ...source.open(stageOf(steady(20, mixed))),
    source.single('(closing)', 'models', 3, 10_000),
    ...source.open(stageOf(steady(20, mixed), { name: 'again' })),
  ]

  test("give each request an id from its caller and the caller's earlier requests, over all stages", () => {
    const given = [0, 0, 0, 0]
    for (const arrival of arrivals) {
      const { caller, steps } = arrival
      for (const index of steps.keys()) {
        expect(requestIdOf(arrival, index, 4)).toBe((given[caller] ?? 0) * 4 + caller)
        given[caller] = (given[caller] ?? 0) + 1
      }
    }
  })

  test('count one request for each call except replays', () => {
    const others = arrivals.filter(({ call }) => call !== 'replay')
    expect(others.every(({ steps }) => steps.join() === 'only')).toBe(true)
  })
})

describe('the steps of a replay', () => {
  const steps = (callers: number, call = 'replay') =>
    [...createArrivalSource(planFor(callers)).open(stageOf(steady(400, [[call, 1]])))].map(arrival =>
      arrival.steps.join(' '),
    )

  test('start with the original and its duplicates, and end with a conflict and a request of another caller as often as planned', () => {
    const all = steps(4)
    expect(new Set(all)).toEqual(
      new Set([
        'original duplicate duplicate',
        'original duplicate duplicate conflict',
        'original duplicate duplicate other-caller',
        'original duplicate duplicate conflict other-caller',
      ]),
    )
    expect(all.filter(each => each.includes('conflict')).length / all.length).toBeCloseTo(0.5, 1)
    expect(Math.abs(all.filter(each => each.includes('other-caller')).length / all.length - 0.25)).toBeLessThan(0.021)
  })

  test('end with the late repeat', () => {
    expect(new Set(steps(1, 'late'))).toEqual(new Set(['original late-repeat']))
  })

  test('come from no other caller if there is only one', () => {
    expect(new Set(steps(1, 'race'))).toEqual(new Set(['original duplicate duplicate conflict']))
  })
})

describe('one seed', () => {
  const schedule = (seed: number) => {
    const source = createArrivalSource(planFor(4, seed))
    const random = stageOf({ model: 'open', shape: { kind: 'poisson', perSecond: 30 }, mix: mixed })
    return [...source.open(random), ...source.open(stageOf(steady(30, mixed), { name: 'second' }))]
  }

  test('gives the same arrivals every time, and other seeds give others', () => {
    expect(schedule(7)).toEqual(schedule(7))
    expect(schedule(7)).not.toEqual(schedule(8))
  })

  test('gives two equal stages independent random streams', () => {
    const source = createArrivalSource(planFor(4))
    const callsOf = (name: string) => [...source.open(stageOf(steady(10, mixed), { name }))].map(({ call }) => call)
    expect(callsOf('first')).not.toEqual(callsOf('second'))
  })

  test('gives the same calls in the same order at another rate', () => {
    const callsAt = (perSecond: number) =>
      [...createArrivalSource(planFor(4)).open(stageOf(steady(perSecond, mixed)))].map(({ call, steps }) => [
        call,
        steps,
      ])
    expect(callsAt(50).slice(0, 100)).toEqual(callsAt(10))
  })
})

describe('the arrivals of a closed stage', () => {
  const closed = stageOf({ model: 'closed', users: 2, thinkMs: 0, mix: mixed }, { callers: 2, firstCaller: 1 })

  test('are due when they are requested, and rotate through the callers', () => {
    const next = createArrivalSource(planFor(4)).closed(closed)
    expect([next(3), next(1_000.5), next(1_001)].map(({ dueMs, caller }) => [dueMs, caller])).toEqual([
      [3, 1],
      [1_000.5, 2],
      [1_001, 1],
    ])
  })

  test('have the same calls at any request time', () => {
    const calls = (everyMs: number) => {
      const next = createArrivalSource(planFor(4)).closed(closed)
      return Array.from({ length: 200 }, (_, index) => next(index * everyMs).call)
    }
    expect(calls(1)).toEqual(calls(977))
  })
})

test('an open stage has no arrivals of a closed one', () => {
  const load = { model: 'closed', users: 1, thinkMs: 0, mix: mixed } as const
  expect([...createArrivalSource(planFor(1)).open(stageOf(load))]).toEqual([])
})

test('the random streams of an arrival source depend on its seed and their names', () => {
  const shape = { kind: 'poisson', perSecond: 1 } as const
  const [first] = createArrivalSource(planFor(1, 9)).open(stageOf({ model: 'open', shape, mix: mixed }))
  expect(first?.dueMs).toBe(inMicroseconds(randomStream(9, 'arrivals/steady').exponential() * 1_000))
})

describe('the arrivals of a trial', () => {
  const terms = {
    fromPerSecond: 10,
    toPerSecond: 100,
    goodRatio: 0.9,
    precision: 0.05,
    trialMs: 1_000,
    confirmMs: 1_000,
  }
  const mix = [
    ['chat', 1],
    ['rpc', 1],
  ] as const
  const shares = { confirmSamples: 29, mix: { chat: 0.5, rpc: 0.5 }, callerPerSecond: null }
  const stage = stageOf(
    { model: 'capacity', search: { ...terms, ...shares }, spacing: 'poisson', coolDownMs: 0, mix },
    { callers: 5, firstCaller: 2 },
  )
  const trial = (index: number) => ({ index, purpose: 'raise', perSecond: 20, arrivals: 40 }) as const
  const sourceOf = (worker: number, workers: number) => createArrivalSource(planFor(7), { worker, workers })
  const seen = ({ dueMs, call, caller, id, trial }: Arrival) => ({ dueMs, call, caller, id, trial })

  test('of all shards are those of one worker, also after a trial that ended early in one of them', () => {
    const trialsOf = (worker: number, workers: number, firstCount: number) => {
      const source = sourceOf(worker, workers)
      const first = [...source.trial(stage, trial(0), 500, 0)].slice(0, firstCount)
      return [...first, ...source.trial(stage, trial(1), 4_000, 33)].map(seen)
    }
    const inOrder = (arrivals: readonly ReturnType<typeof seen>[]) => arrivals.toSorted((a, b) => a.dueMs - b.dueMs)
    const single = trialsOf(0, 1, 40)
    expect(single).toHaveLength(80)
    expect(inOrder([0, 1, 2].flatMap(worker => trialsOf(worker, 3, 40)))).toEqual(inOrder(single))
    const second = [0, 1, 2].flatMap(worker => trialsOf(worker, 3, worker * 4)).filter(each => each.trial === 1)
    expect(inOrder(second).map(({ dueMs, call, caller }) => [dueMs, call, caller])).toEqual(
      inOrder(single.filter(each => each.trial === 1)).map(({ dueMs, call, caller }) => [dueMs, call, caller]),
    )
  })

  test('continue the turns of the callers of the stage where the trials before it ended', () => {
    const callers = [...sourceOf(0, 1).trial(stage, trial(3), 0, 8)].map(({ caller }) => caller)
    expect(callers.slice(0, 5)).toEqual([5, 6, 2, 3, 4])
  })
})
