import type { Contract } from '../../contract/contract.ts'
import { withAdditions } from '../../contract/requests/additions.ts'
import type { ArrivalStep, Call } from '../../plan/plan.ts'
import type { Headers } from '../callers/caller.ts'
import type { BuiltRequest, CallOf, RequestBuilder, RequestContext, RequestPosition } from './call.ts'
import { chatRequests } from './chat.ts'
import { conversationRequests } from './conversation.ts'
import { probeRequests } from './probe.ts'
import { replayRequests, twinRequests } from './repeats.ts'
import { balanceCheckRequests, balanceRequests, listRequests, openListRequests, resourceRequests } from './resources.ts'
import { rpcRequests } from './rpc.ts'
import { topUpRequests } from './top-up.ts'

/** All kinds of calls, as in scenarios. */
const kinds: { readonly [Kind in Call['kind']]: RequestBuilder<CallOf<Kind>> } = {
  chat: chatRequests,
  conversation: conversationRequests,
  rpc: rpcRequests,
  replay: replayRequests,
  twin: twinRequests,
  models: openListRequests('models'),
  networks: openListRequests('networks'),
  'rate-limits': listRequests('rate-limits', 'rateLimits'),
  'rate-limit-logs': listRequests('rate-limit-logs', 'rateLimitLogs'),
  balance: balanceCheckRequests,
  resource: resourceRequests,
  'top-up': topUpRequests,
  'wallet-balance': balanceRequests,
  probe: probeRequests,
}

/** The entry of a call. It takes the calls of its own kind only. */
const kindOf = ({ kind }: Call): RequestBuilder => kinds[kind] as RequestBuilder

/**
 * Builds the request at this position. The same call, seed and position always give the same request, so a report can
 * show requests that were not recorded. `headers` authenticate the caller.
 */
export const buildRequest = (
  plan: Call,
  position: RequestPosition,
  headers: Headers,
  context: RequestContext,
): BuiltRequest => {
  const built = kindOf(plan).build(plan, position, headers, context)
  const request = withAdditions(built.request, context.contract, context.addedSecrets)
  return request === built.request ? built : { ...built, request }
}

/** Whether wallets send a call without a sign-in. */
export const isUnsigned = (plan: Call): boolean => kindOf(plan).isUnsigned === true

/**
 * The number of requests of an arrival that the target should refuse, and that therefore count towards the abuse block
 * of their caller. If the steps are not known yet (null), it is the maximum.
 */
export const expectedRefusals = (
  plan: Call | undefined,
  steps: readonly ArrivalStep[] | null,
  contract: Contract,
): number => (plan === undefined ? 0 : (kindOf(plan).refusalsOf?.(plan, steps, contract) ?? 0))
