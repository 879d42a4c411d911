import type { AccountTier, Contract } from '../contract/contract.ts'
import type { FurtherLimit } from '../contract/limit-headers/further-limits.ts'
import {
  type LimitStatement,
  type LimitStatements,
  limitHeadersOf,
  readHeaderText,
} from '../contract/limit-headers/limit-headers.ts'
import { ownPolicy, statesOtherPolicy } from '../contract/limit-headers/policies.ts'
import { countersOf, type Draw, type LimiterName, limiterOf } from '../contract/limiters.ts'
import { judgedLimit, statedLimit } from '../contract/limits.ts'
import { memoizeByObject, memoizeLast } from '../lib/memoize.ts'

/** The numbers that a response states about one limit; null if one is missing or has another form. */
export type StatedLimit = {
  readonly limit: number | null
  readonly remaining: number | null
  /** In milliseconds, from now or since 1970, as the form of its header has it. */
  readonly reset: number | null
}

type Headers = Readonly<Record<string, string>>

const partsIn = (at: LimitStatements, headers: Headers, windowMs: number): StatedLimit => ({
  limit: readPolicy(at.limit, headers, windowMs),
  remaining: readPolicy(at.remaining, headers, windowMs),
  reset: readPolicy(at.reset, headers, windowMs),
})

function statedIn(at: LimitStatements, headers: Headers, windowMs: number): StatedLimit {
  const stated = partsIn(at, headers, windowMs)
  return statesOtherPolicy(at, headers, windowMs) ? { ...stated, remaining: null, reset: null } : stated
}

/** The number of the policy of the window, if a header has several. */
function readPolicy(at: LimitStatement | null, headers: Headers, windowMs: number): number | null {
  const text = at === null ? undefined : ownPolicy(at, headers, windowMs)
  return at === null || text === undefined ? null : readHeaderText(at, text)
}

/** What a response states about requests and about tokens. Several judges read it, so it is parsed once. */
export const statedRequests = memoizeLast((headers: Headers, { limits }: Pick<Contract, 'limits'>) =>
  statedIn(limitHeadersOf(limits).requests, headers, limits.windowMs),
)
export const statedTokens = memoizeLast((headers: Headers, { limits }: Pick<Contract, 'limits'>) =>
  statedIn(limitHeadersOf(limits).tokens, headers, limits.windowMs),
)

/** What a response states about a further limit. */
export const statedFurther = (headers: Headers, { at, windowMs }: FurtherLimit): StatedLimit =>
  partsIn(at, headers, windowMs)

/** The limits that a request is judged by. A number is null if only the responses state it. */
export type ApplicableLimit = {
  /** `chat:<model>`, `rpc`, `image`, ... or `control`. */
  readonly name: string
  readonly limiter: LimiterName
  /** Its name in the log of rejected requests; null: open. */
  readonly loggedAs: string | null
  /**
   * For each scope that the limits of the limiter may have, the counter of the request; null: it is open which. Requests
   * of one caller and one counter share a window. All limits of a limiter have the same number of them.
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

const known = memoizeByObject((_: Contract) => new Map<string, ApplicableLimit>())

/** The limits that a request draws on, each looked up once for a contract. */
export function drawnLimit(draw: Draw, accountTier: AccountTier, contract: Contract): ApplicableLimit {
  let key: string = accountTier
  // For each request of a run, so without a list of the values.
  for (const name in draw) key += ` ${draw[name as keyof Draw]}`
  const ofContract = known(contract)
  const limit = ofContract.get(key) ?? limitOfDraw(draw, accountTier, contract)
  ofContract.set(key, limit)
  return limit
}

function limitOfDraw(draw: Draw, accountTier: AccountTier, contract: Contract): ApplicableLimit {
  const by = (limit: typeof statedLimit) => ({
    requestsPerMinute: limit({ ...draw, unit: 'requests' }, accountTier, contract),
    tokensPerMinute: limit({ ...draw, unit: 'tokens' }, accountTier, contract),
  })
  return {
    name: limiterOf(draw).name(draw),
    limiter: draw.limiter,
    loggedAs: limiterOf(draw).loggedAs?.(draw, contract) ?? null,
    ...countersOf(draw, contract),
    tier: draw.limiter === 'chat' && draw.modelTier !== null ? `${accountTier} ${draw.modelTier}` : accountTier,
    ...by(judgedLimit),
    stated: by(statedLimit),
  }
}
