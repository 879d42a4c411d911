import { Counter, collectDefaultMetrics, Gauge, Histogram, type OpenMetricsContentType, Registry } from 'prom-client'
import type { Timing } from '../../plan/plan.ts'
import { type Exposition, listenMistake, parseAddress, reserveAddress, startHttpServer } from '../http-server.ts'
import type { LiveRun, Output } from '../output.ts'
import type { ReadOutput } from '../requested-output.ts'
import { families, histogramFamilies } from './families.ts'
import {
  bucketBoundsMs,
  type ExportedMetrics,
  type ExpositionSource,
  type Family,
  type HistogramSeries,
  histogramSeries,
  type Sample,
} from './samples.ts'

/** `--metrics`: the address of `/metrics`. */
export const scrapeOutput: ReadOutput = (given, { flag }) => {
  const address = parseAddress(flag, given, { usualPort: 9464, allowsPort: false })
  const { host } = address
  return {
    reserve: () => reserveAddress(flag, address),
    create: async ({ sourceOf }) => {
      const output = await createScrapeOutput(address, sourceOf).catch(cause => {
        throw listenMistake(cause, { ...address, hostFlag: flag, portFlag: flag })
      })
      return { ...output, needs: 'gauges', note: `Metrics are at http://${host}:${output.port}/metrics` }
    },
  }
}

/**
 * Serves the metrics of a run at `/metrics`. The page is empty until the run starts. Rejects if it cannot listen at the
 * address.
 */
export async function createScrapeOutput(
  { host, port }: { readonly host: string; readonly port: number },
  sourceOf: (live: LiveRun) => ExpositionSource,
): Promise<Output & { readonly port: number }> {
  let render: Exposition = renderRegistry(new Registry())
  const server = await startHttpServer({ host, port }, accept => render(accept))
  return {
    port: server.port,
    start: live => {
      render = createExposition(sourceOf(live))
    },
    finish: async () => {},
    close: server.close,
  }
}

/**
 * Reads the source only at scrape time, so the client library costs nothing per observation. Its own histograms would
 * take as much time as sending a request.
 */
export function createExposition(source: ExpositionSource): Exposition {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  for (const { name, timing, help } of histogramFamilies) histogram(registry, source.metrics, name, timing, help)
  for (const family of families(source)) register(registry, family)
  const render = renderRegistry(registry)
  return async accept => {
    await source.catchUp()
    return render(accept)
  }
}

/** In OpenMetrics where the request accepts it, as those of Prometheus do, or else in the older text format of Prometheus. */
function renderRegistry(registry: Registry): Exposition {
  const openMetrics = new Registry<OpenMetricsContentType>()
  openMetrics.setContentType(Registry.OPENMETRICS_CONTENT_TYPE)
  // That format renames counters, so its registry has metrics of its own with the values of the others.
  for (const metric of registry.getMetricsAsArray()) openMetrics.registerMetric(Object.create(metric))
  return async accept => {
    const chosen = accept.includes('application/openmetrics-text') ? openMetrics : registry
    return { contentType: chosen.contentType, text: await chosen.metrics() }
  }
}

/** The families in the text format of Prometheus, without the process metrics. */
export function renderFamilies(rendered: readonly Family[]): Promise<string> {
  const registry = new Registry()
  for (const family of rendered) register(registry, family)
  return registry.metrics()
}

export type NamedSample = Sample & { readonly name: string }

export type ProcessFamily = {
  readonly name: string
  readonly kind: 'counter' | 'gauge' | 'histogram'
  readonly help: string
  /** Those of a histogram have the names and labels of its parts. */
  readonly samples: readonly NamedSample[]
}

/** The process metrics of `/metrics`. Call once; the returned function reads the current values. */
export function processFamilies(): () => Promise<readonly ProcessFamily[]> {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  return async () => {
    const metrics = await registry.getMetricsAsJSON()
    return metrics.map(({ name, help, type, values }) => ({
      name,
      kind: kindOf(`${type}`),
      help,
      samples: values.map(({ value, labels, ...rest }) => ({
        name: seriesName(rest) ?? name,
        labels: texts(labels),
        value,
      })),
    }))
  }
}

/** The same as a flat list. */
export function processMetrics(): () => Promise<readonly NamedSample[]> {
  const read = processFamilies()
  return async () => (await read()).flatMap(({ samples }) => samples)
}

/** The client library has an enum for this, whose types and values differ. */
const kindOf = (type: string): ProcessFamily['kind'] => (type === 'counter' || type === 'histogram' ? type : 'gauge')

/** Parts of a histogram have their own names, which the types of the client library omit. */
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
        // A gauge without labels resets to 0, but an unknown value is not 0.
        if (known.length === 0) this.remove({})
        for (const { labels, value } of known) this.set(labels, value)
      },
    })
}

/** A histogram of the client library with the values of `metrics`. */
function histogram(registry: Registry, metrics: ExportedMetrics, name: string, timing: Timing, help: string): void {
  const type = 'histogram'
  const metric = new Histogram({ name, help, labelNames: ['call', 'stage'], registers: [] })
  const values = () => histogramSeries(metrics, timing).flatMap(distribution => seriesOf(name, distribution))
  const get = async () => ({ name, help, type, aggregator: 'sum', values: values() })
  registry.registerMetric(Object.assign(metric, { get, getForPromString: get }))
}

const seriesOf = (name: string, { labels, counts, count, sumSeconds }: HistogramSeries) => [
  ...counts.map((value, index) => ({
    labels: { ...labels, le: (bucketBoundsMs[index] ?? 0) / 1000 },
    value,
    metricName: `${name}_bucket`,
  })),
  { labels: { ...labels, le: '+Inf' }, value: count, metricName: `${name}_bucket` },
  { labels, value: sumSeconds, metricName: `${name}_sum` },
  { labels, value: count, metricName: `${name}_count` },
]
