import { formatPico } from '../../../../../src/lib/money.ts'
import { type Random, randomStream } from '../../../../../src/lib/random.ts'
import type { Observation, Outcome } from '../../../../../src/observation/observation.ts'
import type { RequestDescriptor } from '../../../../../src/observation/requests/request.ts'
import {
  batchDescriptor,
  chatDescriptor,
  observed,
  responseOf,
  rpcHeaders,
  singleDescriptor,
} from '../../checks/observed.ts'

/** The kind of a request, and its outcome. */
type Kind = 'rpc' | 'batch' | 'chat' | 'stream' | 'replay' | 'refused' | 'lost' | 'gateway' | 'list' | 'balance-check'

/** One request before the bank has charged it. All amounts in pico-USD, all times on the clock of the run. */
export type Transaction = {
  readonly id: number
  readonly kind: Kind
  readonly caller: string
  readonly sentMs: number
  /** When the service processes the request and reads the balance. */
  readonly arrivedMs: number
  readonly headersMs: number
  readonly endMs: number
  readonly chargedMs: number
  /** The amount taken from the balance, and the amount in its response. */
  readonly taken: bigint
  readonly said: bigint
  /** The request whose key it shares: it is a replay of it, or the same request from another account. */
  readonly group: number | null
}

export type History = {
  readonly seed: number
  readonly kinds?: readonly Kind[]
  /** The maximum time between two arrivals of a caller. Sometimes there is a pause of three seconds. */
  readonly gapMs?: number
  readonly pauses?: boolean
  /** Whether every price is the same, so that all charges are equal. */
  readonly onePrice?: boolean
  /** Whether the balance takes the exact RPC cost by the price list, not the cost shown in the response. */
  readonly takesExact?: boolean
  readonly settleMs?: number
}

const usual: readonly Kind[] = ['rpc', 'rpc', 'batch', 'chat', 'stream', 'replay', 'refused', 'lost', 'gateway', 'list']
/** Kinds of requests that all state their cost. */
export const priced: readonly Kind[] = ['rpc', 'rpc', 'batch', 'chat', 'stream', 'replay', 'refused', 'list']
const callers = ['c0', 'c1', 'c2']
const credit = 625_000n

/**
 * The transactions of an honest service in the order of sending, with a balance check of each caller before and after.
 */
export function history(options: History): readonly Transaction[] {
  const { seed, kinds = usual, gapMs = 400, pauses = true } = options
  const random = randomStream(seed, 'bank')
  const heads: { caller: string; sentMs: number; kind: Kind }[] = []
  for (const caller of callers) {
    let atMs = 100 + random.int(50)
    for (let index = 0; index < 60; index++) {
      const kind = kinds[random.int(kinds.length)] ?? 'rpc'
      heads.push({ caller, sentMs: atMs, kind })
      atMs += 1 + random.int(gapMs) + (pauses && random.next() < 0.08 ? 6000 : 0)
    }
  }
  const transactions: Transaction[] = []
  const add = (caller: string, sentMs: number, kind: Kind, of: Transaction | null) => {
    transactions.push(transaction(transactions.length, caller, sentMs, kind, of, random, options))
  }
  for (const caller of callers) add(caller, 0, 'balance-check', null)
  for (const { caller, sentMs, kind } of heads.toSorted((a, b) => a.sentMs - b.sentMs)) {
    const first = kind === 'replay' ? 'batch' : kind
    add(caller, sentMs, first, null)
    const original = transactions.at(-1)
    if (kind !== 'replay' || original === undefined) continue
    // Late, and sometimes from another account, where it is a normal request.
    if (random.next() < 0.3)
      add(callers[(callers.indexOf(caller) + 1) % 3] ?? caller, original.endMs, 'batch', original)
    else add(caller, original.endMs, 'replay', original)
  }
  const lastMs = Math.max(...transactions.map(each => Math.max(each.endMs, each.chargedMs)))
  for (const caller of callers) add(caller, lastMs + 5000, 'balance-check', null)
  return transactions
}

function transaction(
  id: number,
  caller: string,
  sentMs: number,
  kind: Kind,
  of: Transaction | null,
  random: Random,
  { onePrice = false, takesExact = false, settleMs = 990 }: History,
): Transaction {
  const arrivedMs = sentMs + 0.5 + random.next() * 60
  const headersMs = arrivedMs + 1 + random.next() * (kind === 'chat' ? 2000 : 60)
  const endMs = headersMs + (kind === 'stream' ? random.next() * 3000 : 0)
  const span = arrivedMs + 0.25
  // A request without a response may be charged long after it was cancelled.
  const chargedMs = span + random.next() * (endMs + (kind === 'lost' || kind === 'gateway' ? 4000 : settleMs) - span)
  const credits = onePrice ? 20n : BigInt(kind === 'rpc' ? 20 : 65 + random.int(3) * 20)
  const exact = kind === 'chat' || kind === 'stream' ? chatPrice(onePrice, random) : credits * credit
  const said = kind === 'chat' || kind === 'stream' ? exact : ((exact + 5_000n) / 10_000n) * 10_000n
  const base = { id, kind, caller, sentMs, arrivedMs, headersMs, endMs, chargedMs, group: of?.id ?? null }
  switch (kind) {
    case 'rpc':
    case 'batch':
    case 'chat':
    case 'stream':
      return { ...base, taken: takesExact ? exact : said, said }
    case 'lost':
    case 'gateway':
      return { ...base, taken: random.next() < 0.5 ? said : 0n, said: 0n }
    case 'replay':
      return { ...base, taken: 0n, said: of?.said ?? 0n }
    default:
      return { ...base, taken: 0n, said: 0n }
  }
}

const chatPrice = (onePrice: boolean, random: Random): bigint =>
  onePrice ? 12_500_000n : BigInt(100 + random.int(400)) * 500_000n

export function isCharged({ kind }: Transaction): boolean {
  return kind === 'rpc' || kind === 'batch' || kind === 'chat' || kind === 'stream'
}

export type Display = {
  /** Decimals of a balance. */
  readonly decimals?: number
  /** The balance in DIEM, which is spent first. */
  readonly diem?: bigint
  readonly usd?: bigint
  /** The balance shown to a request, instead of the one before it. */
  readonly shown?: (before: bigint, transaction: Transaction) => bigint
  /** What is held of the balance, and not shown, from the arrival of a request until it is charged. */
  readonly held?: (transaction: Transaction) => bigint
  /** Responses that show no balance. */
  readonly hidden?: (transaction: Transaction) => boolean
  /** Money that is added or taken without a request. */
  readonly movements?: readonly { readonly caller: string; readonly atMs: number; readonly amount: bigint }[]
}

const dollar = 10n ** 12n

/** The client's view of the transactions, in the order in which they end. */
export function observe(transactions: readonly Transaction[], display: Display = {}): readonly Observation[] {
  const { diem = 0n, usd = 10n * dollar, decimals = 12, shown = before => before, hidden = () => false } = display
  const { held = () => 0n } = display
  const left = new Map(callers.map(caller => [caller, { usd, diem }]))
  const balances = new Map<number, { usd: bigint; diem: bigint }>()
  const paidIn = new Map<number, 'usd' | 'diem'>()
  const events = [
    ...transactions.map(each => ({
      atMs: each.arrivedMs,
      run: () => {
        balances.set(each.id, { ...leftOf(each.caller) })
        leftOf(each.caller).usd -= held(each)
      },
    })),
    ...transactions.map(each => ({
      atMs: each.chargedMs,
      run: () => {
        leftOf(each.caller).usd += held(each)
        paidIn.set(each.id, take(each.caller, each.taken))
      },
    })),
    ...(display.movements ?? []).map(({ caller, atMs, amount }) => ({ atMs, run: () => take(caller, -amount) })),
  ]
  for (const event of events.toSorted((a, b) => a.atMs - b.atMs)) event.run()

  return transactions
    .map(each => {
      const { usd: before = 0n, diem: diemBefore = 0n } = balances.get(each.id) ?? {}
      const headers = {
        'x-service-balance-usd': hidden(each) ? undefined : show(shown(before, each)),
        'x-service-balance-diem': hidden(each) ? undefined : show(diemBefore),
      }
      return seen(each, headers, paidIn.get(each.id) ?? 'usd')
    })
    .toSorted((a, b) => (a.endMs ?? 0) - (b.endMs ?? 0))

  function leftOf(caller: string) {
    const account = left.get(caller)
    if (account === undefined) throw new RangeError(`no caller ${caller}`)
    return account
  }
  function take(caller: string, amount: bigint): 'usd' | 'diem' {
    const account = leftOf(caller)
    const currency = amount > 0n && account.diem >= amount ? 'diem' : 'usd'
    account[currency] -= amount
    return currency
  }
  function show(amount: bigint): string {
    const unit = 10n ** BigInt(12 - decimals)
    return formatPico((amount / unit) * unit)
  }
}

function seen(
  transaction: Transaction,
  headers: Readonly<Record<string, string | undefined>>,
  currency: 'usd' | 'diem',
): Observation {
  const { id, kind, caller, sentMs, headersMs, endMs, said, group } = transaction
  const cost = {
    ...rpcHeaders,
    'x-service-rpc-cost-usd': formatPico(said),
    'x-service-rpc-credits': String((said + 5_000n) / credit),
  }
  const base = { id, caller, dueMs: sentMs, sentMs, headersMs, endMs }
  const lost: Outcome = { kind: 'failed', reason: 'connection-lost', detail: '' }
  const answered = (request: RequestDescriptor, status: number, body: unknown, more = {}) =>
    observed(request, responseOf(status, body, { ...headers, ...more }), base)
  const role = group === null ? 'original' : kind === 'replay' ? 'duplicate' : 'other-caller'
  const replay = { group: group ?? id, role, concurrent: false } as const
  const chatBody = { cost: { usd: 0, diem: 0, [currency]: Number(formatPico(said)) } }
  switch (kind) {
    case 'rpc':
      return answered(singleDescriptor, 200, {}, cost)
    case 'batch':
      return answered({ ...batchDescriptor, replay }, 200, [], cost)
    case 'replay':
      return answered({ ...batchDescriptor, replay }, 200, [], { ...cost, 'idempotent-replayed': 'true' })
    case 'chat':
    case 'stream':
      return answered({ ...chatDescriptor, stream: kind === 'stream' }, 200, chatBody)
    case 'refused':
      return answered(chatDescriptor, id % 2 === 0 ? 429 : 402, { error: 'No' })
    case 'gateway':
      return answered(chatDescriptor, 504, '<html>', { 'x-service-version': undefined })
    case 'lost':
      return observed(chatDescriptor, null, { ...base, headersMs: null, outcome: lost })
    case 'list':
      return answered({ kind: 'models' }, 200, {})
    case 'balance-check':
      return answered({ kind: 'rate-limits' }, 200, {})
  }
}

/** Requests that do not overlap. */
export const alone = (
  kinds: readonly Transaction['kind'][],
  change: (each: Transaction) => Transaction = each => each,
  display: Display = {},
) =>
  observe(
    ['balance-check' as const, ...kinds, 'balance-check' as const].map((kind, id): Transaction => {
      const sentMs = id * 10_000
      const amount = kind === 'rpc' ? 12_500_000n : kind === 'batch' || kind === 'replay' ? 40_630_000n : 0n
      const instants = {
        sentMs,
        arrivedMs: sentMs + 1,
        headersMs: sentMs + 9,
        endMs: sentMs + 9,
        chargedMs: sentMs + 5,
      }
      const taken = kind === 'replay' ? 0n : amount
      const group = kind === 'replay' ? id - 1 : null
      return change({ ...instants, id, kind, caller: 'c0', taken, said: amount, group })
    }),
    display,
  )
