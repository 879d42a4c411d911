import { z } from 'zod'
import type { Contract } from '../../contract/contract.ts'
import { listDraw } from '../../contract/limiters.ts'
import type { DeepReadonly } from '../../lib/json.ts'
import { drawnLimit } from '../limit-scope.ts'
import { type RequestTraits, usual } from './traits.ts'

export const listKinds = ['models', 'networks', 'rate-limits', 'rate-limit-logs', 'balance'] as const

export const listRequestSchema = z.object({ kind: z.enum(listKinds) })
export type ListDescriptor = DeepReadonly<z.output<typeof listRequestSchema>>

/** The log of the requests of its caller that were rejected by a limit. */
export const isRefusalLog = ({ kind }: { readonly kind: string }): boolean => kind === 'rate-limit-logs'

/** A list about its caller. */
const listOfCaller = (pathOf: (paths: Contract['paths']) => string): RequestTraits<ListDescriptor> => ({
  ...usual,
  endpoint: (_, { paths }) => ({ method: 'GET', route: pathOf(paths) }),
  limiter: listDraw(listKinds[0]).limiter,
  limit: ({ kind }, { accountTier }, contract) => drawnLimit(listDraw(kind), accountTier, contract),
  service: () => 'other',
  pricing: () => 'nothing',
})

/** A list that may be open to all. It carries the key of its caller; a wallet asks for it without a sign-in. */
const openList = (pathOf: (paths: Contract['paths']) => string): RequestTraits<ListDescriptor> => ({
  ...listOfCaller(pathOf),
  limiter: null,
  limit: ({ kind }, { accountTier, chain }, contract) =>
    chain === undefined ? drawnLimit(listDraw(kind), accountTier, contract) : null,
  identity: () => 'unread',
})

export const listTraits: Readonly<Record<ListDescriptor['kind'], RequestTraits<ListDescriptor>>> = {
  models: openList(({ models }) => models),
  networks: openList(({ networks }) => networks),
  'rate-limits': listOfCaller(({ rateLimits }) => rateLimits),
  'rate-limit-logs': listOfCaller(({ rateLimitLogs }) => rateLimitLogs),
  balance: {
    ...listOfCaller(({ rateLimits }) => rateLimits),
    endpoint: (_, { paths, billing }) => ({ method: 'GET', route: billing.balance.path ?? paths.rateLimits }),
  },
}
