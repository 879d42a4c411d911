import { z } from 'zod'
import type { DeepReadonly } from '../../lib/json.ts'
import { whole } from '../../lib/schemas.ts'
import { drawnLimit } from '../limit-scope.ts'
import { type RequestTraits, replayRoles, usual } from './traits.ts'

/** The role of a request among those that share one idempotency key. */
const replaySchema = z.object({
  /** The `id` of the first request with the key. Identifies the key without revealing it. */
  group: whole,
  role: z.enum(replayRoles),
  concurrent: z.boolean(),
})
export type ReplayRole = DeepReadonly<z.output<typeof replaySchema>>

const rpcItemSchema = z.object({ id: z.union([z.number(), z.string()]), method: z.string(), failing: z.boolean() })
export type RpcItem = DeepReadonly<z.output<typeof rpcItemSchema>>

export const rpcRequestSchema = z.object({
  kind: z.literal('rpc'),
  network: z.string(),
  batch: z.boolean(),
  items: z.array(rpcItemSchema),
  replay: replaySchema.nullable(),
})
export type RpcDescriptor = DeepReadonly<z.output<typeof rpcRequestSchema>>

export const isRpc = (request: { readonly kind: string }): request is RpcDescriptor => request.kind === 'rpc'

const isConflict = ({ replay }: RpcDescriptor): boolean => replay?.role === 'conflict'

export const rpcTraits: RequestTraits<RpcDescriptor> = {
  ...usual,
  endpoint: ({ network }, { paths }) => ({ method: 'POST', route: paths.rpc.replace('{network}', network) }),
  limiter: 'rpc',
  limit: ({ network }, { accountTier }, contract) => drawnLimit({ limiter: 'rpc', network }, accountTier, contract),
  service: () => 'rpc',
  subject: ({ network }) => network,
  pricing: () => 'credits',
  position: ({ replay }, id) => ({ firstId: replay?.group ?? id, step: replay?.role ?? 'only' }),
  isFirst: ({ replay }, id) => replay === null || replay.group === id,
  isRepetition: ({ replay }) =>
    replay !== null && replay.role !== 'other-caller' && (replay.role !== 'original' || replay.concurrent),
  isMeantToFail: isConflict,
  // An audit of replays judges what a conflict gets.
  hasIntent: request => !isConflict(request),
}
