import {
  type AccountTier,
  type Contract,
  type Model,
  type ModelTier,
  type ResourceLimit,
  resourceOf,
} from '../contract/contract.ts'
import { hasKnownTier, judgedLimit, type LimitScope, statedLimit } from '../contract/limits.ts'
import type { Probe } from '../contract/probe.ts'
import { probeOf } from '../contract/probes.ts'
import { memoizeByObject, memoizeLast } from '../lib/memoize.ts'
import { numberIn } from '../lib/numbers.ts'
import type { Observation, ObservedResponse } from './observation.ts'

/** The numbers in the headers about one limit, as they are; null if a header is missing or no number. */
export type StatedLimit = {
  readonly limit: number | null
  readonly remaining: number | null
  readonly reset: number | null
}

type Headers = ObservedResponse['headers']

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

/** The limit of the request of an observation; null if it has no key. */
export const applicableLimit = memoizeLast(
  ({ request, accountTier, response, chain }: Observation, contract: Contract): ApplicableLimit | null => {
    switch (request.kind) {
      case 'chat':
        return withStatedTier(ofChat(request.model, request.modelTier, accountTier, contract), response)
      case 'rpc':
        return ofRpc(request.network, accountTier, contract)
      case 'rate-limits':
      case 'rate-limit-logs':
        return ofControl(request.kind, accountTier)
      case 'resource':
        return ofResource(
          request.resource,
          resourceOf(contract, request.resource)?.draws ?? null,
          accountTier,
          contract,
        )
      case 'probe':
        return ofProbe(probeOf(request.probe).draws, accountTier, contract)
      // A wallet asks for lists without a sign-in.
      case 'models':
      case 'networks':
        return chain === undefined ? ofControl(request.kind, accountTier) : null
      case 'top-up':
      case 'wallet-balance':
        return null
    }
  },
)

/** The limits of the chat models of a contract by model and tier, each looked up once. */
const chatLimitsOf = memoizeByObject((_: Contract) => new Map<string, Map<string, ApplicableLimit>>())

function ofChat(
  model: string,
  modelTier: ModelTier | null,
  accountTier: AccountTier,
  contract: Contract,
): ApplicableLimit {
  const tier = modelTier === null ? accountTier : `${accountTier} ${modelTier}`
  const known = chatLimitsOf(contract)
  const ofModel = known.get(model) ?? new Map<string, ApplicableLimit>()
  let limit = ofModel.get(tier)
  if (limit === undefined) {
    const requests = { kind: 'chat-requests', model, modelTier } as const
    const limits = limitsOf(requests, { ...requests, kind: 'chat-tokens' }, accountTier, contract)
    const ofTier = modelTier !== null && hasKnownTier(requests, contract) ? `chat:tier ${modelTier}` : null
    const name = `chat:${model}`
    limit = { name, tier, ...countersOf('chat', contract.limits.chatScope, { tier: ofTier, model: name }), ...limits }
    known.set(model, ofModel.set(tier, limit))
  }
  return limit
}

/** If the target does not state the tiers of its models, those for which it states the same limit may be of one tier. */
function withStatedTier(limit: ApplicableLimit, response: Observation['response']): ApplicableLimit {
  if (!limit.counters.includes(null)) return limit
  const perMinute = response && statedRequests(response.headers).limit
  const ofTier = perMinute === null ? null : `chat:tier of ${perMinute} per minute`
  return { ...limit, counters: limit.counters.map(counter => counter ?? ofTier) }
}

/**
 * `byScope`: the counter in each scope of the family, the smallest scope last. The scope of most services is the smallest
 * for chat, and the largest for all others.
 */
function countersOf<Scope extends string>(
  family: LimitFamily,
  scope: Scope | null,
  byScope: Readonly<Record<Scope, string | null>>,
): Pick<ApplicableLimit, 'family' | 'counters' | 'finest'> {
  const all = Object.values<string | null>(byScope)
  const counters = scope !== null ? [byScope[scope]] : family === 'chat' ? all.toReversed() : all
  const [smallest] = scope !== null ? counters : all.slice(-1)
  return { family, counters, finest: smallest ?? family }
}

function limitsOf(requests: LimitScope, tokens: LimitScope | null, accountTier: AccountTier, contract: Contract) {
  const by = (limit: typeof statedLimit) => ({
    requestsPerMinute: limit(requests, accountTier, contract),
    tokensPerMinute: tokens === null ? null : limit(tokens, accountTier, contract),
  })
  return { ...by(judgedLimit), stated: by(statedLimit) }
}

const rpcLimitsOf = memoizeByObject((_: Contract) => new Map<string, ApplicableLimit>())

/** `network`: null if it is unknown. */
function ofRpc(network: string | null, tier: AccountTier, contract: Contract): ApplicableLimit {
  const known = rpcLimitsOf(contract)
  const key = `${tier} ${network ?? ''}`
  const limit = known.get(key) ?? {
    name: 'rpc',
    tier,
    ...countersOf('rpc', contract.limits.rpcScope, { all: 'rpc', network: network && `rpc:${network}` }),
    ...limitsOf({ kind: 'rpc-requests' }, null, tier, contract),
  }
  known.set(key, limit)
  return limit
}

/** The document states neither a limit of these requests nor which of them share it. */
function ofControl(endpoint: string | null, tier: AccountTier): ApplicableLimit {
  const unknown = { requestsPerMinute: null, tokensPerMinute: null }
  const counters = countersOf('control', null, { all: 'control', one: endpoint && `control:${endpoint}` })
  return { name: 'control', tier, ...counters, ...unknown, stated: unknown }
}

function ofResource(
  resource: string,
  limit: ResourceLimit | null,
  tier: AccountTier,
  contract: Contract,
): ApplicableLimit {
  if (limit === null) return ofControl(resource, tier)
  const counters = countersOf('resources', contract.limits.resourceScope, {
    type: limit,
    resource: `${limit}:${resource}`,
  })
  return { name: limit, tier, ...counters, ...limitsOf({ kind: 'resource-requests', limit }, null, tier, contract) }
}

function ofProbe(draws: Probe['draws'], tier: AccountTier, contract: Contract): ApplicableLimit | null {
  const [model] = contract.models
  switch (draws) {
    case 'chat':
      return model === undefined ? null : ofChatProbe(model, tier, contract)
    case 'rpc':
      return ofRpc(null, tier, contract)
    case 'control':
      return ofControl(null, tier)
    case 'embedding':
      return ofResource('embeddings', draws, tier, contract)
    case null:
      return null
  }
}

/** A probe may name another model, and so another tier. */
function ofChatProbe({ id, tier }: Model, accountTier: AccountTier, contract: Contract): ApplicableLimit {
  const limit = ofChat(id, tier, accountTier, contract)
  return { ...limit, counters: limit.counters.map(counter => (counter === limit.name ? counter : null)) }
}
