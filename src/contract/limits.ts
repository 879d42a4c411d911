import { ownMember } from '../lib/json.ts'
import type { ClauseId } from './clauses.ts'
import type { AccountTier, Contract, ModelTier, ResourceLimit } from './contract.ts'
import { notPromised } from './promises.ts'
import { type Source, sourceOfValue } from './sources.ts'

/** A limit of one caller. */
export type LimitScope = ChatScope | RpcScope | ResourceScope
type ChatScope = {
  readonly kind: 'chat-requests' | 'chat-tokens'
  readonly model: string
  readonly modelTier: ModelTier | null
}
type RpcScope = { readonly kind: 'rpc-requests' }
type ResourceScope = { readonly kind: 'resource-requests'; readonly limit: ResourceLimit }

/** What the contract states about limits of one kind. */
type LimitKind<Scope> = {
  /** The name of the limit in plans and reports. */
  readonly name: (scope: Scope) => string
  /** The key of the contract that states the limit. */
  readonly key: (scope: Scope, accountTier: AccountTier) => string
  /** The limit per minute; null if the contract states none. */
  readonly stated: (scope: Scope, accountTier: AccountTier, contract: Contract) => number | null
  /** The target promises the limit if it promises one of these clauses. */
  readonly clauses: readonly ClauseId[]
}

const chatLimit = (
  field: 'requestsPerMinute' | 'tokensPerMinute',
  suffix: string,
  clauses: readonly ClauseId[],
): LimitKind<ChatScope> => ({
  name: ({ model }) => `chat:${model}${suffix}`,
  key: ({ modelTier }, accountTier) => `accounts.${accountTier}.${modelTier}.${field}`,
  stated: ({ modelTier }, accountTier, { accounts }) =>
    modelTier === null ? null : accounts[accountTier][modelTier][field],
  clauses,
})

const limitKinds = {
  'chat-requests': chatLimit('requestsPerMinute', '', ['limit.requests.limit', 'limit.requests.enforced']),
  'chat-tokens': chatLimit('tokensPerMinute', ' tokens', ['limit.tokens.limit', 'limit.tokens.enforced']),
  'rpc-requests': {
    name: () => 'rpc',
    key: () => 'rpc.requestsPerMinute',
    stated: (_scope, _accountTier, { rpc }) => rpc.requestsPerMinute,
    clauses: ['limit.requests.limit', 'limit.requests.enforced'],
  } satisfies LimitKind<RpcScope>,
  'resource-requests': {
    name: ({ limit }) => limit,
    key: ({ limit }, accountTier) => `resourceLimits.${accountTier}.${limit}`,
    stated: ({ limit }, accountTier, { resourceLimits }) => resourceLimits[accountTier][limit],
    clauses: ['limit.resources', 'limit.requests.enforced'],
  } satisfies LimitKind<ResourceScope>,
} satisfies Readonly<Record<LimitScope['kind'], unknown>>

const kindOf = (scope: LimitScope): LimitKind<LimitScope> => limitKinds[scope.kind] as LimitKind<LimitScope>

/** The name of a limit in plans and reports: `chat:<model>`, `chat:<model> tokens`, `rpc`, `image` and so on. */
export const limitName = (scope: LimitScope): string => kindOf(scope).name(scope)

/** The limit by the document or the profile, per minute; null if there is none, or if the target does not promise it. */
export function statedLimit(scope: LimitScope, accountTier: AccountTier, contract: Contract): number | null {
  return isPromised(scope, contract) ? kindOf(scope).stated(scope, accountTier, contract) : null
}

/** The source of a stated limit. */
export const sourceOfLimit = (scope: LimitScope, accountTier: AccountTier, contract: Contract): Source =>
  sourceOfValue(contract, kindOf(scope).key(scope, accountTier))

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
  if (!('limit' in scope)) return [name]
  const models = Object.values(resources).flatMap(({ draws, body }) => (draws === scope.limit ? [body?.model] : []))
  return [name, ...[scope.limit, ...models].map(model => `chat:${model}`)]
}

/**
 * Whether the published list of limits omits this resource: it was read, and each of its
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
 * The limit that responses are judged by; null: they are judged by the limit that they state. A published limit takes
 * precedence. Without one, only a limit of the profile is asserted, because the document states mere defaults.
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
function isPromised(scope: LimitScope, contract: Contract): boolean {
  const missing = notPromised(contract)
  return kindOf(scope).clauses.some(clause => !missing.includes(clause))
}
