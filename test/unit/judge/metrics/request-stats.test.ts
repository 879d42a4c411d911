import { describe, expect, test } from 'vitest'
import { percentilesOf } from '../../../../src/judge/metrics/histogram.ts'
import { createMetrics } from '../../../../src/judge/metrics/request-stats.ts'
import type { Observation } from '../../../../src/observation/observation.ts'
import type { Plan, Timing } from '../../../../src/plan/plan.ts'
import { anObservation, aPlan, aStage, dropped, failed, respondedWith, streamed } from './fixtures.ts'

const everything = { call: null, stage: null }

const statsOf = (observations: readonly Observation[], plan: Plan = aPlan()) => {
  const metrics = createMetrics(plan)
  for (const observation of observations) metrics.add(observation)
  return metrics.select(everything)
}
const meanOf = (timing: Timing, ...observations: Observation[]) =>
  percentilesOf(statsOf(observations).timing(timing)).mean

describe('each timing has its definition', () => {
  const o = streamed({}, { dueMs: 10, sentMs: 12, endMs: 100 })
  test.each([
    ['latency', 90],
    ['service-time', 88],
    ['lateness', 2],
    ['ttft', 9],
    ['ttfct', 19],
    ['tpot', 10],
    ['icl', 10],
    ['itl', 10],
  ] as const)('%s', (timing, expected) => expect(meanOf(timing, o)).toBe(expected))
})

describe('a timing that cannot be known has no value', () => {
  test('a response that is not a stream has no first token', () => {
    for (const timing of ['ttft', 'ttfct', 'tpot', 'icl', 'itl'] as const)
      expect(meanOf(timing, anObservation())).toBeNull()
  })
  test('TPOT without usage, with one token, or with everything in one chunk', () => {
    expect(meanOf('tpot', streamed({ usage: null }))).toBeNull()
    expect(meanOf('tpot', streamed({ usage: { completion_tokens: '5' } }))).toBeNull()
    expect(meanOf('tpot', streamed({ usage: { completion_tokens: 1 } }))).toBeNull()
    expect(meanOf('tpot', streamed({ tokenChunks: 1, lastTokenMs: 21, gapsMs: [] }))).toBeNull()
  })
  test('ITL, if a chunk may hold several tokens; ICL has one', () => {
    const o = streamed({ usage: { completion_tokens: 6 } })
    expect(meanOf('itl', o)).toBeNull()
    expect(meanOf('icl', o)).toBe(10)
  })
})

describe('timings are of complete 2xx responses', () => {
  test.each([
    ['a 500', respondedWith(500)],
    ['a 429', respondedWith(429)],
    ['a failure', failed()],
  ])('%s has no latency, but a lateness', (_, o) => {
    expect(meanOf('latency', o)).toBeNull()
    expect(meanOf('service-time', o)).toBeNull()
    expect(meanOf('lateness', o)).toBe(1)
  })
  test('a dropped arrival has neither', () => {
    expect(meanOf('latency', dropped())).toBeNull()
    expect(meanOf('lateness', dropped())).toBeNull()
  })
  test('a 204 is a success', () => expect(meanOf('latency', respondedWith(204))).toBe(100))
  test('tokens of an unsuccessful response do not count', () => {
    expect(statsOf([streamed(), streamed({}, { outcome: { kind: 'answered', status: 500 } })]).outputTokens).toBe(5)
  })
})

test('every observation is answered, failed or dropped; sent = answered + failed', () => {
  const stats = statsOf([respondedWith(200), respondedWith(429), respondedWith(429), failed(), dropped()])
  expect(stats).toMatchObject({ sent: 4, answered: 3, failed: 1, dropped: 1, good: 1 })
  expect([...stats.statuses]).toEqual([
    [200, 1],
    [429, 2],
  ])
  expect([...stats.failures]).toEqual([['connection-lost', 1]])
})

describe('a response is good if it met every SLO of its call', () => {
  const good = (o: Observation, slo: Plan['slo'][string]) => statsOf([o], aPlan({ slo: { chat: slo } })).good
  test.each([
    ['latency at the bound', streamed(), { latency: 100 }, 1],
    ['latency above it', streamed(), { latency: 99 }, 0],
    ['one of two missed', streamed(), { latency: 100, ttft: 19 }, 0],
    ['no token at all', streamed({ firstTokenMs: null }), { ttft: 1000 }, 0],
    ['one gap too long', streamed({ gapsMs: [1, 1, 1, 99] }), { icl: 50 }, 0],
    ['every gap short enough', streamed({ gapsMs: [1, 1, 1, 50] }), { icl: 50 }, 1],
    ['unknown TPOT', streamed({ usage: null }), { tpot: 1000 }, 0],
    ['one token, so no TPOT', streamed({ usage: { completion_tokens: 1 } }), { tpot: 1 }, 1],
    ['a fast 429', respondedWith(429, { endMs: 2 }), { latency: 100 }, 0],
    ['no SLO', respondedWith(200, { endMs: 99_999 }), {}, 1],
  ] as const)('%s', (_, o, slo, expected) => expect(good(o, slo)).toBe(expected))
  test('the SLO of another call does not matter', () => {
    expect(statsOf([streamed()], aPlan({ slo: { rpc: { latency: 1 } } })).good).toBe(1)
  })
})

describe('a selection', () => {
  const metrics = createMetrics(aPlan({ stages: [aStage('steady', 10_000), aStage('(opening)', 1000)] }))
  metrics.add(anObservation())
  metrics.add(anObservation({ call: 'rpc' }))
  metrics.add(anObservation({ stage: '(opening)', call: 'rate-limits' }))
  test('includes system stages only by name; all() includes them', () => {
    expect(metrics.select(everything).sent).toBe(2)
    expect(metrics.select({ call: null, stage: '(opening)' }).sent).toBe(1)
    expect(metrics.all().sent).toBe(3)
    expect(metrics.all().timing('lateness').count()).toBe(3)
  })
  test('has only its call', () => expect(metrics.select({ call: 'rpc', stage: null }).sent).toBe(1))
  test('is empty for a stage without requests', () => {
    expect(metrics.select({ call: null, stage: 'nowhere' }).sent).toBe(0)
  })
})

test('statuses and names beyond a maximum share one cell, and none is lost', () => {
  const metrics = createMetrics(aPlan())
  for (let i = 0; i < 100; i++) metrics.add(respondedWith(200 + i, { call: `unknown-${i}` }))
  for (let i = 0; i < 100; i++) metrics.add(respondedWith(200 + i))
  expect(metrics.cells().length).toBeLessThanOrEqual(18)
  const statuses = metrics.select({ call: 'chat', stage: null }).statuses
  expect(statuses.size).toBe(33)
  expect(statuses.get(0)).toBe(68)
  expect(metrics.all().answered).toBe(200)
})

describe('a rate uses the duration of the stages with its call', () => {
  const mixOf = (call: string) =>
    ({ model: 'open', shape: { kind: 'constant', perSecond: 1 }, mix: [[call, 1]] }) as const
  const pause = { model: 'open', shape: { kind: 'pause' }, mix: [['chat', 1]] } as const
  const metrics = createMetrics(
    aPlan({
      stages: [
        aStage('a', 1000, { load: mixOf('chat') }),
        aStage('b', 2000, { load: mixOf('rpc'), startMs: 1000 }),
        aStage('rest', 4000, { load: pause, startMs: 3000 }),
        aStage('c', 8000, { load: { model: 'sequence', calls: ['chat', 'rpc'], atMostMs: null }, startMs: 7000 }),
        aStage('(closing)', 16_000, { load: mixOf('chat'), startMs: 15_000 }),
      ],
    }),
  )
  const complete = { complete: true, elapsedMs: 99_999 }
  test.each([
    ['chat', null, 9000],
    ['rpc', null, 10_000],
    [null, null, 11_000],
    ['chat', 'c', 8000],
    ['chat', 'b', null],
    [null, '(closing)', 16_000],
  ])('%s in %s', (call, stage, ms) => expect(metrics.activeMs({ call, stage }, complete)).toBe(ms))
  test('a run that ended early counts up to its end', () => {
    const short = { complete: false, elapsedMs: 8600 }
    expect(metrics.activeMs(everything, short)).toBeNull()
    // 100 ms into its stage, so the first stage started at 600 ms.
    metrics.add(anObservation({ stage: 'b', call: 'rpc', dueMs: 1700 }))
    metrics.add(anObservation({ stage: 'a', dueMs: 600 }))
    metrics.add(anObservation({ stage: '(opening)', dueMs: 0 }))
    expect(metrics.activeMs(everything, short)).toBe(4000)
    expect(metrics.activeMs({ call: 'chat', stage: 'c' }, short)).toBe(1000)
  })

  test('a stage that saturates lasts until its last call ended, at most the planned duration', () => {
    const load = { model: 'saturate', connections: 2, maxCalls: 9, mix: [['rpc', 1]] } as const
    const saturating = createMetrics(aPlan({ stages: [aStage('flood', 5000, { load })] }))
    const rateMs = () => saturating.activeMs({ call: 'rpc', stage: 'flood' }, complete)
    expect(rateMs()).toBeNull()
    saturating.add(anObservation({ stage: 'flood', call: 'rpc', dueMs: 600, endMs: 1850 }))
    expect(rateMs()).toBe(1250)
    saturating.add(anObservation({ stage: 'flood', call: 'rpc', dueMs: 700, endMs: 9000 }))
    expect(rateMs()).toBe(5000)
  })
})
