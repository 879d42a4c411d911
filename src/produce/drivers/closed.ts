import { sleepUntil } from '../../lib/clock.ts'
import type { Arrival } from '../arrivals/arrivals.ts'
import type { DriverContext } from './driver.ts'

/** A user whose call must wait skips it, and goes on to the next one after at least this long. */
const skipPauseMs = 100

/**
 * The closed model: `users` callers of the schedule each send, wait for the response, think for `thinkMs` and send
 * again. What they send is due at the moment they want it, so latency shows no queueing at the target. Resolves at
 * `endMs`, as the open model does, whatever is still in flight: a slow response must not make the next stage late.
 */
export async function driveClosed(
  context: DriverContext,
  next: (dueMs: number) => Arrival,
  { users, thinkMs, endMs }: { readonly users: number; readonly thinkMs: number; readonly endMs: number },
): Promise<void> {
  const { clock, signal, inFlight } = context
  const user = async () => {
    while (!signal.aborted && clock.nowMs() < endMs) {
      const arrival = next(clock.nowMs())
      const mustWait = context.mustWait(arrival)
      if (mustWait) context.drop(arrival, 'failure-limit')
      else {
        const work = context.fire(arrival)
        inFlight.track(work)
        await work
      }
      const pauseMs = mustWait ? Math.max(thinkMs, skipPauseMs) : thinkMs
      if (pauseMs > 0) await sleepUntil(clock, Math.min(clock.nowMs() + pauseMs, endMs), signal)
    }
  }
  await Promise.race([Promise.all(Array.from({ length: users }, user)), sleepUntil(clock, endMs, signal)])
}
