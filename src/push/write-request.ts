import type { NativeHistogram } from '../metrics/log-buckets.ts'
import type { ProtobufWriter } from './protobuf.ts'

/** The NaN that ends a series, told from every other NaN by its bits. */
const STALE = 0x7ff0_0000_0000_0002n

/** Fields of the messages of Prometheus's remote write, version 1. */
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

/** The labels of a series, sorted by their names as receivers want them; one without a value is none. */
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

/** What a series of these labels, written before, has at an instant. Requests one behind the other are one request. */
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

/** From this instant on the series has no value, which one of histograms must be told in a histogram. */
export function endSeries(to: ProtobufWriter, labels: Uint8Array, of: 'numbers' | 'histograms', atMs: number): void {
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

/** The two counts are written although they may be 0: that they are there says that the histogram counts in integers. */
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
