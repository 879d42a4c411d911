import { createSocket } from 'node:dgram'
import { lookup } from 'node:dns/promises'
import { percentileMs } from '../judge/metrics/histogram.ts'
import { type Clock, sleepUntil } from '../lib/clock.ts'
import { UsageError } from '../lib/usage-error.ts'
import { type Address, parseAddress } from './http-server.ts'
import type { LiveRun, Output } from './output.ts'
import { families, histogramFamilies } from './prometheus/families.ts'
import { type ExpositionSource, exportedSeries, type Family, type Sample } from './prometheus/samples.ts'
import { verdictFamilies } from './prometheus/verdict-families.ts'
import { type PushLoop, startPushLoop } from './remote-write/push-loop.ts'
import type { ReadOutput } from './requested-output.ts'

/** `--statsd`: the address of a StatsD server that reads tags as DogStatsD writes them. */
export const statsdOutput: ReadOutput = (given, { flag }) => {
  const address = parseAddress(flag, given, { usualPort: 8125, allowsPort: false })
  return {
    create: async ({ info, sourceOf, clock }) => {
      const output = createStatsd({ socket: await openSocket(flag, address), runId: info.runId, clock, sourceOf })
      return { ...output, needs: 'gauges' }
    },
  }
}

/** Sends datagrams. UDP confirms none of them. */
type DatagramSocket = { readonly send: (datagram: Buffer) => Promise<void>; readonly close: () => void }

async function openSocket(flag: string, { host, port }: Address): Promise<DatagramSocket> {
  const found = await lookup(host).catch(() => {
    throw new UsageError({ where: flag, got: JSON.stringify(host), expected: 'a host that can be found' })
  })
  const socket = createSocket(found.family === 6 ? 'udp6' : 'udp4')
  return {
    // A server that is down or far away must not end the run.
    send: datagram => new Promise(resolve => socket.send(datagram, port, found.address, () => resolve())),
    close: () => socket.close(),
  }
}

export type StatsdOptions = {
  readonly socket: DatagramSocket
  readonly runId: string
  readonly clock: Clock
  readonly sourceOf: (live: LiveRun) => ExpositionSource
}

/** Fits a packet of Ethernet, so that no network splits it. */
const maxDatagramBytes = 1_432
const quantiles = [0.5, 0.95, 0.99]

/** Sends all metrics of a run to a StatsD server during the run, and its verdict at the end. */
export function createStatsd({ socket, runId, clock, sourceOf }: StatsdOptions): Output {
  const lineOf = createLines(runId)
  const sending = new Set<Promise<void>>()
  let loop: PushLoop<readonly Family[]> | null = null

  async function* datagrams(read: readonly Family[]) {
    let body = ''
    for (const family of read)
      for (const line of family.samples().flatMap(sample => lineOf(family, sample))) {
        if (body !== '' && Buffer.byteLength(body) + Buffer.byteLength(line) >= maxDatagramBytes) {
          yield { body: Buffer.from(body), samples: 0 }
          body = ''
          // The same event loop may send the load.
          await sleepUntil(clock, clock.nowMs())
        }
        body = body === '' ? line : `${body}\n${line}`
      }
    if (body !== '') yield { body: Buffer.from(body), samples: 0 }
  }

  return {
    start: live => {
      const source = sourceOf(live)
      const known = [...families(source), ...timingFamilies(source)]
      loop = startPushLoop<readonly Family[]>({
        clock,
        queue: {
          put: ({ body }) => {
            const sent = socket.send(Buffer.from(body)).finally(() => sending.delete(sent))
            sending.add(sent)
          },
          flush: async () => void (await Promise.all(sending)),
        },
        note: () => {},
        read: async last => {
          await source.catchUp()
          return () => datagrams([...known, ...(last ?? [])])
        },
        end: () => datagrams([]),
      })
    },
    finish: async (report, quit) => await loop?.finish(verdictFamilies(report), quit),
    close: async () => {
      loop?.stop()
      socket.close()
    },
  }
}

/** A server sums what counters send, so they send what was added. A gauge with a sign would change the last value. */
function createLines(runId: string): (family: Family, sample: Sample) => readonly string[] {
  const counted = new Map<string, number>()
  return ({ name, kind }, { labels, value }) => {
    const tags = Object.entries({ ...labels, instance: runId }).filter(([, text]) => text !== '')
    const line = (amount: number) =>
      `${name}:${amount}|${kind === 'counter' ? 'c' : 'g'}|#${tags.map(([key, text]) => `${key}:${tagText(text)}`)}`
    if (!Number.isFinite(value)) return []
    if (kind === 'gauge') return value < 0 ? [line(0), line(value)] : [line(value)]
    const key = line(0)
    const added = value - (counted.get(key) ?? 0)
    counted.set(key, value)
    return added > 0 ? [line(added)] : []
  }
}

/** A tag without the characters that separate the parts of a line. */
const tagText = (text: string): string => text.replace(/[|,#\s]/g, '_')

/** StatsD has no histograms: each becomes a count, a sum, and quantiles of the run so far. */
const timingFamilies = ({ metrics }: ExpositionSource): readonly Family[] =>
  histogramFamilies.flatMap(({ name, timing, help }) => {
    const samplesOf = (
      read: (of: ReturnType<ReturnType<typeof exportedSeries>[number]['stats']['timing']>) => number,
    ) =>
      exportedSeries(metrics)
        .map(({ call, stage, stats }) => ({ labels: { call, stage }, histogram: stats.timing(timing) }))
        .filter(({ histogram }) => histogram.count() > 0)
        .map(({ labels, histogram }) => ({ labels, value: read(histogram) }))
    return [
      { name: `${name}_count`, kind: 'counter', help, labels: [], samples: () => samplesOf(each => each.count()) },
      { name: `${name}_sum`, kind: 'counter', help, labels: [], samples: () => samplesOf(each => each.sumMs() / 1000) },
      {
        ...{ name, kind: 'gauge', help, labels: [] },
        samples: () =>
          quantiles.flatMap(quantile =>
            samplesOf(each => (percentileMs(each, quantile * 100) ?? Number.NaN) / 1000).map(({ labels, value }) => ({
              labels: { ...labels, quantile: String(quantile) },
              value,
            })),
          ),
      },
    ] as const
  })
