import { describe, expect, test } from 'vitest'
import type { Observation } from '../../../../../src/observation/observation.ts'
import { judgeStory } from '../../../../support/ledger-story.ts'
import { todays } from '../../../../support/nightly.ts'
import { observed, responseOf, rpcHeaders } from '../../checks/observed.ts'
import { type Display, type History, history, isCharged, observe, priced, type Transaction } from './bank.ts'
import { judge, message, type Options } from './judge-ledger.ts'

const all = Array.from({ length: 40 }, (_, index) => index + 1)
const seeds = todays(all, 7)

/** Completions may have all their tokens, and no item of a batch may fail. */
const held = (each: Transaction): bigint => {
  if (!isCharged(each)) return 0n
  if (each.kind === 'chat' || each.kind === 'stream') return 300_000_000n
  return each.kind === 'batch' && each.said < 50_000_000n ? 50_000_000n : each.said
}

describe('an honest service passes', () => {
  const variants: Readonly<Record<string, [Omit<History, 'seed'>, Display, Options?]>> = {
    'with requests that overlap, fail, time out and are charged late': [{}, {}],
    'when its callers are never idle between the balance checks': [{ gapMs: 120, pauses: false }, {}],
    'when requests rarely overlap': [{ gapMs: 9000 }, {}],
    'when the balance includes charges after a second': [{ settleMs: 999 }, {}],
    'when the balance takes the exact price and responses show it rounded': [{ takesExact: true }, {}],
    'when balances are truncated to eight decimals': [{ takesExact: true }, { decimals: 8 }],
    'when daily credits are spent before dollars': [{}, { diem: 3_000_000_000n }],
    'when both currencies are truncated to eight decimals': [
      { takesExact: true },
      { diem: 3_000_000_000n, decimals: 8 },
    ],
    'when all charges are equal': [{ onePrice: true }, {}],
    'when a balance lacks what requests in progress may cost': [{}, { held }],
    'when a balance that lacks what may be spent is never without such a request': [
      { gapMs: 120, pauses: false },
      { held },
    ],
    'when some responses do not show the balance': [{}, { hidden: ({ id }) => id % 3 === 1 }],
    'when one request takes longer than many others': [{}, {}, { queueLimit: 4 }],
  }
  test.each(Object.entries(variants))('%s', (_, [shape, display, options = {}]) => {
    for (const seed of seeds) {
      const seen = judge(observe(history({ seed, ...shape }), display), options)
      expect(seen.findings).toEqual([])
      expect(seen.discrepancies).toEqual([])
      expect(seen.pass).toBeGreaterThan(0)
    }
  })

  test('when responses state no credits, and costs are rounded while the balance takes the exact amounts', () => {
    for (const seed of seeds)
      for (const decimals of [8, 9]) {
        const transactions = history({ seed, kinds: ['batch', 'batch', 'rpc'], takesExact: true, gapMs: 4000 })
        const observations = observe(transactions, { decimals }).map(withoutCredits)
        expect(message(observations).filter(each => !each.startsWith('rpc.credits'))).toEqual([])
        const lost = transactions.map(each => (each.id % 40 === 20 && isCharged(each) ? { ...each, taken: 0n } : each))
        if (lost.some(({ taken, said }) => taken === 0n && said > 0n))
          expect(message(observe(lost, { decimals }).map(withoutCredits)).join()).toContain('billing.conservation')
      }
  })

  test('when every account receives its daily credits at midnight', () => {
    const midnight = Date.UTC(2026, 0, 16)
    const movements = ['c0', 'c1', 'c2'].map(caller => ({ caller, atMs: 40_000, amount: 10n ** 12n }))
    for (const seed of seeds) {
      const observations = observe(history({ seed, gapMs: 2000 }), { movements })
      expect(message(observations, { startedAtMs: midnight - 40_000 })).toEqual([])
      expect(message(observations)).not.toEqual([])
    }
  })
})

function withoutCredits(observation: Observation): Observation {
  if (observation.response === null) return observation
  const headers = { ...observation.response.headers }
  delete headers['x-service-rpc-credits']
  return { ...observation, response: { ...observation.response, headers } }
}

/** Each fault in an otherwise honest history in which every request has a response. */
const faults: Readonly<Record<string, (transactions: readonly Transaction[], at: number) => readonly Transaction[]>> = {
  'a charge that is taken twice': changeOne(isCharged, each => ({ ...each, taken: each.taken * 2n })),
  'a charge that is lost': changeOne(isCharged, each => ({ ...each, taken: 0n })),
  'a charge that is a millionth too high': changeOne(isCharged, each => ({ ...each, taken: each.taken + 1_000_000n })),
  'a replay that is charged': changeOne(
    ({ kind }) => kind === 'replay',
    each => ({ ...each, taken: each.said }),
  ),
  'a rejection that is charged': changeOne(
    ({ kind }) => kind === 'refused',
    each => ({ ...each, taken: 12_500_000n }),
  ),
  'charges that are each too high by less than the balance resolution': transactions =>
    transactions.map(each => (isCharged(each) ? { ...each, taken: each.taken + 9_000n } : each)),
}

function changeOne(isMeant: (each: Transaction) => boolean, change: (each: Transaction) => Transaction) {
  return (transactions: readonly Transaction[], at: number) => {
    const meant = transactions.filter(isMeant)
    const chosen = meant[at % meant.length]
    return transactions.map(each => (each === chosen ? change(each) : each))
  }
}

describe('a service with one fault fails, whatever overlaps it', () => {
  const shapes: Readonly<Record<string, Omit<History, 'seed'>>> = {
    'with pauses': { kinds: priced },
    'never idle': { kinds: priced, gapMs: 120, pauses: false },
    'rare overlaps': { kinds: priced, gapMs: 9000 },
    'at one price': { kinds: priced, onePrice: true },
  }
  for (const [shape, options] of Object.entries(shapes)) {
    test.each(Object.entries(faults))(`${shape}: %s`, (_, fault) => {
      for (const seed of seeds) {
        const { findings, discrepancies } = judge(observe(fault(history({ seed, ...options }), seed * 7)))
        expect(findings).not.toEqual([])
        expect(discrepancies).not.toEqual([])
      }
    })

    test(`${shape}: money that is taken without a request`, () => {
      for (const seed of seeds) {
        const movements = [{ caller: 'c1', atMs: seed * 100, amount: -5_000_000n }]
        expect(message(observe(history({ seed, ...options }), { movements }))).not.toEqual([])
      }
    })

    test(`${shape}: the balance after the request instead of the one before it`, () => {
      const named = seeds.filter(seed => {
        const shown: Display['shown'] = (before, { taken }) => before - taken
        const { findings } = judge(observe(history({ seed, ...options }), { shown }))
        return findings.some(({ clause }) => clause === 'billing.balance-before')
      })
      // Where requests always overlap, a service may hold as much for another one.
      expect(named.length).toBeGreaterThan(options.pauses === false ? seeds.length / 2 : seeds.length - 1)
    })
  }
})

describe('rejections by the RPC proxy', () => {
  test('are free, which is judged if nothing else was charged', () => {
    const free = { steps: 'statement; refusal; refusal; statement', balances: ['10', '10', '10', '10'] }
    expect(judgeStory(free).failed).toEqual([])
    const billed = { steps: 'statement; refusal; statement', balances: ['10', '10', '9.9999875'] }
    expect(judgeStory(billed).failed).toEqual(['rpc.refused.free'])
  })

  test('are not the cause if a call was charged as well', () => {
    const mixed = { steps: 'statement; call 0.0000125 & refusal; statement', balances: ['10', '10', '10', '9.999975'] }
    expect(judgeStory(mixed).failed).toEqual(['billing.conservation'])
  })

  test('must not state a cost', () => {
    const request = { kind: 'probe', probe: 'batch-too-long' } as const
    const refusal = (credits: string, cost: string) =>
      message([
        observed(
          request,
          responseOf(
            400,
            { error: 'No' },
            { ...rpcHeaders, 'x-service-rpc-credits': credits, 'x-service-rpc-cost-usd': cost },
          ),
          { id: 0 },
        ),
      ])
    expect(refusal('0', '0')).toEqual([])
    expect(refusal('20', '0.0000125')).toEqual([
      'rpc.refused.free: a 400 states a cost of 0.0000125 USD, expected a rejected request to be free',
    ])
  })
})
