import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import type { Timing } from '../plan/plan.ts'
import {
  boundariesMs,
  type Distribution,
  distributions,
  type ExpositionSource,
  type Sample,
  type ShownMetrics,
} from './exposition.ts'
import { families, histogramFamilies } from './families.ts'
import type { Family } from './family.ts'

/** The text that Prometheus scrapes. */
export type Exposition = { readonly contentType: string; readonly render: () => Promise<string> }

/**
 * Reads the source at scrape time only: an observation costs the client library nothing, for its own histograms would
 * take as much time as sending the request did.
 */
export function createExposition(source: ExpositionSource): Exposition {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  for (const { name, timing, help } of histogramFamilies) histogram(registry, source.metrics, name, timing, help)
  for (const family of families(source)) register(registry, family)
  return {
    contentType: registry.contentType,
    render: async () => {
      await source.catchUp()
      return registry.metrics()
    },
  }
}

/** The text of families as Prometheus reads it, without those of the process. */
export function renderFamilies(these: readonly Family[]): Promise<string> {
  const registry = new Registry()
  for (const family of these) register(registry, family)
  return registry.metrics()
}

export type NamedSample = Sample & { readonly name: string }

/** What Node.js says of the process, as the endpoint has it. To be called once; reads them each time that it is asked. */
export function watchProcess(): () => Promise<readonly NamedSample[]> {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  return async () => {
    const metrics = await registry.getMetricsAsJSON()
    return metrics.flatMap(({ name, values }) =>
      values.map(({ value, labels, ...rest }) => ({ name: seriesName(rest) ?? name, labels: texts(labels), value })),
    )
  }
}

/** Parts of a histogram have names of their own, of which the types of the client library do not know. */
const seriesName = (value: { readonly metricName?: string }): string | undefined => value.metricName

const texts = (labels: Readonly<Record<string, unknown>>): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(labels).map(([name, value]) => [name, String(value)]))

function register(registry: Registry, { name, kind, help, labels, samples }: Family): void {
  const options = { name, help, labelNames: labels, registers: [registry] }
  if (kind === 'counter')
    new Counter({
      ...options,
      collect() {
        this.reset()
        for (const { labels, value } of samples()) this.inc(labels, value)
      },
    })
  else
    new Gauge({
      ...options,
      collect() {
        this.reset()
        const known = samples()
        // A gauge without labels is reset to 0; what is not known is no 0.
        if (known.length === 0) this.remove({})
        for (const { labels, value } of known) this.set(labels, value)
      },
    })
}

/** A histogram of the client library whose values are those of the fold. */
function histogram(registry: Registry, metrics: ShownMetrics, name: string, timing: Timing, help: string): void {
  const type = 'histogram'
  const metric = new Histogram({ name, help, labelNames: ['call', 'stage'], registers: [] })
  const values = () => distributions(metrics, timing).flatMap(distribution => seriesOf(name, distribution))
  const get = async () => ({ name, help, type, aggregator: 'sum', values: values() })
  registry.registerMetric(Object.assign(metric, { get, getForPromString: get }))
}

const seriesOf = (name: string, { labels, counts, count, sumSeconds }: Distribution) => [
  ...counts.map((value, index) => ({
    labels: { ...labels, le: (boundariesMs[index] ?? 0) / 1000 },
    value,
    metricName: `${name}_bucket`,
  })),
  { labels: { ...labels, le: '+Inf' }, value: count, metricName: `${name}_bucket` },
  { labels, value: sumSeconds, metricName: `${name}_sum` },
  { labels, value: count, metricName: `${name}_count` },
]
