import { z } from 'zod'
import type { DeepReadonly } from '../../lib/json.ts'
import { drawnLimit } from '../limit-scope.ts'
import { type RequestTraits, replayRoleSchema, twinRoleSchema, usual, withKey } from './traits.ts'

const rpcItemSchema = z.object({
  ...{ id: z.union([z.number(), z.string()]), method: z.string(), failing: z.boolean() },
  /** It asks for all logs of its blocks. Missing: it does not, or not for logs. */
  isUnfiltered: z.literal(true).optional(),
  /** It asks for the last block, its receipts or its logs. Missing: it does not. */
  isLatest: z.literal(true).optional(),
})
export type RpcItem = DeepReadonly<z.output<typeof rpcItemSchema>>

export const rpcRequestSchema = z.object({
  kind: z.literal('rpc'),
  network: z.string(),
  batch: z.boolean(),
  items: z.array(rpcItemSchema),
  replay: replayRoleSchema.nullable(),
  /** Missing: it has no twin. */
  twin: twinRoleSchema.optional(),
})
export type RpcDescriptor = DeepReadonly<z.output<typeof rpcRequestSchema>>

export const isRpc = (request: { readonly kind: string }): request is RpcDescriptor => request.kind === 'rpc'

export const rpcTraits: RequestTraits<RpcDescriptor> = {
  ...usual,
  ...withKey(
    ({ replay }: RpcDescriptor) => replay,
    ({ twin }) => twin ?? null,
  ),
  endpoint: ({ network }, { paths }) => ({ method: 'POST', route: paths.rpc.replace('{network}', network) }),
  limiter: 'rpc',
  limit: ({ network }, { accountTier }, contract) => drawnLimit({ limiter: 'rpc', network }, accountTier, contract),
  service: () => 'rpc',
  subject: ({ network }) => network,
  pricing: () => 'credits',
}
