import type { AccountTier, Contract } from '../contract/contract.ts'
import { judgedLimit, type LimitScope, statedLimit } from '../contract/limits.ts'
import { memoizeLast } from '../lib/memoize.ts'
import { numberIn } from '../lib/numbers.ts'

/** The numbers in the headers about one limit, as they are; null if a header is missing or no number. */
export type StatedLimit = {
  readonly limit: number | null
  readonly remaining: number | null
  readonly reset: number | null
}

type Headers = Readonly<Record<string, string>>

/** What a response states about requests and about tokens. Several judges read it, so it is parsed once. */
export const statedRequests = memoizeLast(
  (headers: Headers): StatedLimit => ({
    limit: numberIn(headers['x-ratelimit-limit-requests']),
    remaining: numberIn(headers['x-ratelimit-remaining-requests']),
    reset: numberIn(headers['x-ratelimit-reset-requests']),
  }),
)
export const statedTokens = memoizeLast(
  (headers: Headers): StatedLimit => ({
    limit: numberIn(headers['x-ratelimit-limit-tokens']),
    remaining: numberIn(headers['x-ratelimit-remaining-tokens']),
    reset: numberIn(headers['x-ratelimit-reset-tokens']),
  }),
)

/** Limits of one family have the same scope. */
export type LimitFamily = 'chat' | 'rpc' | 'resources' | 'control'

/** The limits that a request is judged by. A number is null if only the responses state it. */
export type ApplicableLimit = {
  /** `chat:<model>`, `rpc`, `image`, ... or `control`. */
  readonly name: string
  readonly family: LimitFamily
  /**
   * For each scope that the limits of the family may have, the counter of the request; null: it is open which. Requests
   * of one caller and one counter share a window. All limits of a family have the same number of them.
   */
  readonly counters: readonly (string | null)[]
  /** The counter of the smallest of these scopes. */
  readonly finest: string
  readonly tier: string
  readonly requestsPerMinute: number | null
  readonly tokensPerMinute: number | null
  /** The same by the document or the profile, which the target may replace. */
  readonly stated: { readonly requestsPerMinute: number | null; readonly tokensPerMinute: number | null }
}

/** What decides about the limit of a request, besides the request itself. */
export type LimitedCaller = {
  readonly accountTier: AccountTier
  /** Missing: it has API keys. */
  readonly chain?: string | undefined
  readonly response: { readonly headers: Headers } | null
}

/**
 * `byScope`: the counter in each scope of the family, the smallest scope last. The scope of most services is the smallest
 * for chat, and the largest for all others.
 */
export function countersOf<Scope extends string>(
  family: LimitFamily,
  scope: Scope | null,
  byScope: Readonly<Record<Scope, string | null>>,
): Pick<ApplicableLimit, 'family' | 'counters' | 'finest'> {
  const all = Object.values<string | null>(byScope)
  const counters = scope !== null ? [byScope[scope]] : family === 'chat' ? all.toReversed() : all
  const [smallest] = scope !== null ? counters : all.slice(-1)
  return { family, counters, finest: smallest ?? family }
}

export function limitsOf(
  requests: LimitScope,
  tokens: LimitScope | null,
  accountTier: AccountTier,
  contract: Contract,
) {
  const by = (limit: typeof statedLimit) => ({
    requestsPerMinute: limit(requests, accountTier, contract),
    tokensPerMinute: tokens === null ? null : limit(tokens, accountTier, contract),
  })
  return { ...by(judgedLimit), stated: by(statedLimit) }
}

/** The document states neither a limit of these requests nor which of them share it. */
export function controlLimit(endpoint: string | null, tier: AccountTier): ApplicableLimit {
  const unknown = { requestsPerMinute: null, tokensPerMinute: null }
  const counters = countersOf('control', null, { all: 'control', one: endpoint && `control:${endpoint}` })
  return { name: 'control', tier, ...counters, ...unknown, stated: unknown }
}
