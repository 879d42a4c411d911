import type { Contract } from '../contract/contract.ts'
import { failedBeforeSend, type Observation } from '../observation/observation.ts'
import { recordedOutcome } from '../observation/payments.ts'
import { paymentIn, refusalOf } from '../observation/requests/wallets.ts'

/** A signed payment that was sent, and whose outcome is unknown. */
export type OpenPayment = { readonly id: string; readonly usd: string }

export type OpenPayments = {
  readonly add: (observation: Observation) => void
  /** In the order of sending. */
  readonly list: () => readonly OpenPayment[]
}

/**
 * Collects the payments that may have been settled. Such a payment stays open until a response says that it was settled:
 * a later refusal is only about the later attempt. A payment that must be refused is closed by any refusal.
 */
export function createOpenPayments(contract: Contract): OpenPayments {
  const { wallets } = contract
  const open = new Map<string, OpenPayment>()
  const settled = new Set<string>()
  return {
    add: ({ request, response, outcome }) => {
      const payment = paymentIn(request)
      if (payment === null || outcome.kind === 'dropped') return
      if (outcome.kind === 'failed' && failedBeforeSend.includes(outcome.reason)) return
      const { id, usd } = payment
      const isAnswered = outcome.kind === 'answered' && response !== null
      const known = isAnswered ? recordedOutcome(response, wallets) : 'unknown'
      if (known === 'settled') {
        open.delete(id)
        settled.add(id)
      } else if (known === 'refused' && refusalOf(payment, contract) !== null) open.delete(id)
      else if (known === 'unknown' && !settled.has(id)) open.set(id, { id, usd })
    },
    list: () => [...open.values()],
  }
}
