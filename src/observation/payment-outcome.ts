import type { WalletRefusal, WalletTerms } from '../contract/wallets.ts'
import { toObject } from '../lib/json.ts'
import type { ObservedResponse } from './observation.ts'
import { is2xx, jsonObject } from './response.ts'

/** What is known of a payment after a complete response. `unknown`: it may have been settled, or may still be. */
export type PaymentOutcome = 'settled' | 'refused' | 'unknown'

/** Statuses of a request that the target may still be working on, or may not have read. */
const openStatuses: readonly number[] = [408, 409, 425, 429]

/** Whether a status leaves open what becomes of a payment. */
export const isUndecided = (status: number): boolean =>
  status < 400 ? !is2xx(status) : status >= 500 || openStatuses.includes(status)

type Response = {
  readonly status: number
  /** With names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  /** A JSON value; undefined: there is none. */
  readonly body: unknown
}

/**
 * What a response says of the payment that its request carried. Only a 4xx says that it was refused, and not if a
 * settlement was tried: one that failed for the target may still reach the chain.
 */
export function paymentOutcome({ status, headers, body }: Response, { topUp }: WalletTerms): PaymentOutcome {
  const { replayed, settlementFailed, settlementTimeout } = topUp.refusals
  const codes = codesIn(body)
  const says = (refusal: WalletRefusal) =>
    status === refusal.status && refusal.code !== null && codes.includes(refusal.code)
  if (is2xx(status) || says(replayed)) return 'settled'
  if (isUndecided(status)) return 'unknown'
  const wasTried = headers[topUp.resultHeader.toLowerCase()] !== undefined
  return wasTried || says(settlementFailed) || says(settlementTimeout) ? 'unknown' : 'refused'
}

/** The same of a recorded response. */
export const recordedOutcome = (response: ObservedResponse, terms: WalletTerms): PaymentOutcome =>
  paymentOutcome({ status: response.status, headers: response.headers, body: jsonObject(response) }, terms)

/** The document leaves the layout of errors open. */
function codesIn(body: unknown): readonly unknown[] {
  const { error, code } = toObject(body) ?? {}
  return [error, code, toObject(error)?.code]
}
