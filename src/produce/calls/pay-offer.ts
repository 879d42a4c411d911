import type { WalletTerms } from '../../contract/wallets.ts'
import { parseJson } from '../../lib/json.ts'
import { type DropReason, failedBeforeSend, isLocalFault } from '../../observation/observation.ts'
import { paymentOutcome, requirementsIn } from '../../observation/payments.ts'
import type { PaymentFate, PaymentTerms } from '../callers/payments.ts'
import type { Exchange } from '../transport/transport.ts'
import { type DueRequest, type SendContext, transmit, unsentRequest } from './transmit.ts'

/** An address is shorter. The target may send any text. */
const maxPayeeLength = 100

type Offered = {
  /** How to pay, as the target says; null: nothing was offered; undefined: there was no response. */
  readonly offer: unknown
  readonly terms: PaymentTerms
  /** Whether all requests are sent at once. */
  readonly concurrent: boolean
}

/**
 * Pays what a target asked for. All requests carry the same payment, which counts once. Resolves when they are observed,
 * or when it is observed that there was no payment.
 */
export async function payOffer(
  requests: readonly Omit<DueRequest, 'dueMs'>[],
  { offer, terms, concurrent }: Offered,
  context: SendContext,
): Promise<void> {
  const { payments, clock, sink, stop, contract, mask } = context
  const caller = requests[0]?.origin.caller
  const drop = (reason: DropReason) => {
    for (const each of requests) sink(unsentRequest(each, reason, context))
  }
  if (stop.aborted) return drop('interrupted')
  if (offer === undefined) return drop('no-response')
  if (offer === null || caller?.kind !== 'wallet') return drop('no-payment')
  const found = await payments.next(caller, offer, terms)
  if (found === null) return drop('no-payment')
  if (stop.aborted) {
    payments.close(caller, 'unsent')
    return drop('interrupted')
  }
  const { header, record } = found
  const pay = async (each: Omit<DueRequest, 'dueMs'>, index: number): Promise<PaymentFate> => {
    const { descriptor, request } = each.built
    const payTo = mask.beginning(record.payTo, maxPayeeLength)
    const payment = { ...record, payTo, isAgain: record.isAgain || index > 0 }
    const built = {
      descriptor: descriptor.kind === 'top-up' ? { ...descriptor, payment } : descriptor,
      request: { ...request, headers: { ...request.headers, [record.header]: header } },
    }
    let fate: PaymentFate = 'unknown'
    await transmit({ ...each, built, dueMs: clock.nowMs() }, context, undefined, exchange => {
      fate = fateOf(exchange, contract.wallets)
    })
    return fate
  }
  const fates: PaymentFate[] = []
  if (concurrent) fates.push(...(await Promise.all(requests.map(pay))))
  else for (const [index, each] of requests.entries()) fates.push(await pay(each, index))
  payments.close(caller, fateOfAll(fates))
}

/** How to pay: what the body of a 402 says, or its header if the body names no payment. */
export function offerIn({ body, headers }: Pick<Exchange, 'body' | 'headers'>, terms: WalletTerms): unknown {
  const stated = requirementsIn({ headers, body: parseJson(body) }, terms)
  return stated.body?.accepts === undefined && stated.header !== null ? stated.header : stated.body
}

/** One response is enough to know that a payment was settled. One that never left says nothing if another did. */
const fateOfAll = (fates: readonly PaymentFate[]): PaymentFate =>
  (['settled', 'unknown', 'refused'] as const).find(fate => fates.includes(fate)) ?? 'unsent'

/** What became of a payment, as far as the exchange tells. */
export function fateOf({ failure, status, headers, body }: FateEvidence, terms: WalletTerms): PaymentFate {
  if (failure !== null) {
    const { reason } = failure
    return isLocalFault(reason) || failedBeforeSend.includes(reason) ? 'unsent' : 'unknown'
  }
  return status === null ? 'unknown' : paymentOutcome({ status, headers, body: parseJson(body) }, terms)
}

type FateEvidence = Pick<Exchange, 'failure' | 'status' | 'headers' | 'body'>
