import { z } from 'zod'
import { resourceOf } from '../../contract/contract.ts'
import { resourceDraw } from '../../contract/limiters.ts'
import type { DeepReadonly } from '../../lib/json.ts'
import { is2xx } from '../../lib/numbers.ts'
import { amount, members } from '../../lib/schemas.ts'
import { drawnLimit } from '../limit-scope.ts'
import { type RequestTraits, replayRoleSchema, usual, withKey } from './traits.ts'

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
  /** Missing: it has no idempotency key. */
  replay: replayRoleSchema.optional(),
})
export type ResourceDescriptor = DeepReadonly<z.output<typeof resourceRequestSchema>>

export const resourceTraits: RequestTraits<ResourceDescriptor> = {
  ...usual,
  ...withKey(({ replay }: ResourceDescriptor) => replay ?? null),
  endpoint: (request, contract) => {
    const known = resourceOf(contract, request.resource)
    return known === null ? { method: 'GET', route: '/' } : { method: known.method, route: known.path }
  },
  limiter: 'resources',
  limit: ({ resource }, { accountTier }, contract) =>
    drawnLimit(resourceDraw(resource, resourceOf(contract, resource)?.draws ?? null), accountTier, contract),
  service: (request, contract) =>
    resourceOf(contract, request.resource)?.isInference === true ? 'inference' : 'other',
  subject: request => request.resource,
  pricing: () => 'maximum',
  timestampMs: request => request.timestampMs,
  // The video was never queued.
  isIntended: ({ resource }, status, contract) =>
    is2xx(status) || (resourceOf(contract, resource)?.draws === 'video-retrieve' && [400, 404].includes(status)),
}
