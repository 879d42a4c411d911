import { compress } from 'snappyjs'
import type { NativeHistogram } from '../../judge/metrics/log-buckets.ts'
import { families, histogramFamilies } from '../prometheus/families.ts'
import {
  bucketBoundsMs,
  type ExpositionSource,
  type Family,
  type HistogramSeries,
  histogramSeries,
} from '../prometheus/samples.ts'
import { createProtobufWriter, type ProtobufWriter } from './protobuf.ts'
import type { WriteBatch } from './send-queue.ts'

/** Encodes the values of all series at one instant as remote-write requests. */
export type Encoder = {
  /**
   * A series that is missing since the last write gets a stale marker. Times are Unix milliseconds and must increase.
   */
  readonly write: (families: Iterable<readonly SeriesSample[]>, atMs: number) => AsyncIterable<WriteBatch>
}

type Series = { readonly labels: Uint8Array; readonly of: 'numbers' | 'histograms'; seenAtMs: number }

/** One block of Snappy; its compression takes about a millisecond. */
const batchBytes = 64 * 1024
/** Series to write before yielding to the event loop; they take well below a millisecond. */
const seriesPerTurn = 250

/** Every series has the labels `identity`. The encoder yields, because the same event loop may send the load. */
export function createEncoder(
  identity: Readonly<Record<string, string>>,
  yieldToEventLoop: () => Promise<void>,
): Encoder {
  const requests = createProtobufWriter(2 * batchBytes)
  const labels = createProtobufWriter()
  const known = new Map<string, Series>()
  let samples = 0

  const seriesOf = ({ name, labels: own, value }: SeriesSample): Series => {
    let key = name
    for (const label in own) key += `\0${own[label]}`
    const found = known.get(key)
    if (found !== undefined) return found
    writeLabels(labels, { ...own, ...identity, __name__: name })
    const of = typeof value === 'number' ? 'numbers' : 'histograms'
    const series: Series = { labels: labels.take(), of, seenAtMs: Number.NaN }
    known.set(key, series)
    return series
  }

  const takeBatch = (): WriteBatch => {
    const written = { body: compress(requests.take()), samples }
    samples = 0
    return written
  }

  /** Writes one series after the other, stale markers last. */
  function* eachSeries(families: Iterable<readonly SeriesSample[]>, atMs: number): Iterable<void> {
    for (const samplesOfFamily of families) {
      for (const sampled of samplesOfFamily) {
        const { value } = sampled
        if (typeof value === 'number' && !Number.isFinite(value)) continue
        const series = seriesOf(sampled)
        // One value per instant. With a second value, a receiver would reject the whole batch.
        if (series.seenAtMs === atMs) continue
        series.seenAtMs = atMs
        yield writeSeries(requests, series.labels, value, atMs)
      }
    }
    for (const [key, series] of known) {
      if (series.seenAtMs === atMs) continue
      known.delete(key)
      yield writeStaleMarker(requests, series.labels, series.of, atMs)
    }
  }

  return {
    write: async function* (values, atMs) {
      let ofTurn = 0
      for (const _ of eachSeries(values, atMs)) {
        samples++
        if (requests.size() >= batchBytes) yield takeBatch()
        else if (++ofTurn < seriesPerTurn) continue
        ofTurn = 0
        await yieldToEventLoop()
      }
      if (samples > 0) yield takeBatch()
    },
  }
}

/** The NaN of a stale marker. Its bits differ from every other NaN. */
const STALE = 0x7ff0_0000_0000_0002n

/** Field numbers of the messages of Prometheus remote write, version 1. */
const request = { series: 1 } as const
const series = { label: 1, sample: 2, histogram: 4 } as const
const label = { name: 1, value: 2 } as const
const sample = { value: 1, timestamp: 2 } as const
const histogram = {
  count: 1,
  sum: 3,
  schema: 4,
  zeroThreshold: 5,
  zeroCount: 6,
  positiveSpan: 11,
  positiveDeltas: 12,
  timestamp: 15,
} as const
const span = { offset: 1, length: 2 } as const

/** The labels of a series, sorted by name as receivers require. Empty labels are left out. */
export function writeLabels(to: ProtobufWriter, labels: Readonly<Record<string, string>>): void {
  const sorted = Object.entries(labels)
    .filter(([, value]) => value !== '')
    .sort(([a], [b]) => (a < b ? -1 : 1))
  for (const [name, value] of sorted) {
    to.message(series.label, () => {
      to.text(label.name, name)
      to.text(label.value, value)
    })
  }
}

/** Writes one value of a series with encoded labels. Concatenated requests are one valid request. */
export function writeSeries(
  to: ProtobufWriter,
  labels: Uint8Array,
  value: number | NativeHistogram,
  atMs: number,
): void {
  to.message(request.series, () => {
    to.raw(labels)
    if (typeof value !== 'number') to.message(series.histogram, () => writeHistogram(to, value, atMs))
    else
      to.message(series.sample, () => {
        to.double(sample.value, value)
        to.uint(sample.timestamp, atMs)
      })
  })
}

/** Ends a series at this instant. A series of histograms needs its stale marker in a histogram. */
export function writeStaleMarker(
  to: ProtobufWriter,
  labels: Uint8Array,
  of: 'numbers' | 'histograms',
  atMs: number,
): void {
  const fields =
    of === 'numbers' ? { at: series.sample, ...sample } : { at: series.histogram, ...histogram, value: histogram.sum }
  to.message(request.series, () => {
    to.raw(labels)
    to.message(fields.at, () => {
      to.doubleBits(fields.value, STALE)
      to.uint(fields.timestamp, atMs)
    })
  })
}

/** Writes both counts even if they are 0, because their presence marks a histogram with integer counts. */
function writeHistogram(to: ProtobufWriter, of: NativeHistogram, atMs: number): void {
  to.uint(histogram.count, of.count)
  to.double(histogram.sum, of.sumSeconds)
  to.sint(histogram.schema, of.schema)
  to.double(histogram.zeroThreshold, of.zeroThreshold)
  to.uint(histogram.zeroCount, of.zeroCount)
  for (const { offset, length } of of.spans)
    to.message(histogram.positiveSpan, () => {
      to.sint(span.offset, offset)
      to.uint(span.length, length)
    })
  to.packedSints(histogram.positiveDeltas, of.deltas)
  to.uint(histogram.timestamp, atMs)
}

/** One value of one series. */
export type SeriesSample = {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number | NativeHistogram
}

/**
 * All metrics of `/metrics`. The iterator reads one family at a time, so it never blocks the event loop for long. A
 * histogram is included twice: as classic buckets, which dashboards query, and as a native histogram.
 */
export function sampleFamilies(source: ExpositionSource): () => Promise<Iterable<readonly SeriesSample[]>> {
  const known = families(source)
  return async () => {
    await source.catchUp()
    return everyFamily()
  }

  function* everyFamily(): Iterable<readonly SeriesSample[]> {
    for (const { name, timing } of histogramFamilies)
      yield histogramSeries(source.metrics, timing).flatMap(series => samplesOfHistogram(name, series))
    for (const family of known) yield ofFamily(family)
  }
}

export const ofFamily = ({ name, samples }: Family): readonly SeriesSample[] =>
  samples().map(({ labels, value }) => ({ name, labels, value }))

const les = bucketBoundsMs.map(ms => String(ms / 1000))

/** A run has thousands of buckets, so their names and labels must be cheap to make. */
function samplesOfHistogram(
  name: string,
  { labels, counts, count, sumSeconds, native }: HistogramSeries,
): readonly SeriesSample[] {
  const { call, stage } = labels
  const bucket = `${name}_bucket`
  return [
    { name, labels, value: native() },
    ...counts.map((value, index) => ({ name: bucket, labels: { call, stage, le: les[index] ?? '' }, value })),
    { name: bucket, labels: { call, stage, le: '+Inf' }, value: count },
    { name: `${name}_sum`, labels, value: sumSeconds },
    { name: `${name}_count`, labels, value: count },
  ]
}
