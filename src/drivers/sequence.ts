import type { Arrival } from '../arrivals/arrivals.ts'
import type { Cab, InFlight } from './driver.ts'

/**
 * Sends the arrivals of each queue in order, one at a time, `lanes` queues side by side. Arrivals are made when they
 * are due, which is when the one before has ended. What is left at `endMs` is dropped and counted.
 */
export async function driveSequence(
  cab: Cab,
  queues: readonly (readonly ((dueMs: number) => Arrival)[])[],
  inFlight: InFlight,
  { lanes, endMs }: { readonly lanes: number; readonly endMs: number },
): Promise<void> {
  const waiting = [...queues]
  const lane = async () => {
    for (let queue = waiting.shift(); queue !== undefined; queue = waiting.shift()) {
      for (const make of queue) {
        const nowMs = cab.clock.nowMs()
        const arrival = make(nowMs)
        if (cab.signal.aborted || nowMs >= endMs) {
          cab.drop(arrival, cab.signal.aborted ? 'interrupted' : 'stage-over')
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
