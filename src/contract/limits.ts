import { ownMember } from '../lib/json.ts'
import type { AccountTier, Contract, ModelTier, ResourceLimit } from './contract.ts'
import { notPromised } from './promises.ts'
import { type Source, sourceOfValue } from './sources.ts'

/** A limit of one caller. */
export type LimitScope =
  | { readonly kind: 'chat-requests' | 'chat-tokens'; readonly model: string; readonly modelTier: ModelTier | null }
  | { readonly kind: 'rpc-requests' }
  | { readonly kind: 'resource-requests'; readonly limit: ResourceLimit }

/** The name of a limit in plans and reports: `chat:<model>`, `chat:<model> tokens`, `rpc`, `image` and so on. */
export function limitName(scope: LimitScope): string {
  if (scope.kind === 'rpc-requests') return 'rpc'
  if (scope.kind === 'resource-requests') return scope.limit
  return scope.kind === 'chat-requests' ? `chat:${scope.model}` : `chat:${scope.model} tokens`
}

/** The limit by the document or the profile, per minute; null if there is none, or if the target does not promise it. */
export function statedLimit(scope: LimitScope, accountTier: AccountTier, contract: Contract): number | null {
  if (!isPromised(scope, contract)) return null
  if (scope.kind === 'rpc-requests') return contract.rpc.requestsPerMinute
  if (scope.kind === 'resource-requests') return contract.resourceLimits[accountTier][scope.limit]
  if (scope.modelTier === null) return null
  const { requestsPerMinute, tokensPerMinute } = contract.accounts[accountTier][scope.modelTier]
  return scope.kind === 'chat-requests' ? requestsPerMinute : tokensPerMinute
}

/** The source of a stated limit. */
export function sourceOfLimit(scope: LimitScope, accountTier: AccountTier, contract: Contract): Source {
  if (scope.kind === 'rpc-requests') return sourceOfValue(contract, 'rpc.requestsPerMinute')
  if (scope.kind === 'resource-requests') return sourceOfValue(contract, `resourceLimits.${accountTier}.${scope.limit}`)
  const field = scope.kind === 'chat-requests' ? 'requestsPerMinute' : 'tokensPerMinute'
  return sourceOfValue(contract, `accounts.${accountTier}.${scope.modelTier}.${field}`)
}

/** The limit that the target published, per minute; null if it published none. */
export function publishedLimit(scope: LimitScope, contract: Contract): number | null {
  for (const name of publishedNames(scope, contract)) {
    const limit = ownMember(contract.limits.published, name)
    if (limit !== null) return limit
  }
  return null
}

/** A list names the limit of a resource by its type or by its model. */
function publishedNames(scope: LimitScope, { resources }: Contract): readonly string[] {
  const name = limitName(scope)
  if (scope.kind !== 'resource-requests') return [name]
  const models = Object.values(resources).flatMap(({ draws, body }) => (draws === scope.limit ? [body?.model] : []))
  return [name, ...[scope.limit, ...models].map(model => `chat:${model}`)]
}

/**
 * Whether the list of limits that the target publishes says nothing about this resource: it was read, and each of its
 * entries is about a text model or the RPC proxy.
 */
export function isListSilent(scope: LimitScope, contract: Contract): boolean {
  const { models, sources, limits } = contract
  const names = Object.keys(limits.published)
  const known = new Set(models.map(({ id }) => id))
  const isOfOthers = (name: string) =>
    known.has(name.replace(/^chat:/, '').replace(/ tokens$/, '')) || /rpc/i.test(name)
  return (
    sources['limits.published'] === 'target' &&
    names.length > 0 &&
    publishedLimit(scope, contract) === null &&
    names.every(isOfOthers)
  )
}

/**
 * The limit that responses are judged by; null: as responses state it. What the target publishes is canonical. Without
 * that, a limit of the document is a default, and only one of a profile is asserted.
 */
export function judgedLimit(scope: LimitScope, accountTier: AccountTier, contract: Contract): number | null {
  const published = contract.limits.judgedBy === 'target' ? publishedLimit(scope, contract) : null
  if (published !== null) return published
  return isAsserted(scope, accountTier, contract) ? statedLimit(scope, accountTier, contract) : null
}

const isAsserted = (scope: LimitScope, accountTier: AccountTier, contract: Contract): boolean =>
  contract.limits.judgedBy === 'documented' ||
  (sourceOfLimit(scope, accountTier, contract) === 'profile' && hasKnownTier(scope, contract))

/** A call may ask for a tier that the target does not state. Then the limits of that tier only pace the load. */
export const hasKnownTier = (scope: LimitScope, { models }: Contract): boolean =>
  !('model' in scope) || models.some(({ id, tier }) => id === scope.model && tier === scope.modelTier)

/** Whether the target promises any clause about a limit. */
function isPromised({ kind }: LimitScope, contract: Contract): boolean {
  const missing = notPromised(contract)
  const [first, second] = clausesOf[kind]
  return !missing.includes(first) || !missing.includes(second)
}

const clausesOf = {
  'chat-requests': ['limit.requests.limit', 'limit.requests.enforced'],
  'rpc-requests': ['limit.requests.limit', 'limit.requests.enforced'],
  'chat-tokens': ['limit.tokens.limit', 'limit.tokens.enforced'],
  'resource-requests': ['limit.resources', 'limit.requests.enforced'],
} as const
