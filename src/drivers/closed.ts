import type { Arrival } from '../arrivals/arrivals.ts'
import { sleepUntil } from '../lib/clock.ts'
import type { Cab, InFlight } from './driver.ts'

/**
 * The closed model: `users` callers of the schedule who each send, wait for the answer, think for `thinkMs` and send
 * again, until `endMs`. What they send is due at the moment they want it, so it shows no queueing on the target's side.
 */
export async function driveClosed(
  cab: Cab,
  next: (dueMs: number) => Arrival,
  inFlight: InFlight,
  { users, thinkMs, endMs }: { readonly users: number; readonly thinkMs: number; readonly endMs: number },
): Promise<void> {
  const user = async () => {
    while (!cab.signal.aborted && cab.clock.nowMs() < endMs) {
      const work = cab.fire(next(cab.clock.nowMs()))
      inFlight.track(work)
      await work
      if (thinkMs > 0) await sleepUntil(cab.clock, cab.clock.nowMs() + thinkMs, cab.signal)
    }
  }
  await Promise.all(Array.from({ length: users }, user))
}
