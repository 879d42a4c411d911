import { sleepUntil } from '../../lib/clock.ts'
import type { Arrival } from '../arrivals/arrivals.ts'
import type { DriverContext } from './driver.ts'

/** A user skips a call that must wait or cannot be sent, and pauses at least this long before the next one. */
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
  await new Promise<void>((resolve, reject) => {
    const pause = (ms: number) =>
      void sleepUntil(clock, Math.min(clock.nowMs() + ms, endMs), signal)
        .then(sendNext)
        .catch(reject)
    const sendNext = (): void => {
      if (signal.aborted || clock.nowMs() >= endMs) return
      const arrival = next(clock.nowMs())
      if (context.mustWait(arrival)) {
        context.drop(arrival, 'failure-limit')
        pause(Math.max(thinkMs, skipPauseMs))
        return
      }
      let isFree = false
      const onFree = (): void => {
        if (isFree) return
        isFree = true
        if (thinkMs > 0) pause(thinkMs)
        else sendNext()
      }
      const work = context.fire(arrival, onFree)
      inFlight.track(work)
      const onEnd = (wasSent: boolean) => (wasSent ? onFree() : pause(Math.max(thinkMs, skipPauseMs)))
      work.then(onEnd).catch(reject)
    }
    for (let user = 0; user < users; user++) sendNext()
    void sleepUntil(clock, endMs, signal).then(resolve)
  })
}

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
