import { sleepUntil } from '../../lib/clock.ts'
import type { Arrival } from '../arrivals/arrivals.ts'
import type { DriverContext } from './driver.ts'

/** One step of a sequence. Each attempt of it is an arrival. */
export type SequenceStep = {
  /** Makes an arrival when it is due. */
  readonly make: (dueMs: number) => Arrival
  /** When it may be sent, as far as is known now; null: immediately. */
  readonly waitUntilMs: (nowMs: number) => number | null
  /**
   * Sends an arrival, and resolves when all of its requests have been observed. `lost`: a connection broke before the
   * first byte of a response, so the outcome of the step is unknown.
   */
  readonly send: (arrival: Arrival) => Promise<'done' | 'lost'>
}

/** How often a step is sent, at most, while its connections break. */
const maxAttempts = 3

/**
 * Sends the steps of each queue in order, one at a time, with `lanes` queues in parallel. A step is due when the previous
 * one has ended and it need not wait. A lost one is sent again. Drops and counts the steps that are left at `endMs`.
 */
export async function driveSequence(
  { clock, signal, inFlight, drop }: Pick<DriverContext, 'clock' | 'signal' | 'inFlight' | 'drop'>,
  queues: readonly (readonly SequenceStep[])[],
  { lanes, endMs }: { readonly lanes: number; readonly endMs: number },
): Promise<void> {
  const waiting = [...queues]
  const isOver = () => signal.aborted || clock.nowMs() >= endMs
  /** Resolves with true if the step still had to wait at the end of the stage. */
  const waitFor = async ({ waitUntilMs }: SequenceStep): Promise<boolean> => {
    for (let untilMs = waitUntilMs(clock.nowMs()); untilMs !== null; untilMs = waitUntilMs(clock.nowMs())) {
      if (isOver()) return true
      await sleepUntil(clock, Math.min(untilMs, endMs), signal)
    }
    return false
  }
  const attempt = async (step: SequenceStep): Promise<'done' | 'lost'> => {
    const mustWait = await waitFor(step)
    const arrival = step.make(clock.nowMs())
    if (isOver()) {
      drop(arrival, signal.aborted ? 'interrupted' : mustWait ? 'failure-limit' : 'stage-over')
      return 'done'
    }
    const work = step.send(arrival)
    inFlight.track(work)
    return await work
  }
  const lane = async () => {
    for (let queue = waiting.shift(); queue !== undefined; queue = waiting.shift())
      for (const step of queue) {
        let left = maxAttempts
        while ((await attempt(step)) === 'lost' && --left > 0 && !isOver());
      }
  }
  await Promise.all(Array.from({ length: Math.min(lanes, queues.length) }, lane))
}
