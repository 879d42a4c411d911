import { type Clock, sleepUntil } from '../../lib/clock.ts'
import type { LiveRun, Output } from '../output.ts'
import type { ExpositionSource } from '../prometheus/samples.ts'
import { processMetrics } from '../prometheus/scrape.ts'
import { verdictFamilies } from '../prometheus/verdict-families.ts'
import type { ReadOutput } from '../requested-output.ts'
import { createEncoder, ofFamily, type SeriesSample, sampleFamilies } from './encoder.ts'
import { type PushLoop, startPushLoop } from './push-loop.ts'
import { createPost, finishInTime, parseReceiver, type ReceiverLink } from './receiver.ts'
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

/** `--remote-write`: the address of a receiver. */
export const remoteWriteOutput: ReadOutput = (given, { flag, environment }) => {
  const variable = 'TURNPIKE_REMOTE_WRITE_CREDENTIALS'
  const receiver = parseReceiver(flag, given, variable, environment[variable])
  return {
    create: ({ info, sourceOf, linkTo }) => {
      const output = createRemoteWrite(linkTo(receiver, 'Remote write to'), info.runId, sourceOf)
      return { ...output, needs: 'gauges' }
    },
  }
}

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
  let loop: PushLoop<Last> | null = null
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

export type RemoteWriteLoopOptions = {
  readonly clock: Clock
  readonly queue: SendQueue
  readonly samples: () => Promise<Iterable<readonly SeriesSample[]>>
  readonly processSamples: () => Promise<readonly SeriesSample[]>
  /** The labels of every series, unique to this run. */
  readonly identity: Readonly<Record<string, string>>
  readonly note: (line: string) => void
}

type Last = readonly (readonly SeriesSample[])[]

/** Writes all series to a receiver every two seconds during a run, and stale markers at its end. */
export function startRemoteWriteLoop(options: RemoteWriteLoopOptions): PushLoop<Last> {
  const { clock, queue, samples, processSamples, identity, note } = options
  const encoder = createEncoder(identity, () => sleepUntil(clock, clock.nowMs()))
  return startPushLoop<Last>({
    clock,
    queue,
    note,
    read: async last => {
      const ofProcess = await processSamples()
      const all = chain(await samples(), [ofProcess, ...(last ?? [])])
      return atMs => encoder.write(all, atMs)
    },
    end: atMs => encoder.write([], atMs),
  })
}

function* chain<Item>(...lists: readonly Iterable<Item>[]): Iterable<Item> {
  for (const list of lists) yield* list
}
