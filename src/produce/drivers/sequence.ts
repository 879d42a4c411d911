import { sleepUntil } from '../../lib/clock.ts'
import type { Arrival } from '../arrivals/arrivals.ts'
import type { DriverContext } from './driver.ts'

/** One arrival of a sequence; it is made when it is due. */
export type SequenceStep = {
  readonly make: (dueMs: number) => Arrival
  /** When it may be sent, as far as is known now; null: immediately. */
  readonly waitUntilMs: (nowMs: number) => number | null
}

/**
 * Sends the arrivals of each queue in order, one at a time, with `lanes` queues in parallel. An arrival is made, and is
 * due, when the previous one has ended and it need not wait. Drops and counts the arrivals that are left at `endMs`.
 */
export async function driveSequence(
  context: DriverContext,
  queues: readonly (readonly SequenceStep[])[],
  { lanes, endMs }: { readonly lanes: number; readonly endMs: number },
): Promise<void> {
  const { clock, signal, inFlight } = context
  const waiting = [...queues]
  /** Resolves with true if the step still had to wait at the end of the stage. */
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
