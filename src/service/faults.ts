import { randomStream } from '../lib/random.ts'
import { type Reply, refuse, type Visit } from './message.ts'

/** What the service answers, now and then, to a request that it could not carry out. */
const words = {
  500: 'Inference processing failed',
  503: 'The model is at capacity, retry later',
  504: 'The request timed out',
} as const
export type FaultStatus = keyof typeof words
export const faultStatuses: readonly FaultStatus[] = [500, 503, 504]
export type Fault = { readonly status: FaultStatus; readonly probability: number }
/** What is answered to a request that is right and cannot be carried out. */
export const failFor = (visit: Visit, status: FaultStatus): Reply => refuse(visit, status, words[status])
/** Strikes a request that is right and would be carried out: the answer to it then, or null. It is not charged. */
export type Strike = (visit: Visit) => Reply | null
export function injectFaults(faults: readonly Fault[], seed: number): Strike {
  if (faults.length === 0) return () => null
  const random = randomStream(seed, 'faults')
  return visit => {
    let rest = random.next()
    for (const { status, probability } of faults) {
      rest -= probability
      if (rest < 0) return failFor(visit, status)
    }
    return null
  }
}
