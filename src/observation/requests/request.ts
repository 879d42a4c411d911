import { z } from 'zod'
import type { Contract } from '../../contract/contract.ts'
import type { DeepReadonly } from '../../lib/json.ts'
import { memoizeLast } from '../../lib/memoize.ts'
import type { ApplicableLimit, LimitedCaller } from '../limit-scope.ts'
import { chatRequestSchema, chatTraits } from './chat.ts'
import { listRequestSchema, listTraits } from './lists.ts'
import { type ProbeDescriptor, probeRequestSchema, probeTraits } from './probe.ts'
import { resourceRequestSchema, resourceTraits } from './resource.ts'
import { rpcRequestSchema, rpcTraits } from './rpc.ts'
import type { RequestTraits } from './traits.ts'
import { balanceTraits, topUpRequestSchema, topUpTraits, walletBalanceRequestSchema } from './wallets.ts'

export const requestSchema = z.discriminatedUnion('kind', [
  chatRequestSchema,
  rpcRequestSchema,
  listRequestSchema,
  resourceRequestSchema,
  topUpRequestSchema,
  walletBalanceRequestSchema,
  probeRequestSchema,
])
export type RequestDescriptor = DeepReadonly<z.output<typeof requestSchema>>
export type RequestKind = RequestDescriptor['kind']
export type RequestOf<Kind extends RequestKind> = RequestDescriptor & { readonly kind: Kind }

/** The traits of all kinds. A new kind without them does not compile. */
const traits: { readonly [Kind in RequestKind]: RequestTraits<RequestOf<Kind>> } = {
  chat: chatTraits,
  rpc: rpcTraits,
  ...listTraits,
  resource: resourceTraits,
  'top-up': topUpTraits,
  'wallet-balance': balanceTraits,
  probe: probeTraits,
}

export const requestKinds = Object.keys(traits) as readonly RequestKind[]

/** The traits of a request. A plain look-up: judges ask thousands of times a second. */
export const requestTraits = ({ kind }: RequestDescriptor): RequestTraits<RequestDescriptor> =>
  traits[kind] as RequestTraits<RequestDescriptor>

export const isProbeRequest = (request: RequestDescriptor): request is ProbeDescriptor => requestTraits(request).isProbe

/** Whether a request is to a list that may be open to all. It carries its caller's key, which the service may not read. */
export const isOpenList = (request: RequestDescriptor): boolean => requestTraits(request).identity(request) === 'unread'

/** Kinds of requests that no limit of the document counts for certain. */
export const uncountedKinds: ReadonlySet<string> = new Set(
  requestKinds.filter(kind => traits[kind].limiter === null && !traits[kind].isProbe),
)

type LimitedRequest = LimitedCaller & { readonly request: RequestDescriptor }

/** The limit of the request of an observation; null if it has none, or no key. */
export const applicableLimit = memoizeLast((observation: LimitedRequest, contract: Contract): ApplicableLimit | null =>
  requestTraits(observation.request).limit(observation.request, observation, contract),
)
