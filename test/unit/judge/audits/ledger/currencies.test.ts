import { describe, expect, test } from 'vitest'
import type { ChargeBounds } from '../../../../../src/judge/audits/ledger/charge.ts'
import {
  addToTotals,
  type ChargedRequest,
  type ChargeTotals,
  type CurrencyEntry,
  createCurrencies,
  zeroTotals,
} from '../../../../../src/judge/audits/ledger/totals.ts'
import { createOverlapBounds, type RequestInterval } from '../../../../../src/judge/audits/overlap-bounds.ts'
import { createFindingLog } from '../../../../../src/judge/findings/findings.ts'
import { pico } from '../../../../../src/lib/money.ts'

/** The charge of one request, and the balances shown to it: `['0.3 USD', 10, 5]` found 10 dollars and 5 DIEM. */
type Step = readonly [took: string, usd: number, diem: number]

const exactly = (amount: bigint) => ({ min: amount, max: amount })
const none = exactly(0n)

function takenBy(took: string): ChargedRequest {
  const [amount = '0', unit] = (took === '' ? '0' : took).split(' ')
  const taken = pico(amount)
  const charge: ChargeBounds = { kind: 'charged', ...exactly(taken), said: taken }
  switch (unit) {
    case 'USD':
      return { charge, paid: { usd: exactly(taken), diem: none }, credit: null, held: 0n }
    case 'DIEM':
      return { charge, paid: { usd: none, diem: exactly(taken) }, credit: null, held: 0n }
    case 'either':
      return { charge, paid: null, credit: null, held: 0n }
    case 'lost':
      return { charge: { kind: 'unknown', min: 0n, max: taken, said: 0n }, paid: null, credit: null, held: 0n }
    case 'unsaid':
      return { charge: null, paid: null, credit: null, held: 0n }
    default:
      return { charge: { kind: 'free', ...none, said: 0n }, paid: null, credit: null, held: 0n }
  }
}

/** Requests that do not overlap, or that all overlap. */
function judge(steps: readonly Step[], { overlap = false, days = false, resolution = 0n } = {}) {
  const findingLog = createFindingLog()
  const judgeCurrencies = createCurrencies(() => resolution, findingLog.reporterFor('ledger'))
  const bounds = createOverlapBounds<RequestInterval & ChargedRequest & CurrencyEntry, ChargeTotals>(
    zeroTotals,
    addToTotals,
    judgeCurrencies,
  )
  for (const [id, [took, usd, diem]] of steps.entries()) {
    const sentMs = overlap ? id : id * 1_000
    const balances = { usd: pico(usd), diem: pico(diem) }
    const span = { id, sentMs, shownMs: sentMs + 100, settledMs: sentMs + 200 }
    bounds.add({ ...span, ...takenBy(took), balances, day: days ? id : 0 }, sentMs)
  }
  bounds.finish()
  const pass = findingLog.tallies().find(({ id }) => id === 'billing.currency')?.judged ?? 0
  return { failed: findingLog.findings().map(({ message }) => message), pass }
}

describe('a balance that decreases by the payments in its currency', () => {
  test.each<[string, readonly Step[], pass: number]>([
    [
      'in dollars',
      [
        ['0.3 USD', 10, 5],
        ['', 9.7, 5],
      ],
      1,
    ],
    [
      'in DIEM',
      [
        ['0.3 DIEM', 10, 5],
        ['', 10, 4.7],
      ],
      1,
    ],
    [
      'in one currency and then in the other',
      [
        ['0.3 DIEM', 10, 5],
        ['0.2 USD', 10, 4.7],
        ['', 9.8, 4.7],
      ],
      2,
    ],
    [
      'in an unstated currency',
      [
        ['0.3 either', 10, 5],
        ['0.3 either', 10, 4.7],
        ['', 9.7, 4.7],
      ],
      0,
    ],
    [
      'partly in an unstated currency',
      [
        ['0.3 either', 10, 5],
        ['0.2 DIEM', 9.9, 4.8],
        ['', 9.9, 4.6],
      ],
      1,
    ],
    [
      'although the sum of both is wrong, which another finding reports',
      [
        ['0.3 DIEM', 10, 5],
        ['', 10, 5],
      ],
      0,
    ],
    [
      'although a success does not state its cost',
      [
        ['0.3 unsaid', 10, 5],
        ['', 9.9, 4.8],
      ],
      0,
    ],
    [
      'although a request without a response is charged late',
      [
        ['0.3 lost', 10, 5],
        ['0.2 DIEM', 10, 5],
        ['', 9.7, 4.8],
      ],
      1,
    ],
  ])('%s passes', (_, steps, pass) => {
    expect(judge(steps)).toEqual({ failed: [], pass })
  })

  test('passes at midnight, when daily DIEM are added', () => {
    expect(
      judge(
        [
          ['0.3 DIEM', 10, 5],
          ['', 9.7, 5],
        ],
        { days: true },
      ),
    ).toEqual({ failed: [], pass: 0 })
  })

  test('is not judged while other requests are in flight', () => {
    expect(
      judge(
        [
          ['0.3 DIEM', 10, 5],
          ['', 9.7, 5],
        ],
        { overlap: true },
      ),
    ).toEqual({ failed: [], pass: 0 })
  })

  test('may be shown rounded', () => {
    const steps: readonly Step[] = [
      ['0.3 DIEM', 10, 5],
      ['', 10, 4.6999],
    ]
    expect(judge(steps, { resolution: pico('0.0001') })).toEqual({ failed: [], pass: 1 })
  })

  test('has the tolerance of the sum, so a sum that is right makes no currency wrong', () => {
    const steps: readonly Step[] = [
      ['0.3 USD', 10, 5],
      ['', 9.6998, 5],
    ]
    expect(judge(steps, { resolution: pico('0.0001') })).toEqual({ failed: [], pass: 1 })
    const wrong: readonly Step[] = [
      ['0.3 USD', 10, 5],
      ['', 9.6997, 5.0003],
    ]
    expect(judge(wrong, { resolution: pico('0.0001') }).failed).toHaveLength(1)
  })
})

test.each<[string, readonly Step[], string]>([
  [
    'in dollars for payments in DIEM',
    [
      ['0.3 DIEM', 10, 5],
      ['', 9.7, 5],
    ],
    '0.3 USD and 0 DIEM left the balances, but 0 USD and 0.3 DIEM were claimed',
  ],
  [
    'in DIEM for payments in dollars',
    [
      ['0.3 USD', 10, 5],
      ['', 10, 4.7],
    ],
    '0 USD and 0.3 DIEM left the balances, but 0.3 USD and 0 DIEM were claimed',
  ],
  [
    'in both for payments in one',
    [
      ['0.3 DIEM', 10, 5],
      ['', 9.85, 4.85],
    ],
    '0.15 USD and 0.15 DIEM left the balances, but 0 USD and 0.3 DIEM were claimed',
  ],
])('a balance that decreases %s fails', (_, steps, message) => {
  expect(judge(steps)).toEqual({ failed: [message], pass: 1 })
})
