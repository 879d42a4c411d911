import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import type { Timing } from '../plan/plan.ts'
import {
  boundariesMs,
  type Distribution,
  distributions,
  droppedSamples,
  type ExpositionSource,
  requestSamples,
  type Sample,
  thresholdSamples,
} from './exposition.ts'
import type { Metrics } from './metrics.ts'

/** The text that Prometheus scrapes. */
export type Exposition = { readonly contentType: string; readonly render: () => Promise<string> }

/**
 * Reads the source at scrape time only: an observation costs the client library nothing, for its own histograms would
 * take as much time as sending the request did.
 */
export function createExposition(source: ExpositionSource): Exposition {
  const registry = new Registry()
  const { metrics } = source
  collectDefaultMetrics({ register: registry })

  histogram(registry, metrics, 'turnpike_request_duration_seconds', 'latency', 'Due to end of complete 2xx answers.')
  histogram(registry, metrics, 'turnpike_service_time_seconds', 'service-time', 'Send to end of complete 2xx answers.')
  histogram(registry, metrics, 'turnpike_ttft_seconds', 'ttft', 'Send to first token of streams.')
  histogram(registry, metrics, 'turnpike_inter_chunk_seconds', 'icl', 'Gaps between the token chunks of streams.')
  histogram(registry, metrics, 'turnpike_lateness_seconds', 'lateness', 'Due to send: the fault of the harness.')

  const requests = () => requestSamples(metrics)
  counter(registry, 'turnpike_requests_total', 'Requests sent.', ['call', 'stage', 'outcome', 'status_class'], requests)
  const dropped = () => droppedSamples(metrics)
  counter(registry, 'turnpike_arrivals_dropped_total', 'Arrivals due, never sent.', ['call', 'stage'], dropped)

  const { billing, tallies, unexpected429, inFlight, thresholds, run } = source
  const one = (value: () => number | string) => () => [{ labels: {}, value: Number(value()) }]
  const expected = one(() => billing().expectedCredits)
  counter(registry, 'turnpike_credits_expected_total', 'RPC credits by our tariff.', [], expected)
  const claimed = one(() => billing().claimedCredits)
  counter(registry, 'turnpike_credits_claimed_total', 'RPC credits as answered.', [], claimed)
  counter(
    registry,
    'turnpike_usd_claimed_total',
    'USD as answered.',
    [],
    one(() => billing().claimedUsd),
  )
  const violations = () => tallies().map(({ id, violated }) => ({ labels: { clause: id }, value: violated }))
  counter(registry, 'turnpike_violations_total', 'Violations of a clause.', ['clause'], violations)
  counter(registry, 'turnpike_unexpected_429_total', '429 within the limits.', [], one(unexpected429))

  gauge(registry, 'turnpike_in_flight', 'Requests sent and not ended.', [], one(inFlight))
  const ok = () => thresholdSamples(thresholds())
  gauge(registry, 'turnpike_threshold_ok', '1: holds so far, 0: crossed.', ['threshold'], ok)
  const { id, scenario, seed, version } = run
  const info = () => [{ labels: { run_id: id, scenario, seed: String(seed), version }, value: 1 }]
  gauge(registry, 'turnpike_run_info', 'Always 1.', ['run_id', 'scenario', 'seed', 'version'], info)

  return { contentType: registry.contentType, render: () => registry.metrics() }
}

function counter<Label extends string>(
  registry: Registry,
  name: string,
  help: string,
  labelNames: readonly Label[],
  samples: () => readonly Sample<Label>[],
): void {
  new Counter({
    name,
    help,
    labelNames,
    registers: [registry],
    collect() {
      this.reset()
      for (const { labels, value } of samples()) this.inc(labels, value)
    },
  })
}

function gauge<Label extends string>(
  registry: Registry,
  name: string,
  help: string,
  labelNames: readonly Label[],
  samples: () => readonly Sample<Label>[],
): void {
  new Gauge({
    name,
    help,
    labelNames,
    registers: [registry],
    collect() {
      this.reset()
      for (const { labels, value } of samples()) this.set(labels, value)
    },
  })
}

/** A histogram of the client library whose values are those of the fold. */
function histogram(registry: Registry, metrics: Metrics, name: string, timing: Timing, help: string): void {
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
