import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, request as forward, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { expect, onTestFinished, test } from 'vitest'
import { histogramFamilies } from '../../src/outputs/prometheus/families.ts'
import { type Report, reportSchema } from '../../src/report/document.ts'
import { freePort } from '../support/free-port.ts'
import { describeWith } from '../support/real-part.ts'
import { startProgram } from '../support/real-program.ts'
import { nowSeconds, type RealPrometheus, startPrometheus } from '../support/real-prometheus.ts'
import { freshDirectory, serveForTest, turnpike } from '../support/turnpike.ts'

const collector = process.env.TURNPIKE_OTLP_COLLECTOR ?? ''
const prometheus3 = process.env.TURNPIKE_OTLP_PROMETHEUS ?? ''

const reportIn = (directory: string): Report =>
  reportSchema.parse(JSON.parse(readFileSync(join(directory, 'report.json'), 'utf8')))

type Value = readonly [seconds: number, value: unknown]
type Stored = {
  readonly metric: Readonly<Record<string, string>>
  readonly values?: readonly Value[]
  readonly histograms?: readonly Value[]
}

/** The last value of each stored series of a run, by its name and labels. */
async function lastValues(prometheus: RealPrometheus, runId: string): Promise<ReadonlyMap<string, unknown>> {
  const query = { query: `{instance="${runId}"}[10m]`, time: String(nowSeconds()) }
  const { result } = (await prometheus.ask('query', query)) as { result: readonly Stored[] }
  return new Map(
    result.map(({ metric, values, histograms }) => {
      const sorted = Object.entries(metric).sort(([a], [b]) => (a < b ? -1 : 1))
      return [JSON.stringify(sorted), withoutZeroThreshold((histograms ?? values)?.at(-1)?.[1])]
    }),
  )
}

/** The OTLP receiver of Prometheus sets a threshold of its own below which values count as zero. */
const withoutZeroThreshold = (value: unknown): unknown =>
  JSON.parse(JSON.stringify(value).replace(/\[3,"-[^"]+","[^"]+",/g, '[3,'))

const nameIn = (key: string): string => /^\[\["__name__","([^"]*)"/.exec(key)?.[1] ?? key
/** Only remote write has the buckets of a scrape. */
const isScraped = (name: string): boolean =>
  histogramFamilies.some(family => ['_bucket', '_sum', '_count'].some(part => name === family.name + part))
const ofTurnpike = (all: ReadonlyMap<string, unknown>) =>
  new Map([...all].filter(([key]) => /^turnpike_(?!push_)/.test(nameIn(key)) && !isScraped(nameIn(key))))
/** Those of rules have a colon. */
const namesOf = (all: ReadonlyMap<string, unknown>) =>
  [...new Set([...all.keys()].map(nameIn))].filter(name => !isScraped(name) && !name.includes(':')).sort()

describeWith('otlp', 'a run that exports to real OpenTelemetry receivers', () => {
  test('Prometheus shows the same series and values as those of remote write from the same run', async () => {
    const flags = ['--web.enable-otlp-receiver']
    const [written, exported] = await Promise.all([
      startPrometheus({ program: prometheus3, flags }),
      startPrometheus({ program: prometheus3, flags }),
    ])
    onTestFinished(written.stop)
    onTestFinished(exported.stop)
    const out = freshDirectory()
    const receivers = ['--remote-write', written.remoteWrite, '--otlp', exported.otlp]
    const { code, stderr } = await turnpike([
      'run',
      'test/real/pushed.yaml',
      '--out',
      out,
      '--no-progress',
      ...receivers,
    ])
    expect(stderr).toMatch(/samples pushed, 0 lost; 0 pushes failed \(http:\S+\/otlp\/v1\/metrics\)/)
    expect(code).toBe(0)
    const { run, load } = reportIn(out)
    const [ofWrite, ofExport] = [await lastValues(written, run.id), await lastValues(exported, run.id)]

    // Every value and every bucket of a histogram, with name and labels.
    expect(ofTurnpike(ofExport)).toEqual(ofTurnpike(ofWrite))
    expect(ofTurnpike(ofExport).size).toBeGreaterThan(300)
    // The figures of the process change between two reads, but not their names.
    expect(namesOf(ofExport)).toEqual([...namesOf(ofWrite), 'target_info'].sort())
    const total = `sum(last_over_time(turnpike_requests_total{job="turnpike",instance="${run.id}"}[10m]))`
    expect(await exported.numbersOf(total)).toEqual([{ labels: {}, value: load.sent }])
    const info = `last_over_time(target_info{instance="${run.id}",turnpike_scenario="pushed"}[10m])`
    expect(await exported.numbersOf(info)).toHaveLength(1)
    // All series end with the run.
    expect(await exported.numbersOf(`{instance="${run.id}",__name__=~"turnpike_.*|process_.*"}`)).toEqual([])
  })

  test('the Collector understands every span, and the target got the trace ids of the report', async () => {
    const sink = await startSink()
    const base = await startCollector(sink.origin)
    const { target } = await serveForTest(['service', '--lie', 'failed-item-in-full'], onTestFinished)
    const proxy = await startProxy(target)
    const out = freshDirectory()
    const { code, stderr } = await turnpike([
      ...['run', 'scenarios/smoke.yaml', '--only', 'rpc', '--target', `${proxy.origin}/api/v1`, '--out', out],
      ...['--no-progress', '--otlp', base, '--traces'],
    ])
    expect(stderr).toMatch(/spans pushed, 0 lost; 0 pushes failed/)
    expect(code).toBe(1)
    const { findings, load } = reportIn(out)
    const spans = sink.spans()
    expect(load.pushed?.lostSamples).toBe(0)

    const context = (span: ReadSpan) => `00-${span.traceId}-${span.spanId}-01`
    expect(spans.length).toBeGreaterThan(5)
    expect(spans.filter(span => !proxy.contexts.includes(context(span)))).toEqual([])
    // Every request of the load had a context of its own.
    expect(new Set(proxy.contexts).size).toBe(proxy.contexts.length)
    expect(proxy.contexts.length).toBe(load.sent)
    const found = findings.find(({ clause }) => clause === 'rpc.batch.error-price')
    const [evidence] = found?.examples[0]?.evidence ?? []
    const span = spans.find(each => each.traceId === evidence?.traceId)
    expect(attribute(span, 'turnpike.clauses')).toEqual({
      arrayValue: { values: expect.arrayContaining([{ stringValue: 'rpc.batch.error-price' }]) },
    })
    expect(attribute(span, 'http.response.status_code')).toEqual({ intValue: '200' })
    const { stdout } = await turnpike(['findings', out, '1'])
    expect(stdout).toContain(`trace ${evidence?.traceId}`)
    // The log knows it, too.
    expect((await turnpike(['audit', out])).stdout).toContain(`trace ${evidence?.traceId}`)
  })
})

type ReadSpan = {
  readonly traceId: string
  readonly spanId: string
  readonly attributes: readonly { readonly key: string; readonly value: unknown }[]
}

const attribute = (span: ReadSpan | undefined, key: string) => span?.attributes.find(each => each.key === key)?.value

async function listening(server: Server): Promise<string> {
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** Takes what the Collector passes on. */
async function startSink() {
  const spans: ReadSpan[] = []
  const server = createServer(async (incoming, outgoing) => {
    const { resourceSpans = [] } = JSON.parse(await text(incoming))
    for (const { scopeSpans } of resourceSpans) for (const { spans: more } of scopeSpans) spans.push(...more)
    outgoing.writeHead(200, { 'content-type': 'application/json' }).end('{}')
  })
  return { origin: await listening(server), spans: () => spans }
}

/** A collector that passes on everything at once, as JSON. Resolves with its address. */
async function startCollector(sink: string): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-collector-'))
  const origin = `http://127.0.0.1:${await freePort()}`
  const pipeline = { receivers: ['otlp'], exporters: ['otlp_http'] }
  const exporter = { endpoint: sink, encoding: 'json', compression: 'none', sending_queue: { enabled: false } }
  const config = {
    receivers: { otlp: { protocols: { http: { endpoint: new URL(origin).host } } } },
    exporters: { otlp_http: exporter },
    service: { telemetry: { metrics: { level: 'none' } }, pipelines: { traces: pipeline, metrics: pipeline } },
  }
  // Every JSON file is a YAML file.
  writeFileSync(join(folder, 'config.yaml'), JSON.stringify(config))
  const flags = ['--config', 'config.yaml']
  const { kill } = await startProgram(collector, flags, { origin, folder, ready: '/v1/traces', readyStatus: 405 })
  onTestFinished(async () => {
    await kill()
    rmSync(folder, { recursive: true, force: true })
  })
  return origin
}

/** A proxy that notes the trace context of each request of a run. */
async function startProxy(target: string) {
  const contexts: string[] = []
  const { host } = new URL(target)
  const server = createServer((incoming, outgoing) => {
    const { method, url, headers } = incoming
    if (typeof headers.traceparent === 'string') contexts.push(headers.traceparent)
    const passed = forward(`http://${host}${url}`, { method, headers: { ...headers, host } }, response => {
      outgoing.writeHead(response.statusCode ?? 502, response.headers)
      response.pipe(outgoing)
    })
    incoming.pipe(passed)
  })
  return { origin: await listening(server), contexts }
}
