import type { Contract } from '../contract/contract.ts'
import type { Account, FailureRecord, Refusal, Window } from './account.ts'
import type { Behaviour } from './behavior.ts'
import { type Reply, refuse, type Visit } from './message.ts'

/** What a scope allows in one window; no token limit where nothing is generated. */
export type ScopeLimits = { readonly requests: number; readonly tokens: number | null }
/** A request in its window. */
export type Entry = { readonly admitted: boolean; readonly window: Window; readonly limits: ScopeLimits }
export type Limiter = {
  /** Counts the request where the window admits it, and writes the limit headers in either case. */
  readonly enter: (visit: Visit, account: Account, scope: string, limits: ScopeLimits) => Entry
  /** Sets tokens aside; false, and the request no longer counts, where they do not fit. */
  readonly reserve: (visit: Visit, entry: Entry, tokens: number) => boolean
  /** `modelId`: what the log calls that which was asked for. `limit`: which one is reached, requests where it is left out. */
  readonly reject: (
    visit: Visit,
    modelId: string,
    more?: Readonly<Record<string, unknown>>,
    limit?: Refusal['limit'],
  ) => Reply
}
export function limiter(contract: Contract, behaviour: Behaviour): Limiter {
  const { windowMs, requestsReset, tokensReset, tokenHeaders } = contract.limits

  const writeHeaders = ({ headers, arrivedMs }: Visit, { window, limits }: Pick<Entry, 'window' | 'limits'>) => {
    const { resetMs } = window
    headers['x-ratelimit-limit-requests'] = String(limits.requests)
    headers['x-ratelimit-remaining-requests'] = String(Math.max(0, limits.requests - window.requests))
    headers['x-ratelimit-reset-requests'] = String(
      requestsReset === 'unix-seconds' ? Math.ceil(resetMs / 1000) : resetMs,
    )
    if (limits.tokens === null || !tokenHeaders) return
    headers['x-ratelimit-limit-tokens'] = String(limits.tokens)
    headers['x-ratelimit-remaining-tokens'] = String(Math.max(0, limits.tokens - window.tokens))
    headers['x-ratelimit-reset-tokens'] = String(
      tokensReset === 'seconds' ? Math.max(1, Math.ceil((resetMs - arrivedMs) / 1000)) : resetMs,
    )
  }

  return {
    enter: (visit, account, scope, limits) => {
      const key = behaviour.scope(scope, visit)
      const previous = account.windows.get(key)
      const window = behaviour.windowAt(previous, visit.arrivedMs, windowMs)
      if (window !== previous) account.windows.set(key, window)
      const admitted = behaviour.admits(window, limits.requests)
      if (admitted) window.requests++
      writeHeaders(visit, { window, limits })
      return { admitted, window, limits }
    },
    reserve: (visit, entry, tokens) => {
      const { window, limits } = entry
      const fits = limits.tokens === null || behaviour.admitsTokens(window, limits.tokens, tokens)
      if (fits) window.tokens += tokens
      else window.requests--
      writeHeaders(visit, entry)
      return fits
    },
    reject: (visit, modelId, more = {}, limit = 'RPM') => {
      const { account, arrivedMs } = visit
      if (account !== null) behaviour.logRefusal(account.refusals, { modelId, limit, atMs: arrivedMs })
      visit.headers['x-ratelimit-type'] = 'user'
      return refuse(visit, 429, 'Rate limit exceeded', more)
    },
  }
}
export type AbuseGuard = {
  /** The answer to a caller who is blocked; null to one who is not. */
  readonly stop: (visit: Visit, account: Account) => Reply | null
  /** Takes down what was answered. Refusals are not kept waiting, so that a request fails as it arrives. */
  readonly record: (visit: Visit, account: Account, reply: Reply, isBlocked: boolean) => void
}
export function abuseGuard({ abuse }: Contract, behaviour: Behaviour): AbuseGuard {
  const recordOf = (visit: Visit, account: Account): FailureRecord => {
    const scope = behaviour.failureScope(visit)
    const known = account.records.get(scope)
    if (known !== undefined) return known
    const record: FailureRecord = { failedMs: [], blockedUntilMs: 0 }
    account.records.set(scope, record)
    return record
  }

  return {
    stop: (visit, account) => {
      const record = recordOf(visit, account)
      if (visit.arrivedMs >= record.blockedUntilMs) return null
      record.blockedUntilMs = behaviour.blockedUntilMs(record.blockedUntilMs, visit.arrivedMs)
      return refuse(visit, abuse.status, behaviour.blockMessage)
    },
    record: (visit, account, { status }, isBlocked) => {
      if (!behaviour.isFailure(status) || (isBlocked && !behaviour.blockedCount)) return
      const { arrivedMs } = visit
      const record = recordOf(visit, account)
      record.failedMs = [...record.failedMs.filter(atMs => atMs > arrivedMs - abuse.windowMs), arrivedMs]
      if (behaviour.toleratesFailures(record.failedMs.length)) return
      record.blockedUntilMs = arrivedMs + behaviour.blockMs
      record.failedMs = []
    },
  }
}
