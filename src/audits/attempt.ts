import type { Contract } from '../contract/contract.ts'
import type { Failure } from './failure.ts'

/** One request of a caller, as its abuse block sees it. The service decided between its sending and its headers. */
export type Attempt = {
  readonly seq: number
  readonly sentMs: number
  readonly shownMs: number
  readonly status: number | null
  readonly failure: Failure | null
  /** Whether it was to fail: then it may have been the failure that blocked its caller. */
  readonly isToFail: boolean
  /** Whether the answer is that of a block, and whether it says what such an answer must say. */
  readonly isBlocked: boolean
  readonly isWorded: boolean
  /** Whether the answer shows that the service looked at the request: then no block was in force. */
  readonly isLookedAt: boolean
  /** The part of the service that was asked. */
  readonly service: string
}

export type AbuseRules = Pick<Contract['abuse'], 'failures' | 'windowMs' | 'blockMs' | 'status'> & {
  /** Whether others use the account during the run. */
  readonly shared: boolean
  /** What the account did before is not known. */
  readonly firstSentMs: number
}
