import type { Arrival } from '../arrivals/arrivals.ts'
import { sleepUntil } from '../lib/clock.ts'
import type { Cab, InFlight } from './driver.ts'

/** A user whose call is held back goes on to the next one after so long at least. */
const heldBackMs = 100

/**
 * The closed model: `users` callers of the schedule who each send, wait for the answer, think for `thinkMs` and send
 * again. What they send is due at the moment they want it, so it shows no queueing on the target's side. Resolves at
 * `endMs`, as the open model does, whatever is still under way: a slow answer must not make the next stage late.
 */
export async function driveClosed(
  cab: Cab,
  next: (dueMs: number) => Arrival,
  inFlight: InFlight,
  { users, thinkMs, endMs }: { readonly users: number; readonly thinkMs: number; readonly endMs: number },
): Promise<void> {
  const { clock, signal } = cab
  const user = async () => {
    while (!signal.aborted && clock.nowMs() < endMs) {
      const arrival = next(clock.nowMs())
      const isHeldBack = cab.isHeldBack(arrival)
      if (isHeldBack) cab.drop(arrival, 'failure-limit')
      else {
        const work = cab.fire(arrival)
        inFlight.track(work)
        await work
      }
      const pauseMs = isHeldBack ? Math.max(thinkMs, heldBackMs) : thinkMs
      if (pauseMs > 0) await sleepUntil(clock, Math.min(clock.nowMs() + pauseMs, endMs), signal)
    }
  }
  await Promise.race([Promise.all(Array.from({ length: users }, user)), sleepUntil(clock, endMs, signal)])
}
