import { type Clock, sleepUntil } from '../../lib/clock.ts'
import type { LiveRun, Output } from '../output.ts'
import type { ExpositionSource } from '../prometheus/samples.ts'
import { processMetrics } from '../prometheus/scrape.ts'
import { verdictFamilies } from '../prometheus/verdict-families.ts'
import { createEncoder, ofFamily, type SeriesSample, sampleFamilies } from './encoder.ts'
import { createPost, finishInTime, type ReceiverLink } from './receiver.ts'
import { createSendQueue, type SendQueue } from './send-queue.ts'

/** Version 1 of the protocol, which every receiver supports. */
const request = {
  method: 'POST',
  headers: {
    'content-type': 'application/x-protobuf',
    'content-encoding': 'snappy',
    'x-prometheus-remote-write-version': '0.1.0',
    'user-agent': 'turnpike',
  },
} as const

/** Writes all metrics of a run to a receiver during the run, and its verdict at the end. */
export function createRemoteWrite(
  link: ReceiverLink,
  runId: string,
  sourceOf: (live: LiveRun) => ExpositionSource,
): Output & Required<Pick<Output, 'pushCounts'>> {
  const { clock, note } = link
  const queue = createSendQueue({ clock, note, post: createPost(link, request) })
  // Without a unique label, the series of two runs would be the same, and the receiver would reject one of them.
  const identity = { job: 'turnpike', instance: runId }
  let loop: RemoteWriteLoop | null = null
  return {
    start: live => {
      const samples = sampleFamilies(sourceOf(live))
      loop = startRemoteWriteLoop({ clock, queue, samples, processSamples: processMetrics(), identity, note })
    },
    finish: async (report, quit) => {
      const last = verdictFamilies(report).map(ofFamily)
      await finishInTime(clock, quit, async until => loop?.finish(last, until))
      link.reportCounts(queue.tally())
    },
    pushCounts: queue.tally,
    close: async () => {
      loop?.stop()
      await link.close()
    },
  }
}

/** Writes all series to a receiver every two seconds during a run. */
export type RemoteWriteLoop = {
  /** Writes all series and `last`, then stale markers. Resolves when the queue is empty, or when `until` aborts. */
  readonly finish: (last: readonly (readonly SeriesSample[])[], until: AbortSignal) => Promise<void>
  /** Stops writing. */
  readonly stop: () => void
}

export type RemoteWriteLoopOptions = {
  readonly clock: Clock
  readonly queue: SendQueue
  readonly samples: () => Promise<Iterable<readonly SeriesSample[]>>
  readonly processSamples: () => Promise<readonly SeriesSample[]>
  /** The labels of every series, unique to this run. */
  readonly identity: Readonly<Record<string, string>>
  readonly note: (line: string) => void
}

/**
 * Equal to the scrape interval of the shipped Prometheus configuration; the dashboards take rates over four of these.
 */
const writeEveryMs = 2_000

export function startRemoteWriteLoop(options: RemoteWriteLoopOptions): RemoteWriteLoop {
  const { clock, queue, samples, processSamples, identity, note } = options
  const stopped = new AbortController()
  const encoder = createEncoder(identity, () => sleepUntil(clock, clock.nowMs()))
  let latestMs = 0

  /** The times of a series must increase, even between two immediate writes. */
  async function write(families: Iterable<readonly SeriesSample[]>): Promise<void> {
    latestMs = Math.max(Math.round(clock.wallMs()), latestMs + 1)
    for await (const batch of encoder.write(families, latestMs)) queue.put(batch)
  }

  async function writeAll(more: readonly (readonly SeriesSample[])[]): Promise<void> {
    try {
      const ofProcess = await processSamples()
      await write(chain(await samples(), [ofProcess, ...more]))
    } catch (cause) {
      // An output must not end the run.
      note(`one write was skipped: ${cause}`)
    }
  }

  async function keepWriting(): Promise<void> {
    for (let dueMs = clock.nowMs(); !stopped.signal.aborted; ) {
      await writeAll([])
      dueMs = Math.max(dueMs + writeEveryMs, clock.nowMs())
      await sleepUntil(clock, dueMs, stopped.signal)
    }
  }

  const writing = keepWriting()
  return {
    stop: () => stopped.abort(),
    finish: async (last, until) => {
      stopped.abort()
      await writing
      await writeAll(last)
      await write([])
      await queue.flush(until)
    },
  }
}

function* chain<Item>(...lists: readonly Iterable<Item>[]): Iterable<Item> {
  for (const list of lists) yield* list
}
