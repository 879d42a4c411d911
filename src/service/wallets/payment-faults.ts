import { randomStream } from '../../lib/random.ts'

/**
 * How a payment may go wrong. `slow`: settlement takes long · `lost`: it is settled, and the response never arrives ·
 * `down`: payments cannot be checked, and nothing is settled · `reverted`: it is valid, and its chain does not settle it.
 */
export const paymentFaultKinds = ['slow', 'lost', 'down', 'reverted'] as const
type PaymentFaultKind = (typeof paymentFaultKinds)[number]

export type PaymentFault = { readonly kind: PaymentFaultKind; readonly probability: number }

/** Draws what goes wrong with each payment; null: nothing. */
export function drawPaymentFaults(faults: readonly PaymentFault[], seed: number): () => PaymentFaultKind | null {
  const random = randomStream(seed, 'payment-faults')
  return () => {
    if (faults.length === 0) return null
    let rest = random.next()
    for (const { kind, probability } of faults) {
      rest -= probability
      if (rest < 0) return kind
    }
    return null
  }
}
