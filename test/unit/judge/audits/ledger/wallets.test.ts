import { describe, expect, test } from 'vitest'
import { documentedContract } from '../../../../../src/contract/documented.ts'
import { createLedgerAudit } from '../../../../../src/judge/audits/ledger/ledger.ts'
import { createSendOrder } from '../../../../../src/judge/audits/send-order.ts'
import { createFindingLog } from '../../../../../src/judge/findings/findings.ts'
import { formatPico } from '../../../../../src/lib/money.ts'
import type { Observation } from '../../../../../src/observation/observation.ts'
import { startedAtMs } from '../../checks/observed.ts'
import { judge } from './judge-ledger.ts'
import { busy, inTurn, paid, type Step, seenBy, step } from './wallet-bank.ts'

const found = (steps: readonly Step[], opening?: string) =>
  judge(seenBy(steps, opening)).findings.map(({ clause, message }) => `${clause}: ${message}`)
const clausesOf = (steps: readonly Step[]) => [...new Set(judge(seenBy(steps)).findings.map(({ clause }) => clause))]

function judgedIn(observations: readonly Observation[]): Readonly<Record<string, number>> {
  const findingLog = createFindingLog()
  const context = { contract: documentedContract, shared: false, startedAtMs }
  const ledger = createLedgerAudit(context, findingLog.reporterFor('ledger'))
  const order = createSendOrder(ledger.add)
  for (const observation of observations) order.add(observation)
  order.flush()
  ledger.finish(true)
  const walletTallies = findingLog.tallies().filter(({ id, judged }) => id.startsWith('wallet.') && judged > 0)
  return Object.fromEntries(walletTallies.map(({ id, judged }) => [id, judged]))
}

describe('an honest wallet is spared', () => {
  test.each(Array.from({ length: 60 }, (_, seed) => [seed]))(
    'under load, with payments of every fate: seed %i',
    seed => {
      expect(found(busy(seed), '20')).toEqual([])
    },
  )

  test('and every clause of its money is judged', () => {
    const steps = inTurn(
      ...([['check'], ['call'], ['check'], ['pay', { payment: paid(1) }], ['chat'], ['check']] as const),
      ['pay', { payment: paid(2), taken: '0', status: 400 }],
      ['pay', { payment: paid(1, '5', { isAgain: true }), taken: '0', status: 400 }],
      ['check'],
    )
    expect(found(steps)).toEqual([])
    expect(Object.keys(judgedIn(seenBy(steps))).toSorted()).toEqual([
      ...['wallet.balance', 'wallet.balance-remaining', 'wallet.billing', 'wallet.charge'],
      ...['wallet.top-up.credit', 'wallet.top-up.once', 'wallet.top-up.refusal'],
    ])
  })

  test('whose responses have no balance headers, only what remains', () => {
    const hidden = { shown: () => ({ header: undefined }) }
    const steps = inTurn(['check', hidden], ['call', hidden], ['chat', hidden], ['check', hidden], ['call', hidden])
    expect(found(steps)).toEqual([])
    const twice = { ...hidden, taken: '0.000025' }
    const remaining = ({ before }: { before: bigint }) => ({
      header: undefined,
      remaining: formatPico(before - 25_000_000n),
    })
    const wrong = inTurn(
      ['call', { ...twice, shown: remaining }],
      ['call', { ...twice, shown: remaining }],
      ['call', hidden],
    )
    expect(clausesOf(wrong)).toContain('wallet.charge')
  })

  test('where responses to keys show no balance, while one that takes twice the price is not', () => {
    const billing = { ...documentedContract.billing, balanceHeaders: false }
    const contract = { ...documentedContract, billing }
    const honest = inTurn(['check'], ['call'], ['chat'], ['check'])
    const twice = inTurn(['check'], ['call', { taken: '0.000025' }], ['check'], ['call'], ['check'])
    expect(judge(seenBy(honest), { contract }).findings).toEqual([])
    expect(judge(seenBy(twice), { contract }).findings.map(({ clause }) => clause)).toContain('wallet.charge')
  })

  describe('where no response has balance headers', () => {
    const billing = { ...documentedContract.billing, balanceHeaders: false }
    const contract = { ...documentedContract, billing }
    /** Calls of the RPC proxy, which need not show what remains. */
    const bare = (more: Partial<Step> = {}): Partial<Step> => ({
      shown: () => ({ header: undefined, remaining: undefined }),
      ...more,
    })
    const check = (round = (usd: number) => usd): Partial<Step> => ({
      shown: ({ before }) => ({ header: undefined, balanceUsd: round(Number(formatPico(before))) }),
    })
    const clauses = (steps: readonly Step[], opening?: string) =>
      judge(seenBy(steps, opening), { contract }).findings.map(({ clause }) => clause)

    test('and the balance endpoint shows what calls take, in whatever digits', () => {
      const cents = (usd: number) => Math.round(usd * 100) / 100
      const millionths = (usd: number) => Math.floor(usd * 1e6) / 1e6
      for (const round of [undefined, cents, millionths])
        for (const opening of ['3', '3.0000001', '2.995']) {
          const steps = inTurn(
            ...[['check', check(round)] as const, ['call', bare()] as const, ['call', bare()] as const],
            ...[['check', check(round)] as const, ['call', bare()] as const, ['check', check(round)] as const],
          )
          expect(clauses(steps, opening)).toEqual([])
        }
    })

    test('while one that takes twice the price, or nothing, is not', () => {
      for (const taken of ['0.000025', '0']) {
        const steps = inTurn(['check', check()], ['call', bare({ taken })], ['check', check()], ['check', check()])
        expect(clauses(steps)).toContain('wallet.charge')
      }
    })

    test('and what remains is rounded to six digits', () => {
      const remaining: Partial<Step> = {
        shown: ({ after }) => ({ header: undefined, remaining: Number(formatPico(after)).toFixed(6) }),
      }
      const steps = inTurn(['call', remaining], ['call', remaining], ['chat', remaining], ['call', remaining])
      expect(clauses(steps)).toEqual([])
    })
  })

  test('whose balance endpoint has another layout', () => {
    const observations = seenBy(inTurn(['check'], ['call'], ['check'])).map(each =>
      each.request.kind === 'wallet-balance' && each.response !== null
        ? {
            ...each,
            response: {
              ...each.response,
              body: { kind: 'json', value: { availableCents: 300 }, digest: null } as const,
            },
          }
        : each,
    )
    expect(judge(observations).findings).toEqual([])
  })

  test('with DIEM, whether the other places include it or not', () => {
    const observations = seenBy(inTurn(['check'], ['call'], ['check'])).map(each => {
      if (each.response === null) return each
      const headers = { ...each.response.headers, 'x-service-balance-diem': '2' }
      return { ...each, response: { ...each.response, headers } }
    })
    expect(judge(observations).findings).toEqual([])
  })

  test('whose balance endpoint shows cents', () => {
    const cents = {
      shown: ({ before }: { before: bigint }) => ({ balanceUsd: Math.round(Number(before) / 1e10) / 100 }),
    }
    expect(found(inTurn(['check', cents], ['call'], ['call'], ['check', cents]))).toEqual([])
  })

  test('that streams, whether what remains is before or after the cost', () => {
    for (const shown of [({ before }: { before: bigint }) => ({ remaining: formatPico(before) }), () => ({})]) {
      const observations = seenBy(inTurn(['check'], ['chat', { shown }], ['check'])).map(each =>
        each.request.kind === 'chat' && each.response !== null
          ? { ...each, request: { ...each.request, stream: true }, response: streamed(each.response) }
          : each,
      )
      expect(judge(observations).findings).toEqual([])
    }
  })
})

const streamed = (response: NonNullable<Observation['response']>): NonNullable<Observation['response']> => {
  const cost = response.body.kind === 'json' ? (response.body.value as { cost: unknown }).cost : null
  const none = {
    chunks: 1,
    grammar: [],
    ids: [],
    models: [],
    objects: [],
    created: null,
    finishReasons: [],
    indices: [],
  }
  const texts = {
    stopReasons: [],
    deltaTypes: [],
    usage: null,
    error: null,
    parameters: null,
    text: null,
    toolNames: [],
  }
  const times = {
    firstTokenMs: null,
    firstContentMs: null,
    lastTokenMs: null,
    tokenChunks: 0,
    gapsMs: [],
    malformed: [],
  }
  const lengths = { contentCharacters: 0, reasoningCharacters: 0 }
  return { ...response, body: { kind: 'stream', stream: { ...none, ...texts, ...times, ...lengths, cost } } }
}

describe('charges of a wallet', () => {
  test.each<[what: string, message: string, steps: readonly Step[]]>([
    [
      'twice',
      'wallet.charge: billed-twice: 0.000025 USD left the balance over 1 requests that cost 0.0000125',
      inTurn(['check'], ['check'], ['call', { taken: '0.000025' }], ['check']),
    ],
    [
      'never',
      'wallet.charge: unbilled: 0 USD left the balance, expected 0.0000125',
      inTurn(['check'], ['check'], ['call', { taken: '0' }], ['check']),
    ],
    [
      'for a refusal',
      'wallet.charge: billed-for-failure: 0.0000125 USD left the balance over 1 requests that cost 0',
      inTurn(['check'], ['check', { status: 429, taken: '0.0000125' }], ['check']),
    ],
  ])('applied %s violate wallet.charge', (_, message, steps) => {
    expect(found(steps)).toEqual([message])
  })

  test('at another price than with an API key violate wallet.billing', () => {
    const dear = { said: '0.00001875', taken: '0.00001875' }
    const credits = inTurn(['check'], ['call', dear], ['check'])
    const observations = seenBy(credits).map(each =>
      each.request.kind === 'rpc' && each.response !== null
        ? {
            ...each,
            response: { ...each.response, headers: { ...each.response.headers, 'x-service-rpc-credits': '20' } },
          }
        : each,
    )
    expect(judge(observations).findings.map(({ clause }) => clause)).toEqual(['wallet.billing'])
  })
})

describe('a balance of a wallet', () => {
  test.each<[what: string, clause: string, shown: Step['shown'], kind: Step['kind']]>([
    [
      'endpoint that shows more',
      'wallet.balance',
      ({ before }) => ({ balanceUsd: Number(before) / 1e12 + 0.05 }),
      'check',
    ],
    ['endpoint without an amount', 'wallet.balance', () => ({ balanceUsd: undefined }), 'check'],
    [
      'header that is before the request',
      'wallet.balance-remaining',
      ({ before }) => ({ remaining: formatPico(before) }),
      'call',
    ],
    ['header of somebody else', 'wallet.balance-remaining', () => ({ remaining: '7.123' }), 'call'],
    ['header that is not an amount', 'wallet.balance-remaining', () => ({ remaining: 'plenty' }), 'call'],
    ['header that is missing', 'wallet.balance-remaining', () => ({ remaining: undefined }), 'chat'],
  ])('%s violates %s', (_, clause, shown, kind) => {
    expect(clausesOf(inTurn(['check'], [kind, { shown }], ['check']))).toEqual([clause])
  })

  test('endpoint whose response broke off shows nothing', () => {
    const steps = inTurn(['check'], ['check', { shown: () => ({ balanceUsd: undefined }) }], ['check'])
    const seen = seenBy(steps).map(
      (each, index): Observation =>
        index === 1 ? { ...each, outcome: { kind: 'failed', reason: 'connection-lost', detail: '' } } : each,
    )
    expect(judge(seen).findings).toEqual([])
  })

  test('endpoint that is missing violates wallet.balance', () => {
    expect(clausesOf(inTurn(['check'], ['check', { status: 404 }], ['check']))).toEqual(['wallet.balance'])
  })

  test('header that is missing from an RPC response is none of an inference', () => {
    expect(found(inTurn(['check'], ['call', { shown: () => ({ remaining: undefined }) }], ['check']))).toEqual([])
  })

  test('header that shows a wrong charge as it was applied is right: the charge is wrong', () => {
    const shown: Step['shown'] = ({ before }) => ({ remaining: formatPico(before - 25_000_000n) })
    const steps = inTurn(['check'], ['check'], ['call', { taken: '0.000025', shown }], ['check'], ['call'], ['check'])
    expect(clausesOf(steps)).toEqual(['wallet.charge'])
  })
})

describe('a payment', () => {
  const first = { payment: paid(1) }
  const again = { payment: paid(1, '5', { isAgain: true }), taken: '0', status: 400 }

  test.each<[what: string, clause: string, steps: readonly Step[]]>([
    ['that is lost', 'wallet.top-up.credit', inTurn(['check'], ['pay', { ...first, taken: '0' }], ['check'])],
    [
      'that is credited less',
      'wallet.top-up.credit',
      inTurn(['check'], ['pay', { ...first, taken: '-4.75' }], ['check']),
    ],
    ['that is credited more', 'wallet.top-up.credit', inTurn(['check'], ['pay', { ...first, taken: '-6' }], ['check'])],
    [
      'that is refused and credited',
      'wallet.top-up.credit',
      inTurn(['check'], ['pay', { ...first, status: 402 }], ['check']),
    ],
    [
      'that is replayed and credited again',
      'wallet.top-up.once',
      inTurn(['check'], ['pay', first], ['pay', { ...again, taken: '-5' }], ['check']),
    ],
    [
      'that is credited again when the response says so',
      'wallet.top-up.once',
      inTurn(['check'], ['pay', first], ['pay', { ...again, taken: '-5', status: 200 }], ['check']),
    ],
    [
      'below the minimum that is credited',
      'wallet.top-up.least',
      inTurn(['check'], ['pay', { payment: paid(1, '4.99'), status: 400 }], ['check']),
    ],
    [
      'for a test network that is credited',
      'wallet.top-up.invalid',
      inTurn(['check'], ['pay', { payment: paid(1, '5', { invalid: 'other-chain' }), status: 400 }], ['check']),
    ],
    [
      'that states more than was signed and is credited as stated',
      'wallet.top-up.invalid',
      inTurn(
        ['check'],
        ['pay', { payment: paid(1, '5', { invalid: 'above-signed' }), status: 400, taken: '-10' }],
        ['check'],
      ),
    ],
    [
      'whose replay gets another status',
      'wallet.top-up.refusal',
      inTurn(['check'], ['pay', first], ['pay', { ...again, status: 422 }], ['check']),
    ],
  ])('%s violates %s', (_, clause, steps) => {
    expect(clausesOf(steps)).toEqual([clause])
  })

  test('of two copies at once counts once', () => {
    const race = (taken: string, status: number): readonly Step[] => [
      step('check', 0),
      step('pay', 5_000, { payment: paid(1), endMs: 5_300, appliedMs: 5_200 }),
      step('pay', 5_000.1, { ...again, taken, status }),
      step('check', 15_000),
    ]
    expect(clausesOf(race('0', 409))).toEqual([])
    expect(clausesOf(race('-5', 409))).toEqual(['wallet.top-up.once'])
    expect(clausesOf(race('-5', 200))).toEqual(['wallet.top-up.once'])
  })

  const refusedAt = (appliedMs: number, error: string): readonly Step[] => {
    const shown = () => ({ error })
    const late = step('pay', 5_000, { ...first, status: 402, appliedMs, shown })
    return [step('check', 0), late, step('check', 5_500), step('check', 10_000), step('check', 20_000)]
  }

  test('that was refused is found when its credit arrives late', () => {
    expect(clausesOf(refusedAt(12_000, 'NO'))).toEqual(['wallet.top-up.credit'])
  })

  test('whose settlement failed may still reach the chain later, and not before', () => {
    expect(clausesOf(refusedAt(12_000, 'SETTLEMENT_FAILED'))).toEqual([])
    expect(clausesOf(refusedAt(5_005, 'SETTLEMENT_FAILED'))).toEqual(['wallet.top-up.credit'])
  })

  test('is accused also where the first balance of the wallet is the one after it', () => {
    const steps = inTurn(['pay', { ...first, taken: '0', shown: () => ({ newBalance: 8 }) }], ['check'])
    expect(clausesOf(steps)).toEqual(['wallet.top-up.credit'])
  })

  test('of unknown fate hides neither another payment nor a charge', () => {
    const unknown: readonly [Step['kind'], Partial<Step>] = ['pay', { ...first, status: null, taken: '0' }]
    const lost = inTurn(['check'], unknown, ['check'], ['pay', { payment: paid(2), taken: '0' }], ['check'])
    expect(clausesOf(lost)).toEqual(['wallet.top-up.credit'])
    const twice = inTurn(['check'], unknown, ['check'], ['call', { taken: '0.000025' }], ['check'])
    expect(clausesOf(twice)).toEqual(['wallet.charge'])
  })

  test('does not make the charges around it a fault of its own', () => {
    const steps = inTurn(['check'], ['call', { taken: '0.000025' }], ['pay', first], ['check'], ['check'])
    expect(clausesOf(steps)).toEqual(['wallet.charge'])
  })
})

test('what is billed leaves out what payments added', () => {
  const steps = inTurn(
    ['pay', { payment: paid(1) }],
    ['check'],
    ['call'],
    ['pay', { payment: paid(2, '7') }],
    ['check'],
  )
  expect(judge(seenBy(steps)).billedUsd).toBe('0.0000125')
})
