import type { AccountTier } from '../contract/contract.ts'

/** The account that a key belongs to. */
export type AccountHolder = {
  readonly tier: AccountTier
  readonly name: string
  /** usual: a paying user with a balance · 'free-user': not a paying user · zero-balance: the balance is used up */
  readonly means: 'usual' | 'free-user' | 'zero-balance'
  /** The address of the wallet that it belongs to, if it has no keys. */
  readonly wallet?: string
}

export type Account = AccountHolder & {
  picoUsd: bigint
  picoDiem: bigint
  /** Completions so far. The count names the random stream of the next one, so that accounts are independent. */
  completions: number
  /** By scope. */
  readonly windows: Map<string, Window>
  /** Failures by the scope of the abuse block. */
  readonly records: Map<string, FailureRecord>
  /** The last requests rejected by a limit, oldest first. */
  readonly rejections: LimitRejection[]
  /** The maximum price of the requests that an upstream works on. It cannot be spent twice. */
  heldPico: bigint
  /** The completions in progress, and those that were. */
  slots: readonly Slot[]
  /** Charges that fall due later: a completion is billed when it is complete. */
  deferred: readonly DeferredCharge[]
}

/** What a completion occupies until its end, in Unix milliseconds. */
export type Slot = { endMs: number }

/** One request is charged in one currency. A DIEM is worth a dollar, so an amount is the same number in both. */
type Charge = { readonly currency: 'usd' | 'diem'; readonly pico: bigint }

/** Recent failures and the block that they caused, in Unix milliseconds. */
export type FailureRecord = { failedMs: readonly number[]; blockedUntilMs: number; blocks: number }

export type DeferredCharge = {
  /** Unix milliseconds. */
  readonly dueMs: number
  readonly charge: Charge
  /** Tokens that were reserved at admission and not generated. */
  readonly unusedTokens: number
  /** Returns them to their limits. */
  readonly giveBack: (tokens: number) => void
}

export function openAccount(caller: AccountHolder, picoUsd: bigint, picoDiem: bigint): Account {
  const empty = {
    ...caller,
    picoUsd: 0n,
    picoDiem: 0n,
    heldPico: 0n,
    slots: [],
    completions: 0,
    windows: new Map(),
    records: new Map(),
    rejections: [],
  }
  return { ...empty, ...(caller.means !== 'zero-balance' && { picoUsd, picoDiem }), deferred: [] }
}

/**
 * Applies the charges that are due. Calling this at the start of each request is enough: between two requests nothing
 * reads the account, so no timer is needed.
 */
export function applyDueCharges(account: Account, nowMs: number, apply: ApplyCharge): void {
  if (account.deferred.length === 0) return
  for (const { dueMs, charge, giveBack, unusedTokens } of account.deferred) {
    if (dueMs > nowMs) continue
    apply(account, charge)
    giveBack(unusedTokens)
  }
  account.deferred = account.deferred.filter(({ dueMs }) => dueMs > nowMs)
}

/** Subtracts a charge from the balance. */
export type ApplyCharge = (account: Account, charge: Charge) => void

export function charge(account: Account, { currency, pico }: Charge): void {
  if (currency === 'usd') account.picoUsd -= pico
  else account.picoDiem -= pico
}

/** DIEM is used first, if it covers the whole amount. */
export const currencyFor = (account: Account, pico: bigint): Charge['currency'] =>
  account.picoDiem > 0n && account.picoDiem >= pico ? 'diem' : 'usd'

/** Whether one of the balances covers an amount beside what is held for other requests, or due later. */
export function canPay({ picoUsd, picoDiem, heldPico, deferred }: Account, pico: bigint): boolean {
  const due = (currency: Charge['currency']) =>
    deferred.reduce((sum, { charge }) => sum + (charge.currency === currency ? charge.pico : 0n), heldPico + pico)
  return picoUsd >= due('usd') || picoDiem >= due('diem')
}

/**
 * `ref_<kind>_<name>`: every well-formed key belongs to an account, so a run needs no setup. The kind is an account tier,
 * `free-user` or `zero-balance`. Further keys of an account end in `_2`, `_3` and so on. Null for any other key.
 */
export function accountHolderOf(key: string): AccountHolder | null {
  const match = /^ref_(default|partner|free-user|zero-balance)_([A-Za-z0-9-]+)(?:_\d+)?$/.exec(key)
  if (match === null) return null
  const [, kind = '', name = ''] = match
  if (kind === 'default' || kind === 'partner') return { tier: kind, name, means: 'usual' }
  // The name of a usual account has no underscore, so the two cannot collide.
  return { tier: 'default', name: `${kind}_${name}`, means: kind === 'zero-balance' ? 'zero-balance' : 'free-user' }
}

/** The account of a wallet. The name of an account with keys has no underscore, so the two cannot collide. */
export const walletHolder = (address: string): AccountHolder => ({
  tier: 'default',
  name: `wallet_${address}`,
  means: 'usual',
  wallet: address,
})

/**
 * What is left in USD when the last request of an account is charged. `isDeferred`: whether its charge falls due later,
 * with those before it.
 */
export function remainingPicoUsd({ picoUsd, deferred }: Account, isDeferred: boolean): bigint {
  const lastMs = isDeferred ? (deferred.at(-1)?.dueMs ?? 0) : 0
  return deferred
    .filter(({ dueMs, charge }) => dueMs <= lastMs && charge.currency === 'usd')
    .reduce((left, { charge }) => left - charge.pico, picoUsd)
}

/** The bearer key of an Authorization header; null if there is none. */
export function bearerKey(authorization: string | undefined): string | null {
  return /^Bearer +(\S+) *$/i.exec(authorization ?? '')?.[1] ?? null
}

/** The limits of a scope in one window. `tokens` is null where nothing is generated. */
export type ScopeLimits = { readonly requests: number; readonly tokens: number | null }

/** A fixed rate-limit window: one scope of one account. */
export type Window = {
  readonly startMs: number
  /** A request at or after this instant belongs to the next window. */
  readonly resetMs: number
  requests: number
  /** Used by completed requests plus reserved by requests in flight. */
  tokens: number
}

/**
 * The window of a request at `nowMs`. A window opens with its first request, at the start of that request's second:
 * the reset header counts whole seconds and must be exact.
 */
export function windowAt(previous: Window | undefined, nowMs: number, windowMs: number): Window {
  if (previous !== undefined && nowMs < previous.resetMs) return previous
  const startMs = Math.floor(nowMs / 1000) * 1000
  return { startMs, resetMs: startMs + windowMs, requests: 0, tokens: 0 }
}

/** The same for windows that begin at multiples of their length, whenever their first request comes. */
export function alignedWindowAt(previous: Window | undefined, nowMs: number, windowMs: number): Window {
  if (previous !== undefined && nowMs < previous.resetMs) return previous
  const startMs = Math.floor(nowMs / windowMs) * windowMs
  return { startMs, resetMs: startMs + windowMs, requests: 0, tokens: 0 }
}

/** A request rejected by a limit. */
export type LimitRejection = {
  readonly modelId: string
  /** Requests or tokens per minute. */
  readonly limit: 'RPM' | 'TPM'
  readonly atMs: number
}

export type LogRow = {
  readonly apiKeyId: string
  readonly modelId: string
  readonly rateLimitTier: string
  readonly rateLimitType: string
  readonly timestamp: string
}
