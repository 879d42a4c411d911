import type { WalletTerms } from '../../contract/wallets.ts'
import { parseJson } from '../../lib/json.ts'
import { type DropReason, failedBeforeSend, isLocalFault } from '../../observation/observation.ts'
import { paymentOutcome, requirementsIn } from '../../observation/payments.ts'
import type { Arrival } from '../arrivals/arrivals.ts'
import { reordered } from '../callers/payment-maker.ts'
import type { PaymentFate, PaymentTerms } from '../callers/payments.ts'
import { noHeaders } from '../transport/headers.ts'
import type { Exchange } from '../transport/transport.ts'
import { originAt, planOf, requestAt } from './send-step.ts'
import { topUpOf, withPayment } from './top-up.ts'
import { type DueRequest, type SendContext, transmit, unsentRequest } from './transmit.ts'

/** Asks how to pay, and pays if an offer fits. */
export async function sendPayment(arrival: Arrival, context: SendContext): Promise<boolean> {
  const plan = topUpOf(planOf(arrival, context))
  const origin = originAt(arrival, 'offer', context)
  const requests = arrival.steps.map((_, index) => {
    return { arrival, index, origin, built: requestAt(arrival, index, plan, noHeaders, origin, context) }
  })
  const [asking, ...paying] = requests
  if (asking === undefined) throw new RangeError(`${arrival.call} has no steps`)
  const { wallets } = context.contract
  let offer: unknown
  const wasSent = await transmit({ ...asking, dueMs: arrival.dueMs }, context, undefined, exchange => {
    if (exchange.status === null) return
    const isOffer = exchange.failure === null && exchange.status === wallets.topUp.offerStatus
    offer = isOffer ? (offerIn(exchange, wallets) ?? null) : null
  })
  const { usd, invalid, concurrent } = plan
  await payOffer(paying, { offer, terms: { usd, invalid }, concurrent }, context)
  return wasSent
}

/** How to pay: what the body of a 402 says, or its header if the body names no payment. */
function offerIn({ body, headers }: Exchange, terms: WalletTerms): unknown {
  const stated = requirementsIn({ headers, body: parseJson(body) }, terms)
  return stated.body?.accepts === undefined && stated.header !== null ? stated.header : stated.body
}

type Offered = {
  /** How to pay, as the target says; null: nothing was offered; undefined: there was no response. */
  readonly offer: unknown
  readonly terms: PaymentTerms
  /** Whether all requests are sent at once. */
  readonly concurrent: boolean
}

/**
 * Pays what a target asked for. All requests carry the same payment, which counts once, every second one in other text.
 * Resolves when they are observed, or when it is observed that there was no payment.
 */
async function payOffer(
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
  const payTo = mask.beginning(record.payTo, maxPayeeLength)
  const pay = async (each: Omit<DueRequest, 'dueMs'>, index: number): Promise<PaymentFate> => {
    const built = withPayment(each.built, index % 2 === 0 ? header : reordered(header), {
      ...record,
      payTo,
      isAgain: record.isAgain || index > 0,
    })
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

/** An address is shorter. The target may send any text. */
const maxPayeeLength = 100

/** One response is enough to know that a payment was settled. A request that was not sent counts only if none was. */
const fateOfAll = (fates: readonly PaymentFate[]): PaymentFate =>
  (['settled', 'unknown', 'refused'] as const).find(fate => fates.includes(fate)) ?? 'unsent'

/** What became of a payment, as far as the exchange tells. */
function fateOf({ failure, status, headers, body }: Exchange, terms: WalletTerms): PaymentFate {
  if (failure !== null) {
    const { reason } = failure
    return isLocalFault(reason) || (reason !== 'left' && failedBeforeSend.includes(reason)) ? 'unsent' : 'unknown'
  }
  return status === null ? 'unknown' : paymentOutcome({ status, headers, body: parseJson(body) }, terms)
}
