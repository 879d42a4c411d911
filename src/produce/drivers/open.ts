import type { Cancel } from '../../lib/clock.ts'
import type { Arrival } from '../arrivals/arrivals.ts'
import type { DriverContext } from './driver.ts'

/** Maximum time of sending overdue arrivals without a pause, so that responses are still read and stamped in time. */
const maxTurnMs = 5

/**
 * The open model: sends every arrival when it is due, independent of earlier responses. Drops and counts an arrival
 * that must wait, or that is due while `maxInFlight` are in flight; nothing is queued. Resolves when the last arrival
 * is sent, without waiting for its response.
 */
export function driveOpen(context: DriverContext, arrivals: Iterable<Arrival>, maxInFlight: number): Promise<void> {
  const { clock, signal, inFlight } = context
  const send = (arrival: Arrival): void => {
    if (inFlight.count() >= maxInFlight) context.drop(arrival, 'max-in-flight')
    else if (context.mustWait(arrival)) context.drop(arrival, 'failure-limit')
    else inFlight.track(context.fire(arrival))
  }
  // Callbacks and not a promise for each pause: at thousands of arrivals per second, each has a pause of its own.
  return new Promise((resolve, reject) => {
    const iterator = arrivals[Symbol.iterator]()
    let next = iterator.next()
    let cancel: Cancel = () => {}
    const end = (): void => {
      cancel()
      signal.removeEventListener('abort', end)
      resolve()
    }
    const turn = (): void => {
      try {
        const turnEndMs = clock.nowMs() + maxTurnMs
        for (; !next.done; next = iterator.next()) {
          const nowMs = clock.nowMs()
          const { dueMs } = next.value
          if (dueMs > nowMs || nowMs > turnEndMs) {
            cancel = clock.atPrecisely(Math.max(dueMs, nowMs), turn)
            return
          }
          send(next.value)
          if (signal.aborted) return
        }
        end()
      } catch (cause) {
        reject(cause)
      }
    }
    if (signal.aborted) return end()
    signal.addEventListener('abort', end, { once: true })
    turn()
  })
}
