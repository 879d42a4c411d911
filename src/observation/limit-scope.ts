import {
  type AccountTier,
  type Contract,
  type ModelTier,
  type ResourceLimit,
  resourceOf,
} from '../contract/contract.ts'
import type { Probe } from '../contract/probe.ts'
import { probeOf } from '../contract/probes.ts'
import { memoizeLast } from '../lib/memoize-last.ts'
import type { Observation } from './observation.ts'

/** The documented limits of a request. A number is null if it is not documented. */
export type ApplicableLimit = {
  /** `chat:<model>`, `rpc`, `image`, ... or `control`. Requests of one caller and one scope share a window. */
  readonly name: string
  readonly tier: string
  readonly requestsPerMinute: number | null
  readonly tokensPerMinute: number | null
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
        return null
    }
  },
)

function ofChat(
  model: string,
  modelTier: ModelTier,
  accountTier: AccountTier,
  { accounts }: Contract,
): ApplicableLimit {
  const { requestsPerMinute, tokensPerMinute } = accounts[accountTier][modelTier]
  return { name: `chat:${model}`, tier: `${accountTier} ${modelTier}`, requestsPerMinute, tokensPerMinute }
}

function ofRpc(tier: AccountTier, { rpc }: Contract): ApplicableLimit {
  return { name: 'rpc', tier, requestsPerMinute: rpc.requestsPerMinute, tokensPerMinute: null }
}

function ofControl(tier: AccountTier): ApplicableLimit {
  return { name: 'control', tier, requestsPerMinute: null, tokensPerMinute: null }
}

function ofResource(limit: ResourceLimit | null, tier: AccountTier, { resourceLimits }: Contract): ApplicableLimit {
  if (limit === null) return ofControl(tier)
  return { name: limit, tier, requestsPerMinute: resourceLimits[tier][limit], tokensPerMinute: null }
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
