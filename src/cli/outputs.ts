import type { ReadOutput, RequestedOutput } from '../outputs/requested-output.ts'
import { type Flag, text, type Values } from './flags.ts'

/** An output that a flag turns on. Its code is loaded only with its flag, so that `--help` stays fast. */
type OutputRow = { readonly describe: string; readonly load: () => Promise<ReadOutput> }

/** By the name of its flag, in the order of `--help`. */
const outputs: Readonly<Record<string, OutputRow>> = {
  ui: {
    describe: 'Serve a live page of the run, at [host]:port',
    load: async () => (await import('../outputs/live-page/live-page.ts')).livePageOutput,
  },
  metrics: {
    describe: 'Serve /metrics during the run, at [host]:port',
    load: async () => (await import('../outputs/prometheus/scrape.ts')).scrapeOutput,
  },
  'remote-write': {
    describe: 'Prometheus remote-write URL for all metrics',
    load: async () => (await import('../outputs/remote-write/remote-write.ts')).remoteWriteOutput,
  },
  'push-gateway': {
    describe: 'Pushgateway URL for the verdict',
    load: async () => (await import('../outputs/pushgateway.ts')).pushgatewayOutput,
  },
  otlp: {
    describe: 'OpenTelemetry (OTLP/HTTP) URL for all metrics',
    load: async () => (await import('../outputs/otlp/otlp.ts')).otlpOutput,
  },
  statsd: {
    describe: 'Send all metrics to a StatsD server, at [host]:port',
    load: async () => (await import('../outputs/statsd.ts')).statsdOutput,
  },
}

export const outputFlags: Readonly<Record<string, Flag>> = Object.fromEntries(
  Object.entries(outputs).map(([name, { describe }]) => [name, { type: 'string', describe }]),
)

/** The outputs that the flags request, with credentials from the environment. Rejects with a UsageError. */
export async function requestedOutputs(
  values: Values,
  environment: Readonly<Record<string, string | undefined>>,
): Promise<readonly RequestedOutput[]> {
  const requested: RequestedOutput[] = []
  for (const [name, { load }] of Object.entries(outputs)) {
    const given = text(values, name)
    if (given === null) continue
    const read = await load()
    requested.push(read(given, { flag: `--${name}`, values, environment }))
  }
  return requested
}
