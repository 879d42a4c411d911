import {
  type AccountTier,
  type Contract,
  type ModelTier,
  type ResourceLimit,
  resourceOf,
} from '../contract/contract.ts'
import { judgedLimit, type LimitScope, statedLimit } from '../contract/limits.ts'
import type { Probe } from '../contract/probe.ts'
import { probeOf } from '../contract/probes.ts'
import { memoizeLast } from '../lib/memoize-last.ts'
import type { Observation } from './observation.ts'

/** The limits that a request is judged by. A number is null if only the responses state it. */
export type ApplicableLimit = {
  /** `chat:<model>`, `rpc`, `image`, ... or `control`. Requests of one caller and one scope share a window. */
  readonly name: string
  readonly tier: string
  readonly requestsPerMinute: number | null
  readonly tokensPerMinute: number | null
  /** The same by the document or the profile, which the target may replace. */
  readonly stated: { readonly requestsPerMinute: number | null; readonly tokensPerMinute: number | null }
}

/** The limit of the request of an observation; null if it needs no key. */
export const applicableLimit = memoizeLast(
  ({ request, accountTier }: Observation, contract: Contract): ApplicableLimit | null => {
    switch (request.kind) {
      case 'chat':
        return ofChat(request.model, request.modelTier, accountTier, contract)
      case 'rpc':
        return ofRpc(accountTier, contract)
      case 'rate-limits':
      case 'rate-limit-logs':
        return ofControl(accountTier)
      case 'resource':
        return ofResource(resourceOf(contract, request.resource)?.draws ?? null, accountTier, contract)
      case 'probe':
        return ofProbe(probeOf(request.probe).draws, accountTier, contract)
      case 'models':
      case 'networks':
      case 'top-up':
      case 'wallet-balance':
        return null
    }
  },
)

/** The limits of the chat models of a contract by model and tier, each looked up once. */
const chatLimitsOf = memoizeLast((_: Contract) => new Map<string, Map<string, ApplicableLimit>>())

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
    limit = { name: `chat:${model}`, tier, ...limits }
    known.set(model, ofModel.set(tier, limit))
  }
  return limit
}

function limitsOf(requests: LimitScope, tokens: LimitScope | null, accountTier: AccountTier, contract: Contract) {
  const by = (limit: typeof statedLimit) => ({
    requestsPerMinute: limit(requests, accountTier, contract),
    tokensPerMinute: tokens === null ? null : limit(tokens, accountTier, contract),
  })
  return { ...by(judgedLimit), stated: by(statedLimit) }
}

const ofRpc = memoizeLast(
  (tier: AccountTier, contract: Contract): ApplicableLimit => ({
    name: 'rpc',
    tier,
    ...limitsOf({ kind: 'rpc-requests' }, null, tier, contract),
  }),
)

function ofControl(tier: AccountTier): ApplicableLimit {
  const unknown = { requestsPerMinute: null, tokensPerMinute: null }
  return { name: 'control', tier, ...unknown, stated: unknown }
}

function ofResource(limit: ResourceLimit | null, tier: AccountTier, contract: Contract): ApplicableLimit {
  if (limit === null) return ofControl(tier)
  return { name: limit, tier, ...limitsOf({ kind: 'resource-requests', limit }, null, tier, contract) }
}

function ofProbe(draws: Probe['draws'], tier: AccountTier, contract: Contract): ApplicableLimit | null {
  const [model] = contract.models
  switch (draws) {
    case 'chat':
      return model === undefined ? null : ofChat(model.id, model.tier, tier, contract)
    case 'rpc':
      return ofRpc(tier, contract)
    case 'control':
      return ofControl(tier)
    case 'embedding':
      return ofResource(draws, tier, contract)
    case null:
      return null
  }
}
