import type { Arrival } from '../arrivals/arrivals.ts'
import { sleepUntil } from '../lib/clock.ts'
import type { Cab, InFlight } from './driver.ts'

/**
 * The closed model at its limit: connections that are kept busy. `keepBusy` takes what fires the next arrival, and calls
 * it whenever a connection is free; that says whether there was one. Resolves at `endMs`, or when `maxCalls` were
 * fired and have ended, as `keepBusy` then does.
 */
export async function driveSaturate(
  cab: Cab,
  next: (dueMs: number) => Arrival,
  inFlight: InFlight,
  keepBusy: (fireNext: () => boolean) => Promise<void>,
  { maxCalls, endMs }: { readonly maxCalls: number; readonly endMs: number },
): Promise<void> {
  const { clock, signal } = cab
  let calls = 0
  const fireNext = (): boolean => {
    const nowMs = clock.nowMs()
    if (signal.aborted || nowMs >= endMs || calls >= maxCalls) return false
    calls++
    inFlight.track(cab.fire(next(nowMs)))
    return true
  }
  await Promise.race([keepBusy(fireNext), sleepUntil(clock, endMs, signal)])
}
