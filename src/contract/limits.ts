import { ownMember } from '../lib/json.ts'
import type { AccountTier, Contract } from './contract.ts'
import { type Draw, hasKnownTier, limiterOf } from './limiters.ts'
import { notPromised } from './promises.ts'
import { type Source, sourceOfValue } from './sources.ts'

/** A limit of one caller: of requests, or of their tokens. */
export type LimitScope = Draw & { readonly unit: 'requests' | 'tokens' }

/** Whether a status may be that of a refusal by a limit. */
export const isLimitStatus = (status: number, { limits }: Pick<Contract, 'limits'>): boolean =>
  status === 429 || status === limits.status

/** The name of a limit in plans and reports: `chat:<model>`, `chat:<model> tokens`, `rpc`, `image` and so on. */
export const limitName = (scope: LimitScope): string =>
  `${limiterOf(scope).name(scope)}${scope.unit === 'tokens' ? ' tokens' : ''}`

/** The limit by the document or the profile, per minute; null if there is none. */
export const writtenLimit = (scope: LimitScope, accountTier: AccountTier, contract: Contract): number | null =>
  limiterOf(scope)[scope.unit]?.perMinute(scope, accountTier, contract) ?? null

/** The same; also null if the target does not promise it. */
export const statedLimit = (scope: LimitScope, accountTier: AccountTier, contract: Contract): number | null =>
  isPromised(scope, contract) ? writtenLimit(scope, accountTier, contract) : null

/** The source of a stated limit. */
export function sourceOfLimit(scope: LimitScope, accountTier: AccountTier, contract: Contract): Source {
  const key = limiterOf(scope)[scope.unit]?.key(scope, accountTier)
  return key === undefined ? 'default' : sourceOfValue(contract, key)
}

/** The limit that the target published, per minute; null if it published none. */
export function publishedLimit(scope: LimitScope, contract: Contract): number | null {
  if (limiterOf(scope)[scope.unit] === null) return null
  for (const name of publishedNames(scope, contract)) {
    const limit = ownMember(contract.limits.published, name)
    if (limit !== null) return limit
  }
  return null
}

/** A list names the limit of a resource by its type or by its model. */
function publishedNames(scope: LimitScope, { resources }: Contract): readonly string[] {
  const name = limitName(scope)
  if (scope.limiter !== 'resources') return [name]
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

/** Whether the target promises any clause about a limit. */
function isPromised(scope: LimitScope, contract: Contract): boolean {
  const missing = notPromised(contract)
  return limiterOf(scope)[scope.unit]?.clauses.some(clause => !missing.includes(clause)) ?? false
}
