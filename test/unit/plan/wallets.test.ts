import { describe, expect, test } from 'vitest'
import { documentedContract } from '../../../src/contract/documented.ts'
import { pico } from '../../../src/lib/money.ts'
import { describePlan } from '../../../src/plan/describe-plan.ts'
import { makePlan } from '../../../src/plan/make-plan.ts'
import { keysOfCaller, maxPaidPicoUsd } from '../../../src/plan/plan.ts'
import { signInsAhead } from '../../../src/plan/sign-ahead.ts'
import { createArrivalSource } from '../../../src/produce/arrivals/arrivals.ts'
import { parseScenario } from '../../../src/scenario/load-scenario.ts'

const scenario = (callers: string, more = '') => `name: wallets
callers: { ${callers} }
calls:
  rpc: { kind: rpc }
  top-up: { kind: top-up, pay: true }
  credit: { kind: wallet-balance }
stages:
  - { name: steady, duration: 10s, shape: constant, rate: 20/s, mix: { rpc: 1 }, exceed-tier: true }
${more}`

function planOf(callers: string, { more = '', target = null as string | null, topUp = null as string | null } = {}) {
  const made = parseScenario(scenario(callers, more), 'test.yaml', documentedContract)
  return makePlan(made, documentedContract, { seed: 1, target, budgetUsd: '100', topUp })
}

const remote = 'https://api.example.com/v1'
const lastStage = (calls: string, first: number) =>
  `  - { name: last, duration: 1s, shape: sequence, calls: [${calls}], first-caller: ${first} }`

describe('callers with wallets', () => {
  test('follow those with keys, and use their chains in turn', () => {
    const { callers } = planOf('count: 2, wallets: 3, chain: [solana, base], keys-per-caller: 2')
    expect(callers.names).toEqual(['c0', 'c1', 'w0', 'w1', 'w2'])
    expect(callers.wallets).toEqual({
      chains: ['solana', 'base', 'solana'],
      keysFile: null,
      topUpUsd: null,
      maxPaidUsd: null,
    })
    expect([0, 1, 2, 3].map(caller => keysOfCaller(callers, caller))).toEqual([2, 2, 1, 1])
  })

  test('may be all callers, on the first chain of the profile', () => {
    const { callers, stages } = planOf('count: 0, wallets: 2')
    expect([callers.names, callers.wallets?.chains]).toEqual([
      ['w0', 'w1'],
      ['base', 'base'],
    ])
    expect(stages[0]).toMatchObject({ callers: 2, firstCaller: 0 })
  })

  test('share a stage with the others', () => {
    const plan = planOf('count: 2, wallets: 2')
    const [steady] = plan.stages
    if (steady === undefined) throw new Error('no stage')
    const arrivals = [...createArrivalSource(plan).open(steady)].slice(0, 4)
    expect(arrivals.map(({ caller }) => plan.callers.names[caller])).toEqual(['c0', 'c1', 'w0', 'w1'])
  })

  test.each([
    ['count: 0', 'at least 1, since there are no wallets'],
    ['count: 1, wallets: 1, chain: bass', 'did you mean "base"'],
    ['count: 9000, wallets: 1001', 'at most 1000'],
    ['count: 1, chain: base', '"wallets" above 0'],
    ['count: 1, top-up: 5', '"wallets" above 0'],
    ['count: 1, wallets: 1, top-up: 5.1234567', 'at most 6 decimals'],
    ['count: 1, wallets: 1, top-up: 90000', 'at most'],
  ])('are a mistake: %s', (callers, message) => {
    expect(() => planOf(callers)).toThrow(message)
  })

  test('alone send what only wallets can send', () => {
    expect(() => planOf('count: 1, wallets: 1', { more: lastStage('credit', 0) })).toThrow('credit in a stage')
    expect(() => planOf('count: 1, wallets: 1', { more: lastStage('top-up', 0) })).toThrow(
      '"first-caller" of at least 1',
    )
    expect(planOf('count: 1, wallets: 1', { more: lastStage('top-up, credit', 1) }).stages).toHaveLength(2)
  })
})

test('wallets cannot saturate connections, which do not wait for signatures', () => {
  const stage = (first: number) =>
    `  - { name: busy, duration: 1s, shape: saturate, connections: 2, max-calls: 10, mix: { rpc: 1 }, callers: 1, first-caller: ${first} }`
  expect(() => planOf('count: 1, wallets: 1', { more: stage(1) })).toThrow('wallets in a stage that saturates')
  expect(planOf('count: 1, wallets: 1', { more: stage(0) }).stages).toHaveLength(2)
})

describe('payments', () => {
  const pays = (options: Parameters<typeof planOf>[1]) => {
    const plan = planOf('count: 1, wallets: 2, top-up: 5', { more: lastStage('top-up', 1), ...options })
    return { ...plan.callers.wallets, pay: plan.calls['top-up'], worstUsd: Number(plan.forecast.worstUsd), plan }
  }

  test('are made at the reference service and on this machine, and count in the forecast', () => {
    for (const target of [null, 'http://127.0.0.1:8402/api/v1']) {
      const { topUpUsd, maxPaidUsd, pay, worstUsd } = pays({ target })
      expect([topUpUsd, maxPaidUsd, pay]).toEqual([
        '5',
        null,
        { kind: 'top-up', pay: true, usd: '5', duplicates: 0, concurrent: false, invalid: null },
      ])
      // Two wallets before the load, and one call of each in the last stage.
      expect(worstUsd).toBeGreaterThanOrEqual(20)
    }
  })

  test('elsewhere are not made unless the user says so', () => {
    const { topUpUsd, maxPaidUsd, pay, worstUsd, plan } = pays({ target: remote })
    expect([topUpUsd, maxPaidUsd, pay]).toEqual([
      null,
      '0',
      { kind: 'top-up', pay: false, usd: '5', duplicates: 0, concurrent: false, invalid: null },
    ])
    expect(worstUsd).toBeLessThan(1)
    expect(describePlan(plan)).toContain('pay nothing without --top-up')
  })

  test('elsewhere are never made if a plan does not say how much', () => {
    const { plan } = pays({ target: null })
    const amounts = [null, 'http://[::1]:8402/v1', remote, 'https://127.0.0.1.example.com/v1'].map(target =>
      maxPaidPicoUsd({ ...plan, target }),
    )
    expect(amounts).toEqual([null, null, 0n, 0n])
    expect(maxPaidPicoUsd(pays({ target: remote, topUp: '20' }).plan)).toBe(pico('20'))
  })

  test('elsewhere are made up to the amount of the flag', () => {
    const { topUpUsd, maxPaidUsd, pay } = pays({ target: remote, topUp: '20' })
    expect([topUpUsd, maxPaidUsd, pay]).toEqual([
      '5',
      '20',
      { kind: 'top-up', pay: true, usd: '5', duplicates: 0, concurrent: false, invalid: null },
    ])
  })

  test('elsewhere need a flag that covers them, and a budget that covers the flag', () => {
    expect(() => pays({ target: remote, topUp: '9' })).toThrow('at least $10, since each wallet pays $5')
    expect(() => pays({ target: remote, topUp: '101' })).toThrow('at most $100, the budget')
  })

  test.each(['', '-5', 'much', '1e3', '5 USD'])('the flag is a mistake: "%s"', topUp => {
    expect(() => pays({ target: remote, topUp })).toThrow('--top-up')
  })

  test('are two requests: how to pay, and the payment', () => {
    const plan = planOf('count: 1, wallets: 1')
    const { steps } = createArrivalSource(plan).single('last', 'top-up', 1, 0)
    expect(steps).toEqual(['offer', 'payment'])
  })
})

describe('sign-ins that are made ahead', () => {
  test('last for ten seconds of the highest rate of one wallet', () => {
    expect(signInsAhead(planOf('count: 0, wallets: 20'))).toBe(10)
    expect(signInsAhead(planOf('count: 0, wallets: 2'))).toBe(100)
  })

  test('are some for slow runs, and not too many for fast ones', () => {
    expect(signInsAhead(planOf('count: 0, wallets: 200'))).toBe(8)
    expect(
      signInsAhead(
        planOf('count: 0, wallets: 1', {
          more: '  - { name: more, duration: 1s, shape: burst, size: 900, mix: { rpc: 1 }, exceed-tier: true }',
        }),
      ),
    ).toBe(256)
  })
})
