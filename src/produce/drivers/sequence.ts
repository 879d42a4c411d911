import { sleepUntil } from '../../lib/clock.ts'
import type { Arrival } from '../arrivals/arrivals.ts'
import type { DriverContext } from './driver.ts'

/** One arrival of a sequence, which is made when it is due. */
export type SequenceStep = {
  readonly make: (dueMs: number) => Arrival
  /** Until when it must wait, as far as is known now; null: it need not. */
  readonly waitUntilMs: (nowMs: number) => number | null
}

/**
 * Sends the arrivals of each queue in order, one at a time, with `lanes` queues side by side. An arrival is due when the
 * one before it has ended and it need not wait; it is made then. What is left at `endMs` is dropped and counted.
 */
export async function driveSequence(
  context: DriverContext,
  queues: readonly (readonly SequenceStep[])[],
  { lanes, endMs }: { readonly lanes: number; readonly endMs: number },
): Promise<void> {
  const { clock, signal, inFlight } = context
  const waiting = [...queues]
  /** Resolves with whether the step still had to wait when the stage was over. */
  const waitFor = async ({ waitUntilMs }: SequenceStep): Promise<boolean> => {
    for (let untilMs = waitUntilMs(clock.nowMs()); untilMs !== null; untilMs = waitUntilMs(clock.nowMs())) {
      if (signal.aborted || clock.nowMs() >= endMs) return true
      await sleepUntil(clock, Math.min(untilMs, endMs), signal)
    }
    return false
  }
  const lane = async () => {
    for (let queue = waiting.shift(); queue !== undefined; queue = waiting.shift()) {
      for (const step of queue) {
        const mustWait = await waitFor(step)
        const nowMs = clock.nowMs()
        const arrival = step.make(nowMs)
        if (signal.aborted || nowMs >= endMs) {
          context.drop(arrival, signal.aborted ? 'interrupted' : mustWait ? 'failure-limit' : 'stage-over')
          continue
        }
        const work = context.fire(arrival)
        inFlight.track(work)
        await work
      }
    }
  }
  await Promise.all(Array.from({ length: Math.min(lanes, queues.length) }, lane))
}
