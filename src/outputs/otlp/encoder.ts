import { gzipSync } from 'node:zlib'
import type { NativeHistogram } from '../../judge/metrics/log-buckets.ts'
import type { WriteBatch } from '../remote-write/send-queue.ts'
import type { FixedBuckets, Metric, MetricPoint } from './metrics.ts'

/** The value of an attribute. A number is an integer if `int` says so. */
export type AttributeValue =
  | string
  | number
  | boolean
  | readonly string[]
  /** An integer. JSON has it as text, because 64 bits do not fit into a number. */
  | { readonly int: number }

export type Attributes = Readonly<Record<string, AttributeValue>>

/** Encodes the values of all metrics at one instant as OTLP requests in JSON. */
export type MetricsEncoder = {
  /**
   * A series that is missing since the last write gets a point without a value, which ends it. Times are Unix
   * milliseconds and must increase.
   */
  readonly write: (metrics: Iterable<Metric>, atMs: number) => AsyncIterable<WriteBatch>
}

type Series = { readonly head: Omit<Metric, 'points'>; readonly attributes: string; seenAtMs: number }

/** Characters of one request; its compression takes about a millisecond. */
const batchCharacters = 128 * 1024
/** Points to write before yielding to the event loop; they take well below a millisecond. */
const pointsPerTurn = 250

/** Yields between the points, because the same event loop may send the load. */
export function createMetricsEncoder(
  resource: Attributes,
  { version, startMs }: { readonly version: string; readonly startMs: number },
  yieldToEventLoop: () => Promise<void>,
): MetricsEncoder {
  const known = new Map<string, Series>()
  const opening = `{"resourceMetrics":[{"resource":${resourceJson(resource)},"scopeMetrics":[{"scope":${scopeJson(version)},"metrics":[`
  const closing = ']}]}]}'

  const seriesOf = (head: Series['head'], labels: MetricPoint['labels']): Series => {
    let key = head.name
    for (const label in labels) key += `\0${labels[label]}`
    const found = known.get(key)
    if (found !== undefined) return found
    const series: Series = { head, attributes: JSON.stringify(keyValues(labels)), seenAtMs: Number.NaN }
    known.set(key, series)
    return series
  }

  /** Each point with its series, those without a value last. */
  function* eachPoint(
    metrics: Iterable<Metric>,
    atMs: number,
  ): Iterable<readonly [Series, MetricPoint['value'] | null]> {
    for (const { points, ...head } of metrics)
      for (const { labels, value } of points) {
        if (typeof value === 'number' && !Number.isFinite(value)) continue
        const series = seriesOf(head, labels)
        // One value per instant. With a second value, a receiver would reject the request.
        if (series.seenAtMs === atMs) continue
        series.seenAtMs = atMs
        yield [series, value]
      }
    for (const [key, series] of known) {
      if (series.seenAtMs === atMs) continue
      known.delete(key)
      yield [series, null]
    }
  }

  return {
    write: async function* (metrics, atMs) {
      let [text, name, points, ofTurn] = [opening, '', 0, 0]
      const take = (): WriteBatch => {
        const batch = { body: gzipped(`${text}${endOfMetric}${closing}`), samples: points }
        ;[text, name, points] = [opening, '', 0]
        return batch
      }
      for (const [series, value] of eachPoint(metrics, atMs)) {
        const { head, attributes } = series
        text += head.name === name ? ',' : `${name === '' ? '' : `${endOfMetric},`}${startOfMetric(head)}`
        text += pointJson(attributes, value, head.sinceMs ?? startMs, atMs)
        name = head.name
        points++
        if (text.length >= batchCharacters) yield take()
        else if (++ofTurn < pointsPerTurn) continue
        ofTurn = 0
        await yieldToEventLoop()
      }
      if (points > 0) yield take()
    },
  }
}

/** Much faster than the default, and not much larger. */
export const gzipped = (text: string): Uint8Array => gzipSync(text, { level: 1 })

export const resourceJson = (resource: Attributes): string => JSON.stringify({ attributes: keyValues(resource) })

/** The instrumentation scope: the same for all metrics and spans. */
export const scopeJson = (version: string): string => JSON.stringify({ name: 'turnpike', version })

export type KeyValue = { readonly key: string; readonly value: unknown }

export const keyValues = (attributes: Attributes): readonly KeyValue[] =>
  Object.entries(attributes).map(([key, value]) => ({ key, value: anyValue(value) }))

function anyValue(value: AttributeValue): unknown {
  if (typeof value === 'string') return { stringValue: value }
  if (typeof value === 'number') return { doubleValue: value }
  if (typeof value === 'boolean') return { boolValue: value }
  if ('int' in value) return { intValue: String(value.int) }
  return { arrayValue: { values: value.map(anyValue) } }
}

/** Unix nanoseconds as text. They do not fit into a number. */
export const nanosOf = (unixMs: number): string => String(BigInt(Math.round(unixMs * 1000)) * 1000n)

const cumulative = 2

function startOfMetric({ name, help, kind }: Series['head']): string {
  const head = JSON.stringify({ name, description: help, unit: unitOf(name) }).slice(0, -1)
  switch (kind) {
    case 'gauge':
      return `${head},"gauge":{"dataPoints":[`
    case 'counter':
      return `${head},"sum":{"aggregationTemporality":${cumulative},"isMonotonic":true,"dataPoints":[`
    case 'exponential':
      return `${head},"exponentialHistogram":{"aggregationTemporality":${cumulative},"dataPoints":[`
    case 'histogram':
      return `${head},"histogram":{"aggregationTemporality":${cumulative},"dataPoints":[`
  }
}

const endOfMetric = ']}}'

/** Names end with their unit, as in Prometheus, so a receiver does not add the unit a second time. */
export const unitOf = (name: string): string =>
  /_seconds(_total)?$/.test(name) ? 's' : /_bytes(_total)?$/.test(name) ? 'By' : ''

/** The point has no value and ends its series. */
const noRecordedValue = 1

function pointJson(attributes: string, value: MetricPoint['value'] | null, sinceMs: number, atMs: number): string {
  const head = `{"attributes":${attributes},"startTimeUnixNano":"${nanosOf(sinceMs)}","timeUnixNano":"${nanosOf(atMs)}"`
  if (value === null) return `${head},"flags":${noRecordedValue}}`
  if (typeof value === 'number') return `${head},"asDouble":${value}}`
  const fields = 'schema' in value ? exponential(value) : explicit(value)
  return `${head},${JSON.stringify(fields).slice(1)}`
}

/** Bucket *i* holds values above `growth ** i` and up to `growth ** (i + 1)`: one less than in Prometheus. */
function exponential({ schema, zeroThreshold, zeroCount, count, sumSeconds, spans, deltas }: NativeHistogram) {
  const counts: string[] = []
  let last = 0
  let next = 0
  for (const [index, { offset, length }] of spans.entries()) {
    if (index > 0) for (let gap = 0; gap < offset; gap++) counts.push('0')
    for (let bucket = 0; bucket < length; bucket++) {
      last += deltas[next++] ?? 0
      counts.push(String(last))
    }
  }
  return {
    count: String(count),
    sum: sumSeconds,
    scale: schema,
    zeroCount: String(zeroCount),
    zeroThreshold,
    positive: { offset: (spans[0]?.offset ?? 1) - 1, bucketCounts: counts },
  }
}

const explicit = ({ bounds, counts, count, sum }: FixedBuckets) => ({
  count: String(count),
  sum,
  bucketCounts: counts.map(String),
  explicitBounds: bounds,
})
