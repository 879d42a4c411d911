import type { AccountTier } from '../contract/contract.ts'

/** Whose request it is. */
export type Caller = {
  readonly tier: AccountTier
  readonly name: string
  /** usual: it pays, and has money · unpaying: not a paying user · empty: its balance is used up */
  readonly means: 'usual' | 'unpaying' | 'empty'
}
export type Account = Caller & {
  picoUsd: bigint
  picoDiem: bigint
  /** Completions so far; names the random stream of the next one, so that callers do not disturb each other. */
  completions: number
  /** By scope. */
  readonly windows: Map<string, Window>
  /** By whom failures block. */
  readonly records: Map<string, FailureRecord>
  /** The last requests that were refused for a limit, in their order. */
  readonly refusals: Refusal[]
  /** What falls due later, because a completion is billed when it is complete. */
  unsettled: readonly Settlement[]
}
/** One request is charged in one currency. A DIEM is worth a dollar, so that an amount is the same number in both. */
export type Charge = { readonly currency: 'usd' | 'diem'; readonly pico: bigint }
/** The failures of late, and the block that they led to. All in Unix milliseconds. */
export type FailureRecord = { failedMs: readonly number[]; blockedUntilMs: number }
export type Settlement = {
  /** Unix time. */
  readonly dueMs: number
  readonly charge: Charge
  readonly window: Window
  /** Reserved at admission and not generated. */
  readonly unusedTokens: number
}
export function openAccount(caller: Caller, picoUsd: bigint, picoDiem: bigint): Account {
  const empty = {
    ...caller,
    picoUsd: 0n,
    picoDiem: 0n,
    completions: 0,
    windows: new Map(),
    records: new Map(),
    refusals: [],
  }
  return { ...empty, ...(caller.means !== 'empty' && { picoUsd, picoDiem }), unsettled: [] }
}
/**
 * Applies what has fallen due. Called at the start of each visit, which is soon enough: between two visits nobody sees
 * the account, and no timer has to be kept or cancelled.
 */
export function settle(account: Account, nowMs: number, spend: Spend): void {
  if (account.unsettled.length === 0) return
  for (const { dueMs, charge, window, unusedTokens } of account.unsettled) {
    if (dueMs > nowMs) continue
    spend(account, charge)
    window.tokens -= unusedTokens
  }
  account.unsettled = account.unsettled.filter(({ dueMs }) => dueMs > nowMs)
}
/** Takes a charge from the balance. */
export type Spend = (account: Account, charge: Charge) => void
export function spend(account: Account, { currency, pico }: Charge): void {
  if (currency === 'usd') account.picoUsd -= pico
  else account.picoDiem -= pico
}
/** DIEM is spent first, where it covers the whole amount. */
export const currencyFor = (account: Account, pico: bigint): Charge['currency'] =>
  account.picoDiem > 0n && account.picoDiem >= pico ? 'diem' : 'usd'
export const covers = (account: Account, pico: bigint): boolean => account.picoUsd >= pico || account.picoDiem >= pico
/**
 * `ref_<kind>_<name>`: every well-formed key is the key of an account, so that a run needs no preparation. The kind is
 * a tier of accounts, or `unpaying`, or `empty`; further keys of the account have `_2`, `_3` … behind them. Null for any
 * other key.
 */
export function callerOfKey(key: string): Caller | null {
  const match = /^ref_(default|partner|unpaying|empty)_([A-Za-z0-9-]+)(?:_\d+)?$/.exec(key)
  if (match === null) return null
  const [, kind = '', name = ''] = match
  if (kind === 'default' || kind === 'partner') return { tier: kind, name, means: 'usual' }
  // No name of a usual account has an underscore in it.
  return { tier: 'default', name: `${kind}_${name}`, means: kind === 'empty' ? 'empty' : 'unpaying' }
}
/** The key of an Authorization header; null where there is none, or where the header is of another scheme. */
export function bearerKey(authorization: string | undefined): string | null {
  return /^Bearer +(\S+) *$/i.exec(authorization ?? '')?.[1] ?? null
}
/** A fixed window of one scope of one account. */
export type Window = {
  readonly startMs: number
  /** A request at or past this instant is in the next window. */
  readonly resetMs: number
  requests: number
  /** Used by completed requests, reserved by those under way. */
  tokens: number
}
/**
 * The window that a request at `nowMs` falls into. A window opens with its first request, at the start of that
 * request's second: the reset stamp has whole seconds, and has to be exact.
 */
export function windowAt(previous: Window | undefined, nowMs: number, windowMs: number): Window {
  if (previous !== undefined && nowMs < previous.resetMs) return previous
  const startMs = Math.floor(nowMs / 1000) * 1000
  return { startMs, resetMs: startMs + windowMs, requests: 0, tokens: 0 }
}
/** A request that was refused for a limit. */
export type Refusal = {
  readonly modelId: string
  /** Requests or tokens a minute. */
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
