import type { Contract } from '../../../contract/contract.ts'
import { failedBeforeSend, type Observation } from '../../../observation/observation.ts'
import { type RequestDescriptor, requestTraits } from '../../../observation/requests/request.ts'
import type { Identity } from '../../../observation/requests/traits.ts'
import { is2xx, isAbuseBlock, isAtAssumedPath, isFromGateway } from '../../../observation/response.ts'

/**
 * certain: counts toward the abuse block of its caller · possible: may count, or the response may not be the service's
 */
export type CountedFailure = 'certain' | 'possible'

/** One request of a caller, as its abuse block sees it. The service decides between the send time and the headers. */
export type AbuseAttempt = {
  readonly id: number
  readonly sentMs: number
  readonly shownMs: number
  readonly status: number | null
  readonly failure: CountedFailure | null
  /** Whether the request was meant to fail. Then it may be the failure that blocked its caller. */
  readonly shouldFail: boolean
  /** Whether the response comes from a block, and whether it has the required message. */
  readonly isBlocked: boolean
  readonly hasBlockMessage: boolean
  /** Whether the response shows that the service processed the request. Then no block was active. */
  readonly isProcessed: boolean
  /** The part of the service that received the request. */
  readonly service: string
}

/** Whether a request counts toward the abuse block of its caller; null if it does not. */
export function countedFailureOf(observation: Observation, contract: Contract): CountedFailure | null {
  const { request, response, outcome } = observation
  const identity = requestTraits(request).identity(request)
  if (outcome.kind === 'dropped' || identity === 'other' || identity === 'none') return null
  if (outcome.kind === 'failed' && failedBeforeSend.includes(outcome.reason)) return null
  if (response === null) return 'possible'
  const { status } = response
  if (is2xx(status)) return null
  const { counts, blockedCount } = contract.abuse
  if (isAbuseBlock(response, contract)) return blockedCount === false ? null : 'possible'
  if (counts === 'client-errors-but-429' && (status === 429 || status >= 500)) return null
  if (unclear.includes(identity) || isAtAssumedPath(observation, contract)) return 'possible'
  // Only the service knows whose failure a 401 is.
  const isClear = outcome.kind === 'answered' && status >= 400 && status !== 401 && !isFromGateway(response, contract)
  return isClear ? 'certain' : 'possible'
}

/** A payment has no sign-in, a bad sign-in may not name an account, and the key for a list may not be read. */
const unclear: readonly Identity[] = ['payment', 'bad-sign-in', 'unread']
const notOwn: readonly Identity[] = ['unread', 'other', 'none']

/** Whether a request carries its caller's key, or a sign-in or payment of its wallet, and the service must read it. */
export const usesOwnKey = (request: RequestDescriptor): boolean =>
  !notOwn.includes(requestTraits(request).identity(request))
