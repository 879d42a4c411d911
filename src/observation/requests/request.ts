import { z } from 'zod'
import type { Contract } from '../../contract/contract.ts'
import type { DeepReadonly } from '../../lib/json.ts'
import { memoizeLast } from '../../lib/memoize.ts'
import type { ApplicableLimit, LimitedCaller } from '../limit-scope.ts'
import { chat, chatSchema } from './chat.ts'
import { listSchema, lists } from './lists.ts'
import { type ProbeDescriptor, probe, probeSchema } from './probe.ts'
import { resource, resourceSchema } from './resource.ts'
import { rpc, rpcSchema } from './rpc.ts'
import type { RequestTraits } from './traits.ts'
import { topUp, topUpSchema, walletBalance, walletBalanceSchema } from './wallets.ts'

export const requestSchema = z.discriminatedUnion('kind', [
  chatSchema,
  rpcSchema,
  listSchema,
  resourceSchema,
  topUpSchema,
  walletBalanceSchema,
  probeSchema,
])
export type RequestDescriptor = DeepReadonly<z.output<typeof requestSchema>>
export type RequestKind = RequestDescriptor['kind']

/** The traits of all kinds. A new kind without them does not compile. */
const traits: { readonly [Kind in RequestKind]: RequestTraits<RequestDescriptor & { readonly kind: Kind }> } = {
  chat,
  rpc,
  ...lists,
  resource,
  'top-up': topUp,
  'wallet-balance': walletBalance,
  probe,
}

/** The traits of a request. A plain look-up: judges ask thousands of times a second. */
export const traitsOf = ({ kind }: RequestDescriptor): RequestTraits<RequestDescriptor> =>
  traits[kind] as RequestTraits<RequestDescriptor>

export const isProbe = (request: RequestDescriptor): request is ProbeDescriptor => traitsOf(request).isProbe

/** Whether a request is to a list that may be open to all. It carries its caller's key, which the service may not read. */
export const isOpenList = (request: RequestDescriptor): boolean => traitsOf(request).identity(request) === 'unread'

/** Kinds of requests that no limit of the document counts for certain. */
export const uncountedKinds: ReadonlySet<string> = new Set(
  Object.entries(traits).flatMap(([kind, { limitFamily, isProbe }]) =>
    limitFamily === null && !isProbe ? [kind] : [],
  ),
)

type LimitedRequest = LimitedCaller & { readonly request: RequestDescriptor }

/** The limit of the request of an observation; null if it has none, or no key. */
export const applicableLimit = memoizeLast((observation: LimitedRequest, contract: Contract): ApplicableLimit | null =>
  traitsOf(observation.request).limit(observation.request, observation, contract),
)
