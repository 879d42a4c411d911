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
  if (faults.length === 0) return () => null
  const random = randomStream(seed, 'faults')
  return state => {
    let rest = random.next()
    for (const { status, probability } of faults) {
      rest -= probability
      if (rest < 0) return faultReply(state, status)
    }
    return null
  }
}
