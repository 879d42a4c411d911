import { sleepPreciselyUntil } from '../../lib/clock.ts'
import type { Arrival } from '../arrivals/arrivals.ts'
import type { DriverContext } from './driver.ts'

/** Overdue arrivals are sent without a pause for at most this long, so that responses are still read and stamped in time. */
const maxTurnMs = 5

/**
 * The open model: every arrival is sent when it is due, whatever became of those before it. With `maxInFlight` in flight
 * an arrival is dropped and counted, as is one that must wait; it never waits in a queue. Resolves when the last one was
 * sent, not answered.
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
