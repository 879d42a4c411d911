import { sleepPreciselyUntil } from '../../lib/clock.ts'
import type { Arrival } from '../arrivals/arrivals.ts'
import type { DriverContext } from './driver.ts'

/** Maximum time of sending overdue arrivals without a pause, so that responses are still read and stamped in time. */
const maxTurnMs = 5

/**
 * The open model: sends every arrival when it is due, independent of earlier responses. Drops and counts an arrival
 * that must wait, or that is due while `maxInFlight` are in flight; nothing is queued. Resolves when the last arrival
 * is sent, without waiting for its response.
 */
export async function driveOpen(
  context: DriverContext,
  arrivals: Iterable<Arrival>,
  maxInFlight: number,
): Promise<void> {
  const { clock, signal, inFlight } = context
  let turnEndMs = clock.nowMs() + maxTurnMs
  for (const arrival of arrivals) {
    const nowMs = clock.nowMs()
    if (arrival.dueMs > nowMs || nowMs > turnEndMs) {
      await sleepPreciselyUntil(clock, Math.max(arrival.dueMs, nowMs), signal)
      turnEndMs = clock.nowMs() + maxTurnMs
    }
    if (signal.aborted) return
    if (inFlight.count() >= maxInFlight) context.drop(arrival, 'max-in-flight')
    else if (context.mustWait(arrival)) context.drop(arrival, 'failure-limit')
    else inFlight.track(context.fire(arrival))
  }
}
