import type { Arrival } from '../arrivals/arrivals.ts'
import { sleepUntil } from '../lib/clock.ts'
import type { Cab, InFlight } from './driver.ts'

/**
 * The open model: every arrival is sent when it is due, whatever became of those before it. With `maxInFlight` under
 * way an arrival is dropped and counted; it never waits in a queue. Resolves when the last one was sent, not answered.
 */
export async function driveOpen(
  cab: Cab,
  arrivals: Iterable<Arrival>,
  inFlight: InFlight,
  maxInFlight: number,
): Promise<void> {
  for (const arrival of arrivals) {
    if (arrival.dueMs > cab.clock.nowMs()) await sleepUntil(cab.clock, arrival.dueMs, cab.signal)
    if (cab.signal.aborted) return
    if (inFlight.count() >= maxInFlight) cab.drop(arrival, 'max-in-flight')
    else inFlight.track(cab.fire(arrival))
  }
}
