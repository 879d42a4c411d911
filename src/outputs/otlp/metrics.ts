import type { NativeHistogram } from '../../judge/metrics/log-buckets.ts'
import type { Report } from '../../report/document.ts'
import { families, histogramFamilies } from '../prometheus/families.ts'
import { type ExpositionSource, type Family, histogramSeries } from '../prometheus/samples.ts'
import { type NamedSample, type ProcessFamily, processFamilies } from '../prometheus/scrape.ts'
import { verdictFamilies } from '../prometheus/verdict-families.ts'

/** The values of one metric. It has the name of the Prometheus metric, so every receiver shows the same series. */
export type Metric = {
  readonly name: string
  readonly help: string
  readonly kind: 'counter' | 'gauge' | 'exponential' | 'histogram'
  /** When counts began, in Unix milliseconds; null: with the run. */
  readonly sinceMs: number | null
  readonly points: readonly MetricPoint[]
}

export type MetricPoint = {
  readonly labels: Readonly<Record<string, string>>
  readonly value: number | NativeHistogram | FixedBuckets
}

/** A histogram with explicit bounds. The last bucket, without a bound, holds the rest. */
export type FixedBuckets = {
  readonly bounds: readonly number[]
  readonly counts: readonly number[]
  readonly count: number
  readonly sum: number
}

/** All metrics of `/metrics`, each with its kind. It reads one at a time, so it never blocks the event loop for long. */
export function readMetrics(source: ExpositionSource): () => Promise<Iterable<Metric>> {
  const known = families(source)
  const ofProcess = processFamilies()
  return async () => {
    await source.catchUp()
    return everyMetric(await ofProcess())
  }

  function* everyMetric(read: readonly ProcessFamily[]): Iterable<Metric> {
    for (const { name, timing, help } of histogramFamilies) {
      const points = histogramSeries(source.metrics, timing).map(({ labels, native }) => ({ labels, value: native() }))
      yield { name, help, kind: 'exponential', sinceMs: null, points }
    }
    for (const family of known) yield metricOf(family)
    yield* metricsOfProcess(read)
  }
}

export const verdictMetrics = (report: Report): readonly Metric[] => verdictFamilies(report).map(metricOf)

const metricOf = ({ name, help, kind, samples }: Family): Metric => {
  return { name, help, kind, sinceMs: null, points: samples() }
}

/** Counters of the process began with it, before the run. */
export function metricsOfProcess(families: readonly ProcessFamily[]): readonly Metric[] {
  const started = families.find(({ name }) => name === 'process_start_time_seconds')?.samples[0]?.value
  const sinceMs = started === undefined ? null : started * 1000
  return families.map(({ name, help, kind, samples }) => {
    return { name, help, kind, sinceMs, points: kind === 'histogram' ? histogramsOf(name, samples) : samples }
  })
}

/** Puts the parts of each histogram together again. Its buckets are cumulative. */
function histogramsOf(name: string, samples: readonly NamedSample[]): readonly MetricPoint[] {
  const parts = new Map<string, { labels: MetricPoint['labels']; bounds: number[]; upTo: number[]; sum: number }>()
  for (const { name: part, labels: all, value } of samples) {
    const { le, ...labels } = all
    const key = JSON.stringify(labels)
    const known = parts.get(key) ?? { labels, bounds: [], upTo: [], sum: 0 }
    parts.set(key, known)
    if (part === `${name}_sum`) known.sum = value
    if (part !== `${name}_bucket` || le === undefined) continue
    if (le !== '+Inf') known.bounds.push(Number(le))
    known.upTo.push(value)
  }
  return [...parts.values()].map(({ labels, bounds, upTo, sum }) => {
    const counts = upTo.map((value, index) => value - (upTo[index - 1] ?? 0))
    return { labels, value: { bounds, counts, count: upTo.at(-1) ?? 0, sum } }
  })
}
