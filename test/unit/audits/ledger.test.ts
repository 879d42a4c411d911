import { describe, expect, test } from 'vitest'
import { createLedger } from '../../../src/audits/ledger.ts'
import { createSequencer } from '../../../src/audits/sequencer.ts'
import { createDocket } from '../../../src/checks/docket.ts'
import type { Contract } from '../../../src/contract/contract.ts'
import { documented } from '../../../src/contract/documented.ts'
import type { Observation } from '../../../src/observation/observation.ts'
import { startedAtMs } from '../checks/observed.ts'
import { type Display, type History, history, observe, type Transaction } from './bank.ts'

type Options = {
  readonly contract?: Contract
  readonly shared?: boolean
  readonly startedAtMs?: number
  readonly queueLimit?: number
}

function judge(observations: readonly Observation[], options: Options = {}) {
  const docket = createDocket()
  const scope = { contract: documented, shared: false, startedAtMs, ...options }
  const ledger = createLedger(scope, docket.voice('ledger'))
  const sequencer = createSequencer(ledger.add, options.queueLimit)
  for (const observation of observations) sequencer.add(observation)
  sequencer.flush()
  ledger.conclude(true)
  const kept = docket.tallies().find(tally => tally.id === 'billing.conservation')?.judged ?? 0
  return { ...ledger.billing(), findings: docket.findings(), kept }
}

const because = (observations: readonly Observation[], options: Options = {}) =>
  judge(observations, options).findings.map(finding => `${finding.clause}: ${finding.because}`)

const seeds = Array.from({ length: 40 }, (_, index) => index + 1)
const priced = ['rpc', 'rpc', 'batch', 'chat', 'stream', 'replay', 'refused', 'list'] as const

describe('an honest service is never accused', () => {
  const variants: Readonly<Record<string, [Omit<History, 'seed'>, Display, Options?]>> = {
    'with requests that overlap, fail, time out and are charged late': [{}, {}],
    'when its callers are never quiet between the statements': [{ gapMs: 120, pauses: false }, {}],
    'when its callers are mostly alone': [{ gapMs: 9000 }, {}],
    'when charges take a second to be in the balance': [{ settleMs: 999 }, {}],
    'when the balance takes the exact price and answers show it rounded': [{ takesExact: true }, {}],
    'when balances are cut after eight decimals': [{ takesExact: true }, { decimals: 8 }],
    'when credits of the day are spent before dollars': [{}, { diem: 3_000_000_000n }],
    'when both currencies are cut after eight decimals': [{ takesExact: true }, { diem: 3_000_000_000n, decimals: 8 }],
    'when every charge is the same': [{ onePrice: true }, {}],
    'when some answers do not show the balance': [{}, { hidden: ({ seq }) => seq % 3 === 1 }],
    'when one request outlasts many others': [{}, {}, { queueLimit: 4 }],
  }
  test.each(Object.entries(variants))('%s', (_, [shape, display, options = {}]) => {
    for (const seed of seeds) {
      const seen = judge(observe(history({ seed, ...shape }), display), options)
      expect(seen.findings).toEqual([])
      expect(seen.discrepancies).toEqual([])
      expect(seen.kept).toBeGreaterThan(0)
    }
  })

  test('when every account is given its credits at midnight', () => {
    const midnight = Date.UTC(2026, 0, 16)
    const movements = ['c0', 'c1', 'c2'].map(caller => ({ caller, atMs: 40_000, amount: 10n ** 12n }))
    for (const seed of seeds) {
      const observations = observe(history({ seed, gapMs: 2000 }), { movements })
      expect(because(observations, { startedAtMs: midnight - 40_000 })).toEqual([])
      expect(because(observations)).not.toEqual([])
    }
  })
})

/** Each of them in an otherwise honest history without requests that nobody answered. */
const faults: Readonly<Record<string, (transactions: readonly Transaction[], at: number) => readonly Transaction[]>> = {
  'a charge that is taken twice': changeOne(isCharged, each => ({ ...each, taken: each.taken * 2n })),
  'a charge that is lost': changeOne(isCharged, each => ({ ...each, taken: 0n })),
  'a charge that is a millionth too high': changeOne(isCharged, each => ({ ...each, taken: each.taken + 1_000_000n })),
  'a replay that is charged': changeOne(
    ({ sort }) => sort === 'replay',
    each => ({ ...each, taken: each.said }),
  ),
  'a refusal that is charged': changeOne(
    ({ sort }) => sort === 'refused',
    each => ({ ...each, taken: 12_500_000n }),
  ),
  'charges that are each too high by less than a balance shows': transactions =>
    transactions.map(each => (isCharged(each) ? { ...each, taken: each.taken + 9_000n } : each)),
}

function isCharged({ sort }: Transaction): boolean {
  return sort === 'rpc' || sort === 'batch' || sort === 'chat' || sort === 'stream'
}

function changeOne(isMeant: (each: Transaction) => boolean, change: (each: Transaction) => Transaction) {
  return (transactions: readonly Transaction[], at: number) => {
    const meant = transactions.filter(isMeant)
    const chosen = meant[at % meant.length]
    return transactions.map(each => (each === chosen ? change(each) : each))
  }
}

describe('a service with one fault is accused, whatever overlaps it', () => {
  const shapes: Readonly<Record<string, Omit<History, 'seed'>>> = {
    'with pauses': { sorts: priced },
    'never quiet': { sorts: priced, gapMs: 120, pauses: false },
    'mostly alone': { sorts: priced, gapMs: 9000 },
    'at one price': { sorts: priced, onePrice: true },
  }
  for (const [shape, options] of Object.entries(shapes)) {
    test.each(Object.entries(faults))(`${shape}: %s`, (_, fault) => {
      for (const seed of seeds) {
        const { findings, discrepancies } = judge(observe(fault(history({ seed, ...options }), seed * 7)))
        expect(findings).not.toEqual([])
        expect(discrepancies).not.toEqual([])
      }
    })

    test(`${shape}: money that leaves without a request`, () => {
      for (const seed of seeds) {
        const movements = [{ caller: 'c1', atMs: seed * 100, amount: -5_000_000n }]
        expect(because(observe(history({ seed, ...options }), { movements }))).not.toEqual([])
      }
    })

    test(`${shape}: the balance after the request in place of the one before it`, () => {
      for (const seed of seeds) {
        const shown: Display['shown'] = (before, { taken }) => before - taken
        const { findings } = judge(observe(history({ seed, ...options }), { shown }))
        expect(findings.map(({ clause }) => clause)).toContain('billing.balance-before')
      }
    })
  }
})

/** Requests that are far from each other. */
const alone = (
  sorts: readonly Transaction['sort'][],
  change: (each: Transaction) => Transaction = each => each,
  display: Display = {},
) =>
  observe(
    ['statement' as const, ...sorts, 'statement' as const].map((sort, seq): Transaction => {
      const sentMs = seq * 10_000
      const amount = sort === 'rpc' ? 12_500_000n : sort === 'batch' || sort === 'replay' ? 40_630_000n : 0n
      const instants = {
        sentMs,
        arrivedMs: sentMs + 1,
        headersMs: sentMs + 9,
        endMs: sentMs + 9,
        chargedMs: sentMs + 5,
      }
      const taken = sort === 'replay' ? 0n : amount
      const group = sort === 'replay' ? seq - 1 : null
      return change({ ...instants, seq, sort, caller: 'c0', taken, said: amount, group })
    }),
    display,
  )

const twice = (each: Transaction) => ({ ...each, taken: each.taken * 2n })
const nothing = (each: Transaction) => ({ ...each, taken: 0n })
const when = (sort: Transaction['sort'], change: (each: Transaction) => Transaction) => (each: Transaction) =>
  each.sort === sort ? change(each) : each

describe('a difference has the name that tells most', () => {
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

  test('where all is well but for stretches with replays, it is the replays that were billed', () => {
    const busy = history({ seed: 3, sorts: ['rpc', 'rpc', 'batch', 'replay'], gapMs: 500 })
    const wrong = busy.map(each => (each.sort === 'replay' ? { ...each, taken: 3_125_000n } : each))
    expect(judge(observe(wrong)).discrepancies.map(({ kind }) => kind)).toEqual(['replay-billed'])
  })

  test('where stretches without replays are wrong as well, the replays are not to blame', () => {
    const busy = history({ seed: 3, sorts: ['rpc', 'rpc', 'batch', 'replay'], gapMs: 500 })
    const wrong = busy.map(each => (isCharged(each) ? { ...each, taken: each.taken * 2n } : each))
    expect(judge(observe(wrong)).findings.map(({ clause }) => clause)).toEqual(['billing.conservation'])
  })
})

describe('an accusation says what was got and what was expected', () => {
  test('of money', () => {
    expect(because(alone(['rpc', 'batch'], when('rpc', twice)))).toEqual([
      'billing.conservation: billed-twice: 0.000025 USD left the balance over 1 requests that cost 0.0000125',
    ])
  })

  test('of a balance that was not the one before', () => {
    const shown: Display['shown'] = (before, { taken }) => before - taken
    const busy = observe(history({ seed: 5, sorts: priced, gapMs: 9000 }), { shown })
    expect(because(busy).join()).toMatch(
      /^billing\.balance-before: the balance shown is lower by 0\.[0-9]+ USD, the request's own charge, expected the one before it$/,
    )
  })

  test('of a balance that was wrong once, and right later', () => {
    const shown: Display['shown'] = (before, { seq }) => before - (seq === 60 ? 10n ** 12n : 0n)
    const busy = observe(history({ seed: 2, sorts: priced, gapMs: 120, pauses: false }), { shown })
    expect(because(busy).join()).toMatch(
      /^billing\.balance-before: 1\.[0-9]+ USD had left the balance shown, expected [0-9. to]+; a later one was right$/,
    )
  })
})

test('one fault is told once, and the next one again', () => {
  const wrong = alone(['rpc', 'batch', 'rpc', 'batch', 'rpc'], when('batch', nothing))
  expect(judge(wrong).discrepancies.map(({ kind, count, amountUsd }) => [kind, count, amountUsd])).toEqual([
    ['unbilled', 2, '-0.00008125'],
  ])
})

test('balances that each lack the last charge, which comes in later, are old balances and no lost money', () => {
  let before = 10n ** 13n
  const shown: Display['shown'] = balance => {
    const old = before
    before = balance
    return old
  }
  const late = alone(['rpc', 'batch', 'rpc', 'batch', 'rpc'], each => each, { shown })
  expect(because(late)).toEqual([
    'billing.balance-before: 0 USD had left the balance shown, expected 0.0000125; what is missing was the last charge, which came in later',
  ])
})

test('nothing is asserted of accounts that others use, nor where balances are not shown for sure', () => {
  const wrong = alone(['rpc', 'rpc'], each => ({ ...each, taken: each.taken * 2n }))
  expect(because(wrong, { shared: true })).toEqual([])
  const contract = { ...documented, billing: { ...documented.billing, balanceHeaders: false } }
  expect(because(wrong, { contract })).toEqual([])
})

test('nothing is asserted across a success that does not say what it cost', () => {
  const silent = alone(['rpc', 'rpc', 'rpc']).map(each =>
    each.seq === 2 && each.answer
      ? { ...each, answer: { ...each.answer, headers: withoutCost(each.answer.headers) } }
      : each,
  )
  expect(because(silent)).toEqual([])
})

test('the totals are those of the answers, of our tariff, and of the balances', () => {
  const { findings: _, kept: __, ...totals } = judge(alone(['rpc', 'batch', 'replay']))
  expect(totals).toEqual({
    expectedCredits: '0',
    expectedUsd: '0',
    claimedCredits: '85',
    claimedUsd: '0.00005313',
    billedUsd: '0.00005313',
    discrepancies: [],
  })
})

test('without a statement there is no billed amount', () => {
  const hidden = alone(['rpc']).map(each => ({ ...each, answer: null, outcome: lost }))
  expect(judge(hidden).billedUsd).toBeNull()
})

const lost = { kind: 'failed', reason: 'connection-lost', detail: '' } as const

const withoutCost = (headers: Readonly<Record<string, string>>) =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => name !== 'x-service-rpc-cost-usd'))
