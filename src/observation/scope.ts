import { type Contract, type ModelTier, type ResourceLimit, resourceOf } from '../contract/contract.ts'
import type { Probe } from '../contract/probe.ts'
import { probeOf } from '../contract/probes.ts'
import type { Answer, Observation } from './observation.ts'

/** The documented limits that a request draws on; null where no number is documented. */
export type Scope = {
  /** `chat:<model>`, `rpc`, `image`, ... or `control`: requests of one caller and one scope share their windows. */
  readonly name: string
  readonly tier: string
  readonly requestsPerMinute: number | null
  readonly tokensPerMinute: number | null
}

export function scopeOf({ asked, accountTier }: Observation, contract: Contract): Scope | null {
  const chat = (model: string, modelTier: ModelTier): Scope => {
    const { requestsPerMinute, tokensPerMinute } = contract.accounts[accountTier][modelTier]
    return { name: `chat:${model}`, tier: `${accountTier} ${modelTier}`, requestsPerMinute, tokensPerMinute }
  }
  const rpc = {
    name: 'rpc',
    tier: accountTier,
    requestsPerMinute: contract.rpc.requestsPerMinute,
    tokensPerMinute: null,
  }
  const control = { name: 'control', tier: accountTier, requestsPerMinute: null, tokensPerMinute: null }
  const ofResource = (limit: ResourceLimit | null | undefined): Scope =>
    limit === null || limit === undefined
      ? control
      : {
          name: limit,
          tier: accountTier,
          requestsPerMinute: contract.resourceLimits[accountTier][limit],
          tokensPerMinute: null,
        }
  const drawnBy = (draws: Probe['draws']): Scope | null => {
    const [model] = contract.models
    switch (draws) {
      case 'chat':
        return model === undefined ? null : chat(model.id, model.tier)
      case 'rpc':
        return rpc
      case 'control':
        return control
      case 'embedding':
        return ofResource(draws)
      case null:
        return null
    }
  }
  switch (asked.kind) {
    case 'chat':
      return chat(asked.model, asked.modelTier)
    case 'rpc':
      return rpc
    case 'rate-limits':
    case 'rate-limit-logs':
      return control
    case 'resource':
      return ofResource(resourceOf(contract, asked.resource)?.draws)
    case 'probe':
      return drawnBy(probeOf(asked.probe).draws)
    case 'models':
    case 'networks':
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
  return asObject(answer.body.value)
}

export const asObject = (value: unknown): Readonly<Record<string, unknown>> | null =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : null

/** Whether an RPC answer says of itself that it is a replay. */
export const isReplayed = (answer: Answer | null): boolean => answer?.headers['idempotent-replayed'] === 'true'
