import { randomStream } from '../lib/random.ts'
import { errorReply, type Reply, type RequestState } from './message.ts'

/** The errors of a service that fails at random. */
const messages = {
  500: 'Inference processing failed',
  503: 'The model is at capacity, retry later',
  504: 'The request timed out',
} as const

type FaultStatus = keyof typeof messages
export const faultStatuses: readonly FaultStatus[] = [500, 503, 504]

export type Fault = { readonly status: FaultStatus; readonly probability: number }

/** The error reply to a valid request that fails. */
export const faultReply = (state: RequestState, status: FaultStatus): Reply =>
  errorReply(state, status, messages[status])

/** Decides whether a valid request fails: the error reply, or null. A failed request is not charged. */
export type Strike = (state: RequestState) => Reply | null

export function injectFaults(faults: readonly Fault[], seed: number): Strike {
  const draw = drawFault(faults, seed, 'faults')
  return state => {
    const fault = draw()
    return fault === null ? null : faultReply(state, fault.status)
  }
}

/**
 * How a payment may go wrong. `slow`: settlement takes long · `lost`: it is settled, and the response never arrives ·
 * `down`: payments cannot be checked, and nothing is settled · `reverted`: it is valid, and its chain does not settle it.
 */
export const paymentFaultKinds = ['slow', 'lost', 'down', 'reverted'] as const

export type PaymentFault = { readonly kind: (typeof paymentFaultKinds)[number]; readonly probability: number }

/** Draws what goes wrong with each payment; null: nothing. */
export function drawPaymentFaults(faults: readonly PaymentFault[], seed: number): () => PaymentFault['kind'] | null {
  const draw = drawFault(faults, seed, 'payment-faults')
  return () => draw()?.kind ?? null
}

/** Draws one of the faults, by their probabilities; null: none. */
function drawFault<Of extends { readonly probability: number }>(
  faults: readonly Of[],
  seed: number,
  stream: string,
): () => Of | null {
  if (faults.length === 0) return () => null
  const random = randomStream(seed, stream)
  return () => {
    let rest = random.next()
    for (const fault of faults) {
      rest -= fault.probability
      if (rest < 0) return fault
    }
    return null
  }
}
