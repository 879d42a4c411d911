import {
  type AccountTier,
  type Contract,
  type ModelTier,
  type ResourceLimit,
  resourceOf,
} from '../contract/contract.ts'
import type { Probe } from '../contract/probe.ts'
import { probeOf } from '../contract/probes.ts'
import { toObject } from '../lib/json.ts'
import { memoizeLast } from '../lib/memoize-last.ts'
import type { Answer, Observation } from './observation.ts'

/** The documented limits that a request draws on; null where no number is documented. */
export type Scope = {
  /** `chat:<model>`, `rpc`, `image`, ... or `control`: requests of one caller and one scope share their windows. */
  readonly name: string
  readonly tier: string
  readonly requestsPerMinute: number | null
  readonly tokensPerMinute: number | null
}

export const scopeOf = memoizeLast(({ asked, accountTier }: Observation, contract: Contract): Scope | null => {
  switch (asked.kind) {
    case 'chat':
      return ofChat(asked.model, asked.modelTier, accountTier, contract)
    case 'rpc':
      return ofRpc(accountTier, contract)
    case 'rate-limits':
    case 'rate-limit-logs':
      return ofControl(accountTier)
    case 'resource':
      return ofResource(resourceOf(contract, asked.resource)?.draws ?? null, accountTier, contract)
    case 'probe':
      return ofProbe(probeOf(asked.probe).draws, accountTier, contract)
    case 'models':
    case 'networks':
      return null
  }
})

function ofChat(model: string, modelTier: ModelTier, accountTier: AccountTier, { accounts }: Contract): Scope {
  const { requestsPerMinute, tokensPerMinute } = accounts[accountTier][modelTier]
  return { name: `chat:${model}`, tier: `${accountTier} ${modelTier}`, requestsPerMinute, tokensPerMinute }
}

function ofRpc(tier: AccountTier, { rpc }: Contract): Scope {
  return { name: 'rpc', tier, requestsPerMinute: rpc.requestsPerMinute, tokensPerMinute: null }
}

function ofControl(tier: AccountTier): Scope {
  return { name: 'control', tier, requestsPerMinute: null, tokensPerMinute: null }
}

function ofResource(limit: ResourceLimit | null, tier: AccountTier, { resourceLimits }: Contract): Scope {
  if (limit === null) return ofControl(tier)
  return { name: limit, tier, requestsPerMinute: resourceLimits[tier][limit], tokensPerMinute: null }
}

function ofProbe(draws: Probe['draws'], tier: AccountTier, contract: Contract): Scope | null {
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

/**
 * The answer, if it is one that the service gave to a caller that it knew: what the document says of "authenticated"
 * answers holds for it. A 5xx may come from something in front of the service, so it is not held to that.
 */
export function authenticatedAnswer({ asked, answer }: Observation): Answer | null {
  if (answer === null || answer.status === 401 || answer.status >= 500) return null
  return asked.kind === 'models' || asked.kind === 'networks' || asked.kind === 'probe' ? null : answer
}

/** The body as a JSON object; null when it is none. */
export function jsonObject(answer: Answer | null): Readonly<Record<string, unknown>> | null {
  if (answer?.body.kind !== 'json') return null
  return toObject(answer.body.value)
}

/** Whether an RPC answer says of itself that it is a replay. */
export const isReplayed = (answer: Answer | null): boolean => answer?.headers['idempotent-replayed'] === 'true'
