import { describe, expect, test } from 'vitest'
import { documentedContract } from '../../../src/contract/documented.ts'
import { describePlan } from '../../../src/plan/describe-plan.ts'
import { makePlan } from '../../../src/plan/make-plan.ts'
import { countKeys, loadKeys } from '../../../src/produce/callers/api-keys.ts'
import { loadScenario, parseScenario } from '../../../src/scenario/load-scenario.ts'

const noFlags = { seed: null, target: null, budgetUsd: null }

const planOf = (text: string, keys: readonly number[] | null, only: readonly string[] = []) =>
  makePlan(parseScenario(text, 'test.yaml', documentedContract), documentedContract, { ...noFlags, only, keys })

const shippedWith = (name: string, keys: readonly number[]) =>
  makePlan(loadScenario(`scenarios/${name}.yaml`, documentedContract), documentedContract, { ...noFlags, keys })

/** A scenario of ten callers whose call has a limit of 500 requests per minute. */
const scenario = (stages: string, thresholds = '[]', callers = '{ count: 10 }') => `
name: few
callers: ${callers}
calls:
  xs: { kind: chat, stream: false, model-tier: XS, prompt-tokens: 10, max-completion-tokens: 4 }
  rpc: { kind: rpc, network-family: evm, methods: { eth_blockNumber: 1 } }
stages:
${stages}
thresholds: ${thresholds}`

const steady = (rate: string) => `  - { name: steady, duration: 30s, shape: poisson, rate: ${rate}, mix: { xs: 1 } }`

const rateIn = (plan: ReturnType<typeof planOf>, stage = 'steady') => {
  const load = plan.stages.find(({ name }) => name === stage)?.load
  return load?.model === 'open' && 'perSecond' in load.shape ? load.shape.perSecond : null
}

describe('a plan for fewer keys than callers', () => {
  test('is the whole plan if there are enough keys, or if none are known', () => {
    const whole = planOf(scenario(steady('2/s')), null)
    expect(
      planOf(
        scenario(steady('2/s')),
        Array.from({ length: 12 }, () => 1),
      ),
    ).toEqual(whole)
    expect(planOf(scenario(steady('2/s')), [])).toEqual(whole)
    expect(whole.fewerKeys).toBeNull()
  })

  test('has a caller for each key, and shares of the tier follow', () => {
    const whole = planOf(scenario(steady('60% of tier')), null)
    const few = planOf(scenario(steady('60% of tier')), [1, 1])
    expect(few.callers.names).toEqual(['c0', 'c1'])
    expect(few.fewerKeys).toEqual({ given: 2, of: 10, leftOut: [] })
    expect(rateIn(few)).toBeCloseTo((rateIn(whole) ?? 0) / 5)
  })

  test('keeps an absolute rate as far as the limits of a key allow, and never raises it', () => {
    expect(rateIn(planOf(scenario(steady('2/s')), [1]))).toBe(2)
    // 500 per minute are 8.3 per second, and a key uses at most 60 % of a limit for others.
    expect(rateIn(planOf(scenario(steady('20/s')), [1]))).toBe(10)
    expect(rateIn(planOf(scenario(steady('80/s')), [1]))).toBe(8)
  })

  test('sends at once what is the share of the keys', () => {
    const { stages } = planOf(
      scenario(`
  - { name: burst, duration: 1s, shape: burst, size: 20, mix: { xs: 1 } }
  - { name: users, duration: 5s, shape: closed, users: 10, mix: { xs: 1 } }
  - { name: flood, duration: 5s, shape: saturate, connections: 5, max-calls: 100, mix: { rpc: 1 } }`),
      [1],
    )
    expect(stages.map(({ load }) => load)).toMatchObject([
      { shape: { kind: 'burst', size: 2 } },
      { users: 1 },
      { connections: 1, maxCalls: 10 },
    ])
  })

  test('leaves out thresholds that the smaller load cannot answer, and no others', () => {
    const kept = ['violations == 0', 'failed <= 3', 'failed <= 5%', 'p(50) latency < 1s', 'answered > 0']
    const left = ['p(99) latency < 1s', 'answered > 500', 'good >= 10/s', 'status(200) of xs in steady > 400']
    const thresholds = `[${[...kept, ...left].map(expect => `{ expect: '${expect}', why: Because. }`).join(', ')}]`
    const plan = planOf(scenario(steady('60% of tier'), thresholds), [1])
    expect(plan.thresholds.map(({ expression }) => expression)).toEqual(kept)
    expect(plan.fewerKeys?.leftOut).toEqual(left)
    expect(describePlan(plan)).toContain('keys      1 for 10 callers; leaves out p(99) latency < 1s')
  })

  test('lets a key take the place of one caller that exceeds a limit, and pauses instead of the others', () => {
    const stages = `
  - { name: steady, duration: 4s, shape: constant, rate: 1/s, callers: 7, mix: { xs: 1 } }
  - { name: over, duration: 2s, shape: burst, size: 105% of tier, exceed-tier: true, first-caller: 7, callers: 1, mix: { rpc: 1 } }
  - { name: more, duration: 2s, shape: burst, size: 105% of tier, exceed-tier: true, first-caller: 8, callers: 1, mix: { rpc: 1 } }
  - { name: after, duration: 3s, shape: sequence, first-caller: 7, callers: 1, calls: [rpc] }
  - { name: last, duration: 3s, shape: sequence, first-caller: 8, callers: 2, calls: [xs] }`
    const one = planOf(scenario(stages), [1])
    expect(one.stages.map(({ name, startMs, firstCaller, callers }) => [name, startMs, firstCaller, callers])).toEqual([
      ['steady', 0, 0, 1],
      ['over', 4_000, 0, 1],
      ['more', 6_000, 0, 1],
      ['after', 8_000, 0, 1],
      ['last', 11_000, 0, 1],
    ])
    expect(one.stages.map(({ load }) => load.model === 'open' && load.shape.kind)).toEqual([
      'constant',
      'burst',
      'pause',
      false,
      false,
    ])
    expect(one.fewerKeys?.leftOut).toEqual(['stage more'])
    // A limit that the others use cannot be exceeded exactly, so no key takes such a place.
    const used = planOf(scenario(stages.replace('mix: { xs: 1 }', 'mix: { rpc: 1 }')), [1])
    expect(used.fewerKeys?.leftOut).toEqual(['stages over, more, after'])
    // With three keys, each of the two has its own, and the others share the first.
    const three = planOf(scenario(stages), [1, 1, 1])
    expect(three.fewerKeys?.leftOut).toEqual([])
    expect(three.stages.map(({ firstCaller, callers }) => [firstCaller, callers])).toEqual([
      [0, 1],
      [1, 1],
      [2, 1],
      [1, 1],
      [1, 2],
    ])
  })

  test('has no stage of more callers than the scenario, wherever their keys are', () => {
    const stages = `
  - { name: over, duration: 2s, shape: burst, size: 120% of tier, exceed-tier: true, first-caller: 4, callers: 1, mix: { rpc: 1 } }
  - { name: calls, duration: 2s, shape: sequence, first-caller: 3, callers: 2, calls: [xs] }`
    expect(
      planOf(scenario(stages), [1, 1, 1, 1, 1]).stages.map(({ firstCaller, callers }) => [firstCaller, callers]),
    ).toEqual([
      [4, 1],
      [3, 2],
    ])
  })

  test('is the whole plan, which the run then refuses, if a key would exceed a limit that no caller exceeds', () => {
    const burst = (name: string, caller: number) =>
      `  - { name: ${name}, duration: 2s, shape: burst, size: 60% of tier, first-caller: ${caller}, callers: 1, mix: { xs: 1 } }`
    const bursts = scenario(`${burst('one', 0)}\n${burst('other', 1)}`)
    expect(planOf(bursts, [1])).toEqual(planOf(bursts, null))
    expect(
      planOf(
        bursts,
        Array.from({ length: 9 }, () => 1),
      ).fewerKeys,
    ).toMatchObject({ given: 9, leftOut: [] })
  })

  test('keeps no threshold of a pause before the first stage', () => {
    const stages = `  - { name: before, duration: 2s, shape: pause }\n${steady('2/s')}`
    const plan = planOf(scenario(stages, "[{ expect: 'dropped in before == 0', why: Because. }]"), [1])
    expect(plan.thresholds.every(({ stage }) => plan.stages.some(({ name }) => name === stage))).toBe(true)
  })

  test('keeps all wallets', () => {
    const wallets = scenario(steady('60% of tier'), '[]', '{ count: 4, wallets: 2, chain: base }')
    const plan = planOf(wallets, [1])
    expect(plan.callers.names).toEqual(['c0', 'w0', 'w1'])
    expect(plan.stages.map(({ firstCaller, callers }) => [firstCaller, callers])).toEqual([[0, 3]])
  })

  test('uses one key of each account if one of them has one', () => {
    const keys = scenario(steady('2/s'), '[]', '{ count: 2, keys-per-caller: 2 }')
    expect(planOf(keys, [2, 2]).fewerKeys).toBeNull()
    const plan = planOf(keys, [2, 1])
    expect([plan.callers.names.length, plan.callers.keysEach]).toEqual([2, 1])
    expect(plan.fewerKeys).toEqual({ given: 2, of: 2, leftOut: ['requests with 2 keys of an account'] })
  })

  test('may be narrowed by --only', () => {
    const plan = planOf(
      scenario(`${steady('2/s')}\n  - { name: rest, duration: 1s, shape: sequence, calls: [rpc] }`),
      [1],
      ['rpc'],
    )
    expect([plan.callers.names.length, plan.stages.map(({ name }) => name)]).toEqual([1, ['rest']])
  })
})

describe('the keys of the environment', () => {
  const at = (plan: ReturnType<typeof planOf>, keys: string) => () =>
    loadKeys({ ...plan, target: 'https://api.example.com' }, documentedContract, 'run', { TURNPIKE_KEYS: keys })

  test('are counted by account', () => {
    expect(countKeys({ TURNPIKE_KEYS: 'k1 k2,k3\n' })).toEqual([2, 1])
    expect(countKeys({ TURNPIKE_KEYS: ' \n' })).toBeNull()
  })

  test('are too many if a line break cuts one of them', () => {
    expect(at(planOf(scenario(steady('2/s')), [1, 1]), 'sk-one\ntwo')).toThrow('is there a line break in key 1?')
    expect(at(planOf(scenario(steady('2/s')), [1, 1]), 'sk-one\nsk-two')).not.toThrow()
  })

  test('bound the rates that a search tries, and leave out a threshold that none of them can meet', () => {
    const search = (to: string) =>
      `  - { name: top, duration: 60s, shape: capacity, from: 10/s, to: ${to}, good-ratio: 95%, mix: { xs: 1 } }`
    const thresholds =
      '[{ expect: capacity of xs in top >= 60/s, why: w }, { expect: capacity of xs in top >= 5/s, why: w }, { expect: capacity of xs in top < 80/s, why: w }]'
    const plan = planOf(scenario(search('90% of tier'), thresholds), [1])
    expect(plan.fewerKeys).toEqual({ given: 1, of: 10, leftOut: ['capacity of xs in top >= 60/s'] })
    expect(plan.stages).toMatchObject([{ load: { search: { fromPerSecond: 1, toPerSecond: 7.5 } } }])
    expect(at(plan, 'k1')).not.toThrow()
    expect(planOf(scenario(search('70/s')), [1]).stages).toMatchObject([{ load: { search: { toPerSecond: 7 } } }])
  })
})

/** What each shipped scenario leaves out with one key. */
const p95 = (...of: readonly string[]) => of.map(each => `p(95) ${each}`)
const leftOut: Readonly<Record<string, readonly string[]>> = {
  agents: [],
  billing: [],
  capacity: ['capacity of chat in search >= 60/s'],
  'chat-only': p95('ttft of chat in low < 2s', 'ttft of chat in high < 4s', 'tpot of chat in high < 100ms'),
  conformance: [],
  conversations: ['p(90) ttft of support < 2s'],
  'hang-ups': [],
  idempotency: ['requests of other callers'],
  nightly: [],
  races: ['stage whole-limit'],
  'rate-limit': [
    'stages every-tier, tokens, replays, up-to-rpc, up-to-small, up-to-extra-small, up-to-medium, once-more-rpc, second-chat, second-rpc',
    'requests with 2 keys of an account',
  ],
  'rpc-only': p95('latency in steady < 1s'),
  saturate: ['good of rpc in flood > 20/s'],
  smoke: [
    'stage rpc-limit',
    ...p95('ttft of chat in steady < 2s', 'tpot of chat in steady < 100ms', 'latency of rpc in steady < 1s'),
    'requests of other callers',
  ],
  stairs: p95('ttft of chat < 2s', 'latency of rpc < 1s'),
  twins: ['requests of other callers', 'requests with 2 keys of an account'],
  wallets: [],
}

test.each(Object.entries(leftOut))('%s with one key leaves out what it says', (name, expected) => {
  expect(shippedWith(name, [1]).fewerKeys?.leftOut).toEqual(expected)
})

describe.each(['abuse-block', ...Object.keys(leftOut)])('%s with any number of keys', name => {
  const whole = shippedWith(name, [])
  const keyed = whole.callers.names.length - (whole.callers.wallets?.chains.length ?? 0)

  const counts = [1, 2, 3, Math.floor(keyed / 2), keyed - 1].filter(count => count < keyed)

  test.each([...new Set(counts)])('fits %i', count => {
    const plan = shippedWith(
      name,
      Array.from({ length: count }, () => 2),
    )
    expect(plan.callers.names.length).toBe(whole.callers.names.length - keyed + count)
    expect(Number(plan.forecast.worstUsd)).toBeLessThanOrEqual(Number(whole.forecast.worstUsd))
    expect(plan.stages.every(stage => stage.firstCaller + stage.callers <= plan.callers.names.length)).toBe(true)
    expect(plan.mustJudge).toEqual(whole.mustJudge)
    // No stage exceeds a limit that it does not exceed in the whole scenario.
    const over = ({ forecast }: typeof plan) =>
      forecast.limits
        .filter(({ perMinute, limit }) => perMinute > limit * (1 + 1e-9))
        .map(row => `${row.stage} ${row.scope}`)
    expect(over(whole)).toEqual(expect.arrayContaining(over(plan)))
  })
})
