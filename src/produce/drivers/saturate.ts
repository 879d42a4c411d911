import { sleepUntil } from '../../lib/clock.ts'
import type { Arrival } from '../arrivals/arrivals.ts'
import type { DriverContext } from './driver.ts'

/**
 * The closed model at its limit: connections that are never idle. `feed` calls `fireNext` whenever a connection is
 * free; `false` means that there are no more arrivals. Resolves at `endMs`, or when `feed` resolves because `maxCalls`
 * were fired and have ended.
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
