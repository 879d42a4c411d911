import type { Arrival } from '../arrivals/arrivals.ts'
import { sleepUntil } from '../lib/clock.ts'
import type { Cab, InFlight } from './driver.ts'

/** One arrival of a sequence, which is made when it is due. */
export type Turn = {
  readonly make: (dueMs: number) => Arrival
  /** Until when it is held back, as far as can be told now; null: it is not. */
  readonly heldUntilMs: (nowMs: number) => number | null
}

/**
 * Sends the arrivals of each queue in order, one at a time, `lanes` queues side by side. Arrivals are made when they
 * are due, which is when the one before has ended and nothing holds them back. What is left at `endMs` is dropped and counted.
 */
export async function driveSequence(
  cab: Cab,
  queues: readonly (readonly Turn[])[],
  inFlight: InFlight,
  { lanes, endMs }: { readonly lanes: number; readonly endMs: number },
): Promise<void> {
  const { clock, signal } = cab
  const waiting = [...queues]
  /** Whether it was still held back when the stage was over. */
  const waitFor = async ({ heldUntilMs }: Turn): Promise<boolean> => {
    for (let untilMs = heldUntilMs(clock.nowMs()); untilMs !== null; untilMs = heldUntilMs(clock.nowMs())) {
      if (signal.aborted || clock.nowMs() >= endMs) return true
      await sleepUntil(clock, Math.min(untilMs, endMs), signal)
    }
    return false
  }
  const lane = async () => {
    for (let queue = waiting.shift(); queue !== undefined; queue = waiting.shift()) {
      for (const turn of queue) {
        const isHeldBack = await waitFor(turn)
        const nowMs = clock.nowMs()
        const arrival = turn.make(nowMs)
        if (signal.aborted || nowMs >= endMs) {
          cab.drop(arrival, signal.aborted ? 'interrupted' : isHeldBack ? 'failure-limit' : 'stage-over')
          continue
        }
        const work = cab.fire(arrival)
        inFlight.track(work)
        await work
      }
    }
  }
  await Promise.all(Array.from({ length: Math.min(lanes, queues.length) }, lane))
}
