import { createLimiter, type Limiter } from './limiters.ts'
import type { Reply } from './reply.ts'
import type { Variant } from './variant.ts'

/** The numbers of the document, which tests shorten and liars change. Times are in milliseconds. */
export type Settings = {
  readonly windowMs: number
  readonly failures: number
  readonly failureWindowMs: number
  readonly blockMs: number
  readonly keptMs: number
  readonly batchItems: number
  readonly errorItemCredits: number
  /** Tokens per window of the models of tier M; null: as the tier says. */
  readonly tokensOfM: number | null
  /** Requests that are allowed above each limit, or below 0 those that are refused before it. */
  readonly excess: number
  /** The opening balance in nanodollars; null: as the variant has it. */
  readonly openingUsd: number | null
}

export const documentedSettings: Settings = {
  windowMs: 60_000,
  failures: 20,
  failureWindowMs: 30_000,
  blockMs: 30_000,
  keptMs: 86_400_000,
  batchItems: 100,
  errorItemCredits: 5,
  tokensOfM: null,
  excess: 0,
  openingUsd: null,
}

/** A response that was kept for an idempotency key. */
export type Kept = {
  readonly content: string
  readonly at: number
  /** null: its first request is not answered yet. */
  reply: Reply | null
  readonly done: Promise<void>
}

/** A row of the rate-limit log. */
export type LogRow = { readonly keyId: string; readonly subject: string; readonly kind: string; readonly at: number }

export type Account = {
  readonly id: string
  readonly pays: boolean
  /** Nanodollars. */
  usd: number
  diem: number
  readonly limiters: Map<string, Limiter>
  /** Requests above a limit that a liar allowed. */
  readonly overdrawn: Map<string, number>
  failures: number[]
  blockedUntil: number
  readonly kept: Map<string, Kept>
  readonly log: LogRow[]
  /** Hashes of long prompts. */
  readonly prompts: Set<string>
}

export function openAccount(id: string, { charges }: Variant, { openingUsd }: Settings): Account {
  const isEmpty = id === 'zero'
  const opening = { usd: [12_345_678_912, 0], 'diem-first': [9_000_000_123, 2_345_678], 'usd-first': [5_003_217, 7e9] }
  const [usd = 0, diem = 0] = isEmpty ? [] : openingUsd === null ? opening[charges] : [openingUsd, 0]
  return {
    id,
    pays: id !== 'free',
    usd,
    diem,
    limiters: new Map(),
    overdrawn: new Map(),
    failures: [],
    blockedUntil: 0,
    kept: new Map(),
    log: [],
    prompts: new Set(),
  }
}

/** A key looks like `hk-<account>-<number>`. A service that accepts any key makes one account of each. */
export function accountIdOf(key: string, { unknownKeys }: Variant): string | null {
  const own = /^hk-([a-z0-9]+)-\d+$/.exec(key)?.[1]
  if (own !== undefined) return own
  if (unknownKeys === 'rejected' || !/^[A-Za-z0-9_-]{12,}$/.test(key)) return null
  return key.includes('free-user') ? 'free' : key.includes('zero-balance') ? 'zero' : key
}

/** Takes the amount from the balances, in the order of the variant. Both parts, in nanodollars. */
export function charge(account: Account, amount: number, { charges }: Variant): { usd: number; diem: number } {
  const fromUsd = Math.min(amount, Math.max(0, account.usd))
  const fromDiem = Math.min(amount, Math.max(0, account.diem))
  const parts = {
    usd: { usd: amount, diem: 0 },
    'diem-first': { usd: amount - fromDiem, diem: fromDiem },
    'usd-first': { usd: fromUsd, diem: amount - fromUsd },
  }[charges]
  account.usd -= parts.usd
  account.diem -= parts.diem
  return parts
}

export const funds = ({ usd, diem }: Account): number => usd + diem

/** A decimal of nanodollars, cut to the decimals that the service shows. */
export function decimal(nanodollars: number, decimals: number): string {
  const sign = nanodollars < 0 ? '-' : ''
  const digits = Math.abs(Math.round(nanodollars)).toString().padStart(10, '0')
  const fraction = digits.slice(-9).padEnd(12, '0').slice(0, decimals)
  return `${sign}${digits.slice(0, -9)}.${fraction}`
}

/** Rounded to decimals, with halves up. */
export function rounded(nanodollars: number, decimals: number): string {
  const unit = 10 ** Math.max(0, 9 - decimals)
  return decimal(Math.floor(nanodollars / unit + 0.5) * unit, decimals)
}

export function limiterOf(
  account: Account,
  name: string,
  limit: number,
  { limiter, refusedCount }: Variant,
  { windowMs }: Settings,
): Limiter {
  const existing = account.limiters.get(name)
  if (existing !== undefined) return existing
  const created = createLimiter(limiter, { limit, windowMs, refusedCount })
  account.limiters.set(name, created)
  return created
}

/** Notes a response without a success status. More than the tolerated number of them block the account. */
export function noteFailure(account: Account, now: number, { failures, failureWindowMs, blockMs }: Settings): void {
  account.failures = [...account.failures.filter(at => at > now - failureWindowMs), now]
  if (account.failures.length > failures) {
    account.blockedUntil = now + blockMs
    account.failures = []
  }
}
