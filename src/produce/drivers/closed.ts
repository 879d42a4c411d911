import { sleepUntil } from '../../lib/clock.ts'
import type { Arrival } from '../arrivals/arrivals.ts'
import type { DriverContext } from './driver.ts'

/** A user skips a call that must wait, and pauses at least this long before the next one. */
const skipPauseMs = 100

/**
 * The closed model: each of `users` users sends, waits for the response, thinks for `thinkMs` and sends again. Each
 * call is due when its user sends it, so latency hides queueing at the target. Resolves at `endMs`, even with requests
 * in flight: a slow response must not delay the next stage.
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
