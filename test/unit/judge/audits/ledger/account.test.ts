import { describe, expect, test } from 'vitest'
import { documentedContract } from '../../../../../src/contract/documented.ts'
import { couldBeRealLoss } from '../../../../../src/judge/audits/ledger/account.ts'
import type { Observation } from '../../../../../src/observation/observation.ts'
import { alone, type Display, history, isCharged, observe, priced, type Transaction } from './bank.ts'
import { judge, message } from './judge-ledger.ts'

const twice = (each: Transaction) => ({ ...each, taken: each.taken * 2n })
const nothing = (each: Transaction) => ({ ...each, taken: 0n })
const when = (kind: Transaction['kind'], change: (each: Transaction) => Transaction) => (each: Transaction) =>
  each.kind === kind ? change(each) : each

describe('a difference has the most specific kind', () => {
  test.each<[kind: string, amountUsd: string, clause: string, observations: readonly Observation[]]>([
    ['billed-twice', '0.0000125', 'billing.conservation', alone(['rpc'], when('rpc', twice))],
    ['unbilled', '-0.0000125', 'billing.conservation', alone(['rpc'], when('rpc', nothing))],
    [
      'wrong-amount',
      '0.0000025',
      'billing.conservation',
      alone(
        ['rpc'],
        when('rpc', each => ({ ...each, taken: 15_000_000n })),
      ),
    ],
    [
      'wrong-amount',
      '-0.000005',
      'billing.conservation',
      alone(
        ['rpc'],
        when('rpc', each => ({ ...each, taken: 7_500_000n })),
      ),
    ],
    [
      'replay-billed',
      '0.00004063',
      'rpc.replay.charge',
      alone(
        ['batch', 'replay'],
        when('replay', each => ({ ...each, taken: each.said })),
      ),
    ],
    [
      'billed-for-failure',
      '0.0000125',
      'billing.conservation',
      alone(
        ['refused'],
        when('refused', each => ({ ...each, taken: 12_500_000n })),
      ),
    ],
  ])('%s, %s USD', (kind, amountUsd, clause, observations) => {
    const { discrepancies, findings } = judge(observations)
    expect(discrepancies.map(each => [each.kind, each.count, each.amountUsd])).toEqual([[kind, 1, amountUsd]])
    expect(findings.map(finding => finding.clause)).toEqual([clause])
  })

  test('if only groups with replays differ, the replays were billed', () => {
    const busy = history({ seed: 3, kinds: ['rpc', 'rpc', 'batch', 'replay'], gapMs: 500 })
    const wrong = busy.map(each => (each.kind === 'replay' ? { ...each, taken: 3_125_000n } : each))
    expect(judge(observe(wrong)).discrepancies.map(({ kind }) => kind)).toEqual(['replay-billed'])
  })

  test('if groups without replays differ as well, the replays are not the cause', () => {
    const busy = history({ seed: 3, kinds: ['rpc', 'rpc', 'batch', 'replay'], gapMs: 500 })
    const wrong = busy.map(each => (isCharged(each) ? { ...each, taken: each.taken * 2n } : each))
    expect(judge(observe(wrong)).findings.map(({ clause }) => clause)).toEqual(['billing.conservation'])
  })
})

describe('a finding states what was found and what was expected', () => {
  test('for money', () => {
    expect(message(alone(['rpc', 'batch'], when('rpc', twice)))).toEqual([
      'billing.conservation: billed-twice: 0.000025 USD left the balance over 1 requests that cost 0.0000125',
    ])
  })

  test('for a balance that was not the one before the request', () => {
    const shown: Display['shown'] = (before, { taken }) => before - taken
    const busy = observe(history({ seed: 5, kinds: priced, gapMs: 9000 }), { shown })
    expect(message(busy).join()).toMatch(
      /^billing\.balance-before: the displayed balance is lower by 0\.[0-9]+ USD, the request's own charge, expected the balance before the request$/,
    )
  })

  test('for a balance that was wrong once and correct later', () => {
    const shown: Display['shown'] = (before, { id }) => before - (id === 60 ? 10n ** 12n : 0n)
    const busy = observe(history({ seed: 2, kinds: priced, gapMs: 120, pauses: false }), { shown })
    expect(message(busy).join()).toMatch(
      /^billing\.balance-before: 1\.[0-9]+ USD had left the displayed balance, expected [0-9. to]+; a later balance was correct$/,
    )
  })
})

test('one fault is reported once, and the next one separately', () => {
  const wrong = alone(['rpc', 'batch', 'rpc', 'batch', 'rpc'], when('batch', nothing))
  expect(judge(wrong).discrepancies.map(({ kind, count, amountUsd }) => [kind, count, amountUsd])).toEqual([
    ['unbilled', 2, '-0.00008125'],
  ])
})

test('balances that each lack the last charge, which arrives later, are old balances and not lost money', () => {
  let before = 10n ** 13n
  const shown: Display['shown'] = balance => {
    const old = before
    before = balance
    return old
  }
  const late = alone(['rpc', 'batch', 'rpc', 'batch', 'rpc'], each => each, { shown })
  expect(message(late)).toEqual([
    'billing.balance-before: 0 USD had left the displayed balance, expected 0.0000125; the missing amount was the last charge, which arrived later',
  ])
})

test('nothing is asserted about shared accounts, or if balances may be missing', () => {
  const wrong = alone(['rpc', 'rpc'], each => ({ ...each, taken: each.taken * 2n }))
  expect(message(wrong, { shared: true })).toEqual([])
  const contract = { ...documentedContract, billing: { ...documentedContract.billing, balanceHeaders: false } }
  expect(message(wrong, { contract })).toEqual([])
})

test('nothing is asserted across a success that does not state its cost', () => {
  const silent = alone(['rpc', 'rpc', 'rpc']).map(each =>
    each.id === 2 && each.response
      ? { ...each, response: { ...each.response, headers: withoutCost(each.response.headers) } }
      : each,
  )
  expect(message(silent)).toEqual([])
  expect(judge(silent)).toMatchObject({ unstatedCosts: 1, unknownCharges: 1, unstatedCredits: 0 })
})

test('the totals come from the responses, from our price list, and from the balances', () => {
  const { findings: _, pass: __, ...totals } = judge(alone(['rpc', 'batch', 'replay']))
  expect(totals).toEqual({
    expectedCredits: '0',
    expectedUsd: '0',
    claimedCredits: '85',
    claimedUsd: '0.00005313',
    unstatedCosts: 0,
    unknownCharges: 0,
    unstatedCredits: 0,
    billedUsd: '0.00005313',
    tolerance: {
      claimedUsd: '0',
      unpricedUsd: '0.00005313',
      completionRatio: null,
      rpcRatio: null,
      billedUsd: '0.000000015',
      hiddenUsd: '0',
      balanceUsd: '0.00000001',
    },
    discrepancies: [],
  })
})

test('without a balance check there is no billed amount', () => {
  const hidden = alone(['rpc']).map(each => ({ ...each, response: null, outcome: lost }))
  expect(judge(hidden).billedUsd).toBeNull()
})

const lost = { kind: 'failed', reason: 'connection-lost', detail: '' } as const

const withoutCost = (headers: Readonly<Record<string, string>>) =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => name !== 'x-service-rpc-cost-usd'))

/** The balance decreased by 4 too much. */
const suspicion = { spent: 10n, range: { min: 0n, max: 6n } }

test('a later balance that is exact clears the money', () => {
  expect(couldBeRealLoss(suspicion, 20n, { min: 20n, max: 20n }, 0n)).toBe(false)
})

test('a later balance that open charges would explain either way clears nothing', () => {
  expect(couldBeRealLoss(suspicion, 20n, { min: 12n, max: 30n }, 0n)).toBe(true)
})

test('open charges smaller than the pending amount do not explain it', () => {
  expect(couldBeRealLoss(suspicion, 20n, { min: 17n, max: 20n }, 0n)).toBe(false)
  expect(couldBeRealLoss(suspicion, 20n, { min: 17n, max: 20n }, 1n)).toBe(true)
})
