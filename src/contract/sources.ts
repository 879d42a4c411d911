import { z } from 'zod'
import { signInRefusals } from './wallets.ts'

/** Where a value of the contract comes from. `default`: the document leaves it open, and no profile states it. */
export const allSources = ['document', 'default', 'profile', 'target'] as const
export type Source = (typeof allSources)[number]

/**
 * By path, such as `rpc.requestsPerMinute`: values that a profile or the target stated. `default`: a value of the reference
 * service, which forecasts the cost of a run against another target and is not asserted of it.
 */
export const sourcesSchema = z.record(z.string(), z.enum(['profile', 'target', 'default']))
type Sources = z.infer<typeof sourcesSchema>

/** Values that the document leaves open, by path. */
const openPaths = [
  'auth',
  'paths',
  'models',
  'resources',
  'pagination',
  'requestTimestampHeader',
  'chat.costTolerance',
  'chat.search',
  'chat.stream',
  'chat.unknownMembers',
  'rpc.requestsPerMinute',
  'rpc.unknownNetworkStatus',
  'rpc.errorLayout',
  'rpc.networks',
  'rpc.methods',
  'rpc.singleErrorIsDiscounted',
  'rpc.oneAtATime',
  'rpc.priceTolerance',
  'rpc.costDecimals',
  'idempotency.badKey',
  'idempotency.concurrent',
  'limits.algorithm',
  'limits.scope',
  'limits.chatScope',
  'limits.rpcScope',
  'limits.resourceScope',
  'limits.dateAgeMs',
  'limits.clockToleranceMs',
  'abuse.status',
  'abuse.blockedCount',
  'abuse.scope',
  'limitLogs',
  'billing',
  'wallets.signIn.layouts',
  'wallets.signIn.domains',
  'wallets.signIn.statement',
  'wallets.signIn.validityMs',
  'wallets.signIn.nonceMemoryMs',
  'wallets.signIn.futureSkewMs',
  'wallets.signIn.timestampSkewMs',
  'wallets.signIn.shortestNonce',
  // The status of a failed sign-in is documented.
  ...signInRefusals.map(refusal => `wallets.signIn.refusals.${refusal}.code`),
  'wallets.signIn.refusals.otherWallet',
  'wallets.balanceAsker',
  'wallets.topUp.resultHeader',
  'wallets.topUp.maximumUsd',
  'wallets.topUp.suggestedUsd',
  'wallets.topUp.maxTimeoutSeconds',
  'wallets.topUp.offerStatus',
  'wallets.topUp.refusals',
  'wallets.rails',
  'wallets.minimumBalanceUsd',
]

/** The source of the value at `path`. What was stated about a whole mapping holds for its members. */
export const sourceOfValue = ({ sources }: { readonly sources: Sources }, path: string): Source =>
  notedSource(sources, path) ??
  (openPaths.some(open => path === open || path.startsWith(`${open}.`)) ? 'default' : 'document')

/** Whether the value at `path` is only assumed of the target, so that no judge may assert it. */
export const isAssumed = ({ sources }: { readonly sources: Sources }, path: string): boolean =>
  notedSource(sources, path) === 'default'

function notedSource(sources: Sources, path: string): Source | null {
  for (let at = path; at !== ''; at = parentOf(at)) {
    const source = Object.hasOwn(sources, at) ? sources[at] : undefined
    if (source !== undefined) return source
  }
  return null
}

const parentOf = (path: string): string => path.slice(0, Math.max(0, path.lastIndexOf('.')))
