import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { documentedContract } from '../../../../src/contract/documented.ts'
import type { Clock } from '../../../../src/lib/clock.ts'
import { createMask } from '../../../../src/lib/mask/mask.ts'
import type { PushCounts, RunInfo } from '../../../../src/observation/log-lines.ts'
import { traceIdsOf } from '../../../../src/observation/trace-id.ts'
import { createOtlp } from '../../../../src/outputs/otlp/otlp.ts'
import { sourceOf } from '../../../../src/outputs/prometheus/samples.ts'
import type { ReceiverLink } from '../../../../src/outputs/remote-write/receiver.ts'
import { makePlan } from '../../../../src/plan/make-plan.ts'
import { loadScenario } from '../../../../src/scenario/load-scenario.ts'
import type { Lie } from '../../../../src/service/lies/lie.ts'
import { lieByName } from '../../../../src/service/lies/lies.ts'
import { pointsOf, readMetricsRequest, readTracesRequest, valuesOf } from '../../../support/read-otlp.ts'
import { virtualRun } from '../../../support/virtual-run.ts'

const overrides = { seed: null, target: null, budgetUsd: null }
const plan = makePlan(loadScenario('scenarios/smoke.yaml', documentedContract), documentedContract, overrides)

/** A run that exports to a receiver in memory. Every request must follow the rules of the format. */
async function exported({ lies = [], traces = true }: { lies?: readonly Lie[]; traces?: boolean }) {
  const requests: { readonly path: string; readonly body: Uint8Array }[] = []
  const counted: (readonly [string, PushCounts])[] = []
  const linkTo = (path: string, clock: Clock): ReceiverLink => ({
    receiver: { address: `http://127.0.0.1:4318${path}`, authorization: null, headers: {}, mask: createMask([]) },
    send: async request => {
      requests.push({ path: request.path, body: request.body as Uint8Array })
      const times = { sentMs: 0, headersMs: 0, endMs: 0 }
      return { ...times, status: 200, headers: {}, body: Buffer.from('{}'), bytes: 2, failure: null }
    },
    clock,
    note: line => expect.unreachable(line),
    reportCounts: counts => void counted.push([path, counts]),
    close: async () => {},
  })
  const ran = await virtualRun({
    scenario: 'scenarios/smoke.yaml',
    lies,
    traces,
    change: ({ clock }) => {
      const info: RunInfo = {
        ...{ turnpike: 2, runId: 'virtual', version: '0.0.0', target: 'https://api.example.com/v1' },
        startedAtMs: clock.wallMs(),
      }
      const links = { metrics: linkTo('/v1/metrics', clock), traces: traces ? linkTo('/v1/traces', clock) : null }
      return { outputs: [createOtlp(links, info, plan, live => sourceOf(live, plan, info, clock, () => null))] }
    },
  })
  const of = (path: string) => requests.filter(each => each.path === path).map(({ body }) => body)
  const spans = of('/v1/traces').flatMap(readTracesRequest)
  const metrics = of('/v1/metrics').map(readMetricsRequest)
  return { ...ran, metrics, counted, spans: spans.map(span => ({ ...span, attributes: valuesOf(span.attributes) })) }
}

const lie = lieByName('failed-item-in-full')
const [honest, lying, off] = [
  await exported({}),
  await exported({ lies: lie === undefined ? [] : [lie] }),
  await exported({ traces: false }),
]

describe('the exported metrics of a run', () => {
  test('have the resource that Prometheus makes job and instance of', () => {
    expect(honest.metrics.length).toBeGreaterThan(3)
    for (const { resource } of honest.metrics)
      expect(resource).toMatchObject({
        'service.name': 'turnpike',
        'service.instance.id': 'virtual',
        'turnpike.scenario': 'smoke',
        'turnpike.run.id': 'virtual',
        'turnpike.seed': String(plan.seed),
      })
  })

  test('end on the counts of the report, with its verdict, and then end each series', () => {
    const all = honest.metrics.flatMap(({ metrics }) => metrics)
    const sent = all.filter(({ name }) => name === 'turnpike_requests_total').flatMap(pointsOf)
    const latest = new Map<string, number>()
    for (const point of sent) if ('asDouble' in point) latest.set(JSON.stringify(point.attributes), point.asDouble)
    const total = [...latest.values()].reduce((sum, value) => sum + value, 0)
    expect(total).toBe(honest.report.load.sent)
    const verdict = all.filter(({ name }) => name === 'turnpike_last_run_verdict').flatMap(pointsOf)
    expect(
      verdict.flatMap(point =>
        'asDouble' in point && point.asDouble === 1 ? [valuesOf(point.attributes).verdict] : [],
      ),
    ).toEqual([honest.report.verdict])
    const open = new Set<string>()
    for (const metric of all)
      for (const point of pointsOf(metric)) {
        const key = metric.name + JSON.stringify(point.attributes)
        if ('flags' in point) expect(open.delete(key)).toBe(true)
        else open.add(key)
      }
    expect([...open]).toEqual([])
    expect(honest.counted.map(([path, { lostSamples, failures }]) => [path, lostSamples, failures])).toEqual([
      ['/v1/metrics', 0, 0],
      ['/v1/traces', 0, 0],
    ])
  })
})

describe('the exported spans of a run', () => {
  test('are of the requests that were sent, each once, with the ids that its header had', () => {
    const ids = traceIdsOf('virtual')
    const byId = new Map(honest.observations.map(observation => [String(observation.id), observation]))
    expect(honest.spans.length).toBeGreaterThan(10)
    expect(new Set(honest.spans.map(({ spanId }) => spanId)).size).toBe(honest.spans.length)
    for (const { attributes, traceId, spanId, kind, status } of honest.spans) {
      const observation = byId.get(String(attributes['turnpike.request.id']))
      expect([traceId, spanId, kind]).toEqual([
        ids.traceId(observation?.id ?? -1),
        ids.spanId(observation?.id ?? -1),
        3,
      ])
      const code = observation?.response?.status ?? 0
      expect(attributes['http.response.status_code']).toBe(String(code))
      // As the conventions for HTTP clients say.
      expect(status).toEqual(code >= 400 ? { code: 2 } : undefined)
      expect(attributes['error.type']).toBe(code >= 400 ? String(code) : undefined)
      expect(attributes['turnpike.chosen']).toMatch(/^(slow|sample)$/)
    }
  })

  test('are few of many', () => {
    expect(honest.spans.length).toBeLessThan(honest.observations.length / 2)
  })

  test('describe a chat completion by the conventions for generative AI', () => {
    const stream = honest.spans.find(({ attributes }) => attributes['gen_ai.request.stream'] === true)
    expect(stream?.name).toBe(`chat ${stream?.attributes['gen_ai.request.model']}`)
    expect(stream?.attributes).toMatchObject({
      'http.request.method': 'POST',
      'server.address': 'api.example.com',
      'server.port': '443',
      'url.full': `https://api.example.com/v1${documentedContract.paths.chat}`,
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': 'openai',
      'gen_ai.usage.output_tokens': expect.stringMatching(/^\d+$/),
      'gen_ai.response.finish_reasons': [expect.any(String)],
    })
    const firstToken = stream?.events.find(({ name }) => name === 'turnpike.response.first_token')
    const afterMs = Number(BigInt(firstToken?.timeUnixNano ?? 0) - BigInt(stream?.startTimeUnixNano ?? 0)) / 1e9
    expect(stream?.attributes['gen_ai.response.time_to_first_chunk']).toBeCloseTo(afterMs, 5)
  })

  test('have the attributes and events that the docs list, and no others', () => {
    const docs = readFileSync('docs/opentelemetry.md', 'utf8')
    const listed = new Set(
      [...docs.matchAll(/`((?:http|error|server|url|rpc|gen_ai|turnpike)\.[\w.]+)`/g)].map(found => found[1]),
    )
    const all = [...honest.spans, ...lying.spans]
    const sent = new Set(all.flatMap(span => [...Object.keys(span.attributes), ...span.events.map(({ name }) => name)]))
    const ofResource = new Set(Object.keys(honest.metrics[0]?.resource ?? {}))
    expect([...sent].filter(name => !listed.has(name))).toEqual([])
    // Nothing was sent twice in this run, on a connection that the target had closed.
    const unsent = [...listed].filter(name => !sent.has(name ?? '') && !ofResource.has(name ?? ''))
    expect(unsent).toEqual(['http.request.resend_count'])
    expect([...ofResource].filter(name => !docs.includes(`\`${name}\``))).toEqual([])
  })

  test('have the violated clauses of each request that decides a finding, and its trace id is in the evidence', () => {
    const evidence = lying.report.findings.flatMap(({ clause, examples }) =>
      examples.flatMap(({ evidence, decidedBy }) =>
        evidence.filter(({ id }) => decidedBy.includes(id)).map(each => ({ clause, ...each })),
      ),
    )
    expect(lying.report.findings.map(({ clause }) => clause)).toContain('rpc.batch.error-price')
    for (const { clause, traceId } of evidence) {
      expect(traceId).toMatch(/^[0-9a-f]{32}$/)
      const [span, ...others] = lying.spans.filter(each => each.traceId === traceId)
      expect(others).toEqual([])
      // A request may have been exported before a later audit cited it.
      if (span?.attributes['turnpike.chosen'] === 'finding')
        expect(span.attributes['turnpike.clauses']).toContain(clause)
    }
    const named = lying.spans.flatMap(({ attributes }) => attributes['turnpike.clauses'] ?? [])
    expect(named).toContain('rpc.batch.error-price')
  })
})

test('trace ids change no verdict and no finding', async () => {
  const without = (report: unknown) =>
    JSON.parse(JSON.stringify(report), (name, value) => (name === 'traceId' || name === 'pushed' ? null : value))
  const untraced = await exported({ lies: lie === undefined ? [] : [lie], traces: false })
  expect(without(lying.report)).toEqual(without(untraced.report))
  expect(without(honest.report)).toEqual(without(off.report))
  expect(honest.report.verdict).toBe('pass')
  expect(off.spans).toEqual([])
  const ids = untraced.report.findings.flatMap(({ examples }) => examples.flatMap(({ evidence }) => evidence))
  expect(new Set(ids.map(({ traceId }) => traceId))).toEqual(new Set([null]))
})
