import { type Clock, sleepUntil } from '../../lib/clock.ts'
import type { SendQueue, WriteBatch } from './send-queue.ts'

/** Pushes all metrics of a run every two seconds. */
export type PushLoop<Last> = {
  /** Pushes all metrics and `last`, then ends all series. Resolves when the queue is empty, or when `until` aborts. */
  readonly finish: (last: Last, until: AbortSignal) => Promise<void>
  /** Stops pushing. */
  readonly stop: () => void
}

/** Encodes values for an instant in Unix milliseconds. */
type Batches = (atMs: number) => AsyncIterable<WriteBatch>

export type PushLoopOptions<Last> = {
  readonly clock: Clock
  readonly queue: Pick<SendQueue, 'put' | 'flush'>
  /** Reads all metrics, and takes `last` if the run is over. */
  readonly read: (last: Last | null) => Promise<Batches>
  /** The end of all series. */
  readonly end: Batches
  readonly note: (line: string) => void
}

/**
 * Equal to the scrape interval of the shipped Prometheus configuration; the dashboards take rates over four of these.
 */
const pushEveryMs = 2_000

export function startPushLoop<Last>({ clock, queue, read, end, note }: PushLoopOptions<Last>): PushLoop<Last> {
  const stopped = new AbortController()
  let latestMs = 0

  /** The times of a series must increase, even between two immediate writes. */
  async function put(batches: Batches): Promise<void> {
    latestMs = Math.max(Math.round(clock.wallMs()), latestMs + 1)
    for await (const batch of batches(latestMs)) queue.put(batch)
  }

  async function putAll(last: Last | null): Promise<void> {
    try {
      await put(await read(last))
    } catch (cause) {
      // An output must not end the run.
      note(`one write was skipped: ${cause}`)
    }
  }

  async function keepPushing(): Promise<void> {
    for (let dueMs = clock.nowMs(); !stopped.signal.aborted; ) {
      await putAll(null)
      dueMs = Math.max(dueMs + pushEveryMs, clock.nowMs())
      await sleepUntil(clock, dueMs, stopped.signal)
    }
  }

  const pushing = keepPushing()
  return {
    stop: () => stopped.abort(),
    finish: async (last, until) => {
      stopped.abort()
      await pushing
      await putAll(last)
      await put(end)
      await queue.flush(until)
    },
  }
}
