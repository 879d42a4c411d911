import { sleepUntil } from '../../lib/clock.ts'
import type { Arrival } from '../arrivals/arrivals.ts'
import type { DriverContext } from './driver.ts'

/**
 * The closed model at its limit: connections that are never idle. `feed` is given what fires the next arrival, and calls
 * it whenever a connection is free; `false` means that there was none. Resolves at `endMs`, or when `maxCalls` were fired
 * and have ended, as `feed` then does.
 */
export async function driveSaturate(
  context: DriverContext,
  next: (dueMs: number) => Arrival,
  feed: (fireNext: () => boolean) => Promise<void>,
  { maxCalls, endMs }: { readonly maxCalls: number; readonly endMs: number },
): Promise<void> {
  const { clock, signal, inFlight } = context
  let calls = 0
  const fireNext = (): boolean => {
    const nowMs = clock.nowMs()
    if (signal.aborted || nowMs >= endMs || calls >= maxCalls) return false
    calls++
    inFlight.track(context.fire(next(nowMs)))
    return true
  }
  await Promise.race([feed(fireNext), sleepUntil(clock, endMs, signal)])
}
