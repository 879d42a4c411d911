import { formatPico, pico } from '../../../../../src/lib/money.ts'
import { type Random, randomStream } from '../../../../../src/lib/random.ts'
import type { Observation, Outcome } from '../../../../../src/observation/observation.ts'
import type { PaymentRecord, TopUpDescriptor } from '../../../../../src/observation/requests/wallets.ts'
import { chatDescriptor, observed, responseOf, rpcHeaders, singleDescriptor } from '../../checks/observed.ts'

/** One request of a wallet, as its service handles it. All times on the clock of the run, amounts in USD. */
export type Step = {
  readonly kind: 'call' | 'chat' | 'check' | 'pay'
  readonly sentMs: number
  readonly endMs: number
  /** When the service reads the credit, and when the charge or the payment arrives there. */
  readonly arrivedMs: number
  readonly appliedMs: number
  /** What leaves the credit, or comes as credit if it is negative. */
  readonly taken: string
  /** What the response claims. */
  readonly said: string
  readonly payment: PaymentRecord | null
  /** null: there is no response. */
  readonly status: number | null
  /** Changes what the response shows. */
  readonly shown: (amounts: Amounts) => Partial<Shown>
}

type Amounts = { readonly before: bigint; readonly after: bigint; readonly applied: bigint }
/** undefined: not shown. */
export type Shown = {
  readonly header: string | undefined
  readonly remaining: string | undefined
  readonly balanceUsd: number | undefined
  readonly newBalance: number | undefined
  readonly amountCredited: number | undefined
  readonly paymentId: string | undefined
  /** The code of a refused payment. */
  readonly error: string
}

const price = '0.0000125'
export const paid = (number: number, usd = '5', more: Partial<PaymentRecord> = {}): PaymentRecord => ({
  ...{ id: `w0/${number}`, usd, amount: String(Number(usd) * 1e6), payTo: '0xpayee', isAgain: false },
  ...more,
})

/** A step that takes 10 ms, and is in the books before its response. */
export function step(kind: Step['kind'], sentMs: number, more: Partial<Step> = {}): Step {
  const isCharged = kind === 'call' || kind === 'chat'
  const said = isCharged ? price : '0'
  const own = more.payment === undefined || more.payment === null ? said : `-${more.payment.usd}`
  const times = { sentMs, arrivedMs: sentMs + 1, appliedMs: sentMs + 5, endMs: sentMs + 10 }
  return { kind, ...times, taken: own, said, payment: null, status: 200, shown: () => ({}), ...more }
}

/** Steps far enough apart that all money is in the books before the next one. */
export const inTurn = (...kinds: readonly (readonly [Step['kind'], Partial<Step>?])[]): readonly Step[] =>
  kinds.map(([kind, more], index) => step(kind, index * 5_000, more))

/** What a client sees of the steps of one wallet, in the order in which they end. */
export function seenBy(steps: readonly Step[], opening = '3.0000001'): readonly Observation[] {
  let credit = pico(opening)
  const amounts = new Map<Step, { before: bigint; applied: bigint }>()
  const of = (each: Step) => {
    const known = amounts.get(each) ?? { before: 0n, applied: 0n }
    amounts.set(each, known)
    return known
  }
  const events = steps.flatMap(each => [
    {
      atMs: each.arrivedMs,
      run: () => {
        of(each).before = credit
      },
    },
    {
      atMs: each.appliedMs,
      run: () => {
        credit -= pico(each.taken)
        of(each).applied = credit
      },
    },
  ])
  for (const { run } of events.toSorted((a, b) => a.atMs - b.atMs)) run()
  return steps.map((each, id) => observationOf(each, id, of(each))).toSorted((a, b) => (a.endMs ?? 0) - (b.endMs ?? 0))
}

function observationOf(each: Step, id: number, { before, applied }: Omit<Amounts, 'after'>): Observation {
  const { kind, sentMs, endMs, said, payment, status } = each
  const shown: Shown = {
    header: formatPico(before),
    remaining: kind === 'call' || kind === 'chat' ? formatPico(before - pico(said)) : undefined,
    balanceUsd: Number(formatPico(before)),
    newBalance: payment === null ? undefined : Number(formatPico(before + pico(payment.usd))),
    amountCredited: payment === null ? undefined : Number(payment.usd),
    paymentId: `payment-${id}`,
    error: 'NO',
    ...each.shown({ before, after: before - pico(said), applied }),
  }
  const times = { id, caller: 'w0', chain: 'base', dueMs: sentMs, sentMs, headersMs: endMs, endMs }
  const topUp: TopUpDescriptor = { kind: 'top-up', step: 'payment', chain: 'base', address: '0x', payment }
  const request = {
    call: singleDescriptor,
    chat: chatDescriptor,
    check: { kind: 'wallet-balance', address: '0x' } as const,
    pay: topUp,
  }[kind]
  const lost: Outcome = { kind: 'failed', reason: 'total-timeout', detail: '' }
  if (status === null) return observed(request, null, { ...times, headersMs: null, outcome: lost })
  const money = {
    'x-service-balance-usd': kind === 'pay' ? undefined : shown.header,
    'x-service-balance-diem': kind === 'pay' ? undefined : '0',
    'x-balance-remaining': shown.remaining,
  }
  const { balanceUsd, newBalance, amountCredited, paymentId } = shown
  const bodies = {
    call: [
      200,
      { jsonrpc: '2.0', id: 1, result: '0x1' },
      { ...rpcHeaders, 'x-service-rpc-cost-usd': said, 'x-service-rpc-credits': credits(said) },
    ],
    chat: [200, { cost: { usd: Number(said), diem: 0 } }, {}],
    check: [200, { success: true, data: { balanceUsd } }, {}],
    pay: [200, status < 300 ? { data: { newBalance, amountCredited, paymentId } } : { error: shown.error }, {}],
  } as const
  const [, body, headers] = bodies[kind]
  return observed(request, responseOf(status, status < 400 || kind === 'pay' ? body : {}, { ...headers, ...money }), {
    ...times,
    outcome: { kind: 'answered', status },
  })
}

const credits = (usd: string): string => String(pico(usd) / 625_000n)

/** An honest wallet under load: calls and payments overlap, and some payments have no response. */
export function busy(seed: number): readonly Step[] {
  const random = randomStream(seed, 'wallet-bank')
  const steps: Step[] = [step('check', 0)]
  let atMs = 5_000
  for (let number = 1; number <= 60; number++) {
    atMs += random.next() < 0.15 ? 4_000 : 1 + random.int(300)
    const choice = random.next()
    if (choice < 0.15) steps.push(...payment(number, atMs, random))
    else steps.push(spread(step(choice < 0.3 ? 'check' : choice < 0.6 ? 'chat' : 'call', atMs), random))
  }
  return [...steps, step('check', atMs + 60_000)].toSorted((a, b) => a.sentMs - b.sentMs)
}

/** The same step with times of its own, up to a second late in the books. */
function spread(each: Step, random: Random): Step {
  const arrivedMs = each.sentMs + 0.5 + random.next() * 50
  const endMs = arrivedMs + 1 + random.next() * 500
  return { ...each, arrivedMs, endMs, appliedMs: arrivedMs + 0.25 + random.next() * (endMs + 980 - arrivedMs) }
}

/** A payment with one to three requests: settled, refused, or lost and then perhaps settled. */
function payment(number: number, atMs: number, random: Random): readonly Step[] {
  const usd = String(5 + random.int(4))
  const first = spread(step('pay', atMs, { payment: paid(number, usd) }), random)
  const nothing = { taken: '0', shown: () => ({}) }
  const copy = (sentMs: number, status: number) =>
    spread(step('pay', sentMs, { payment: paid(number, usd, { isAgain: true }), status, ...nothing }), random)
  switch (random.int(5)) {
    case 0: {
      const refused = { ...first, status: 402, ...nothing }
      return [refused]
    }
    // Lost, and settled later or never.
    case 1:
      return [
        { ...first, status: null, ...(random.next() < 0.5 ? { taken: '0' } : { appliedMs: first.endMs + 9_000 }) },
      ]
    // Lost, and sent again as it was: the second says that it was settled.
    case 2:
      return [
        { ...first, status: null, taken: '0' },
        { ...spread(step('pay', first.endMs + 20, { payment: paid(number, usd, { isAgain: true }) }), random) },
      ]
    case 3:
      return [first, copy(atMs + 0.1, 409), copy(first.endMs + 2_000, 400)]
    default:
      return [first]
  }
}
