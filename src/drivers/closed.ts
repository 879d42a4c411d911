import type { Arrival } from '../arrivals/arrivals.ts'
import { sleepUntil } from '../lib/clock.ts'
import type { Cab, InFlight } from './driver.ts'

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
      const work = cab.fire(next(clock.nowMs()))
      inFlight.track(work)
      await work
      if (thinkMs > 0) await sleepUntil(clock, Math.min(clock.nowMs() + thinkMs, endMs), signal)
    }
  }
  await Promise.race([Promise.all(Array.from({ length: users }, user)), sleepUntil(clock, endMs, signal)])
}
