import type { Arrival } from '../arrivals/arrivals.ts'
import { sleepPreciselyUntil } from '../lib/clock.ts'
import type { Cab, InFlight } from './driver.ts'

/**
 * Overdue arrivals are sent without a pause for at most so long; then answers have their turn, for they are stamped when
 * they are read, and so have signals.
 */
const longestTurnMs = 5

/**
 * The open model: every arrival is sent when it is due, whatever became of those before it. With `maxInFlight` under
 * way an arrival is dropped and counted, as is one that is held back; it never waits in a queue. Resolves when the last one was sent, not answered.
 */
export async function driveOpen(
  cab: Cab,
  arrivals: Iterable<Arrival>,
  inFlight: InFlight,
  maxInFlight: number,
): Promise<void> {
  const { clock, signal } = cab
  let turnEndMs = clock.nowMs() + longestTurnMs
  for (const arrival of arrivals) {
    const nowMs = clock.nowMs()
    if (arrival.dueMs > nowMs || nowMs > turnEndMs) {
      await sleepPreciselyUntil(clock, Math.max(arrival.dueMs, nowMs), signal)
      turnEndMs = clock.nowMs() + longestTurnMs
    }
    if (signal.aborted) return
    if (inFlight.count() >= maxInFlight) cab.drop(arrival, 'max-in-flight')
    else if (cab.isHeldBack(arrival)) cab.drop(arrival, 'failure-limit')
    else inFlight.track(cab.fire(arrival))
  }
}
