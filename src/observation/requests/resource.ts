import { z } from 'zod'
import { type AccountTier, type Contract, type ResourceLimit, resourceOf } from '../../contract/contract.ts'
import type { DeepReadonly } from '../../lib/json.ts'
import { amount, members } from '../../lib/schemas.ts'
import { type ApplicableLimit, controlLimit, countersOf, limitsOf } from '../limit-scope.ts'
import { type RequestTraits, usual } from './traits.ts'

/** A resource that is neither chat nor RPC. */
export const resourceRequestSchema = z.object({
  kind: z.literal('resource'),
  /** Its name in the contract. */
  resource: z.string(),
  body: members.nullable(),
  /** The requested page of a list and its number of items; null if not sent. */
  page: amount.nullable(),
  limit: amount.nullable(),
  /** The timestamp that the request carried, in milliseconds; null for none. */
  timestampMs: z.number().min(0).max(8e15).nullable(),
})
export type ResourceDescriptor = DeepReadonly<z.output<typeof resourceRequestSchema>>

export const resourceTraits: RequestTraits<ResourceDescriptor> = {
  ...usual,
  endpoint: (request, contract) => {
    const known = resourceOf(contract, request.resource)
    return known === null ? { method: 'GET', route: '/' } : { method: known.method, route: known.path }
  },
  limitFamily: 'resources',
  limit: ({ resource: name }, { accountTier }, contract) =>
    resourceLimit(name, resourceOf(contract, name)?.draws ?? null, accountTier, contract),
  service: (request, contract) =>
    resourceOf(contract, request.resource)?.isInference === true ? 'inference' : 'other',
  subject: request => request.resource,
  pricing: () => 'maximum',
}

/** `limit`: null for a resource without a limit of its own. */
export function resourceLimit(
  name: string,
  limit: ResourceLimit | null,
  tier: AccountTier,
  contract: Contract,
): ApplicableLimit {
  if (limit === null) return controlLimit(name, tier)
  const counters = countersOf('resources', contract.limits.resourceScope, { type: limit, resource: `${limit}:${name}` })
  return { name: limit, tier, ...counters, ...limitsOf({ kind: 'resource-requests', limit }, null, tier, contract) }
}
