import { parseJson } from '../../lib/json.ts'
import { failedBeforeSend, isLocalFault } from '../../observation/observation.ts'
import type { PaymentFate } from '../callers/payments.ts'
import type { Exchange } from '../transport/transport.ts'
import { type DueRequest, type SendContext, transmit, unsentRequest } from './transmit.ts'

/**
 * Pays what a target asked for. `offer`: the body of its 402; null: it offered nothing. Resolves when the payment is
 * observed, or when it is observed that there was none.
 */
export async function payOffer(
  due: Omit<DueRequest, 'dueMs'>,
  { offer, usd }: { readonly offer: Buffer | null; readonly usd: string },
  context: SendContext,
): Promise<void> {
  const { caller } = due.origin
  const { payments, clock, sink, stop, contract } = context
  const drop = (reason: 'interrupted' | 'no-payment') => sink(unsentRequest(due, reason, context))
  if (stop.aborted) return drop('interrupted')
  const found = caller.kind === 'wallet' && offer !== null ? await payments.next(caller, parseJson(offer), usd) : null
  if (found === null || caller.kind !== 'wallet') return drop('no-payment')
  if (stop.aborted) {
    payments.close(caller, 'unsent')
    return drop('interrupted')
  }
  const { descriptor, request } = due.built
  const { header, record } = found
  const built = {
    descriptor: descriptor.kind === 'top-up' ? { ...descriptor, payment: record } : descriptor,
    request: { ...request, headers: { ...request.headers, [contract.wallets.topUp.paymentHeader]: header } },
  }
  let fate: PaymentFate = 'unknown'
  await transmit({ ...due, built, dueMs: clock.nowMs() }, context, undefined, exchange => {
    fate = fateOf(exchange)
  })
  payments.close(caller, fate)
}

/** Statuses of a request that the target may still be working on, or may not have read. */
const openStatuses = [408, 409, 425, 429]

/** What became of a payment, as far as the response tells. Only a complete 4xx says that it was refused. */
export function fateOf({ failure, status }: Exchange): PaymentFate {
  if (failure !== null) {
    const { reason } = failure
    return isLocalFault(reason) || failedBeforeSend.includes(reason) ? 'unsent' : 'unknown'
  }
  if (status === null || status >= 500 || openStatuses.includes(status)) return 'unknown'
  return status >= 400 ? 'refused' : status >= 300 ? 'unknown' : 'settled'
}
