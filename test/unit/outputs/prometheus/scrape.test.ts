import { afterEach, describe, expect, test } from 'vitest'
import { documentedContract } from '../../../../src/contract/documented.ts'
import { createGauges } from '../../../../src/judge/metrics/gauges.ts'
import { createMetrics } from '../../../../src/judge/metrics/request-stats.ts'
import type { LimitResult, ThresholdResult } from '../../../../src/judge/results.ts'
import { type HttpServer, startHttpServer } from '../../../../src/outputs/http-server.ts'
import { maxExportedCallers } from '../../../../src/outputs/prometheus/families.ts'
import { type ExpositionSource, inStableOrder, maxExportedSeries } from '../../../../src/outputs/prometheus/samples.ts'
import { createExposition } from '../../../../src/outputs/prometheus/scrape.ts'
import { fallen, readExposition } from '../../../support/read-exposition.ts'
import { anObservation, aPlan, aStage, dropped, failed, respondedWith, streamed } from '../../judge/metrics/fixtures.ts'
import { aSearch } from '../../report/capacity-results.ts'

const result = (expression: string, verdict: ThresholdResult['verdict']): ThresholdResult => {
  const range = { lowest: 1, highest: 1 }
  return {
    expression,
    verdict,
    value: 1,
    ...range,
    whole: null,
    operator: '<',
    basis: null,
    bound: 2,
    unit: 'ms',
    message: '',
    why: '',
  }
}

const limit = (changes: Partial<LimitResult> = {}): LimitResult => ({
  caller: 'c0',
  scope: 'rpc',
  names: ['rpc'],
  tier: 'default',
  windowMs: 60_000,
  limit: 100,
  windows: 1,
  accepted: 90,
  rejected: 5,
  unexpected429: 1,
  decided429: 1,
  missing429: 0,
  lasted: null,
  ...changes,
})

const source = (changes: Partial<ExpositionSource> = {}): ExpositionSource => {
  const metrics = createMetrics(aPlan())
  for (let ms = 1; ms <= 500; ms++) metrics.add(streamed({}, { endMs: ms * 3 }))
  for (const o of [anObservation({ call: 'rpc' }), respondedWith(429), respondedWith(503), failed(), dropped()])
    metrics.add(o)
  const meters = createGauges(documentedContract)
  const request = { kind: 'rpc', network: 'ethereum-mainnet', batch: false, items: [], replay: null } as const
  const headers = {
    'x-service-balance-usd': '9.75',
    'x-service-balance-diem': '0',
    'x-service-rpc-credits': '140',
    'x-service-rpc-cost-usd': '0.0000875',
    'x-ratelimit-remaining-requests': '7',
  }
  const response = { status: 200, headers, bytes: 2, body: { kind: 'json', value: {}, digest: null } } as const
  meters.add(anObservation({ call: 'rpc', request, response }))
  return {
    catchUp: async () => {},
    run: { id: 'r1', scenario: 'a "quoted" one', seed: 7, version: '0.1.0' },
    metrics,
    meters,
    inFlight: () => 3,
    stage: () => ({ name: 'steady', offeredPerSecond: 12.5 }),
    billing: () => ({
      billedUsd: '0.25',
      discrepancies: [{ kind: 'unbilled', count: 2, amountUsd: '0.1', examples: [] }],
    }),
    tallies: () => [{ id: 'rpc.credits.amount', violated: 2 }],
    limits: () => [limit(), limit({ scope: 'chat:m', unexpected429: 0, missing429: 4, limit: null })],
    capacity: () => [aSearch()],
    thresholds: () => [result('p(95) latency < 2ms', 'pass'), result('b', 'fail'), result('c', 'inconclusive')],
    pushed: () => ({ takenSamples: 900, lostSamples: 40, failures: 2 }),
    machines: () => [],
    ...changes,
  }
}

const scrape = async (from = source()) => readExposition((await createExposition(from)('')).text)

describe('prometheus: a scrape shows the aggregates', () => {
  test.each([
    ['turnpike_requests_total{call="chat",stage="steady",outcome="answered",status_class="2xx"}', 500],
    ['turnpike_requests_total{call="chat",stage="steady",outcome="answered",status_class="4xx"}', 1],
    ['turnpike_requests_total{call="chat",stage="steady",outcome="answered",status_class="5xx"}', 1],
    ['turnpike_requests_total{call="chat",stage="steady",outcome="failed",status_class="none"}', 1],
    ['turnpike_requests_total{call="rpc",stage="steady",outcome="answered",status_class="2xx"}', 1],
    ['turnpike_arrivals_dropped_total{call="chat",stage="steady"}', 1],
    ['turnpike_request_duration_seconds_count{call="chat",stage="steady"}', 500],
    ['turnpike_request_duration_seconds_sum{call="chat",stage="steady"}', (3 * (500 * 501)) / 2 / 1000],
    ['turnpike_service_time_seconds_count{call="rpc",stage="steady"}', 1],
    ['turnpike_ttft_seconds_bucket{call="chat",stage="steady",le="0.016"}', 0],
    ['turnpike_ttft_seconds_bucket{call="chat",stage="steady",le="0.032"}', 500],
    ['turnpike_inter_chunk_seconds_count{call="chat",stage="steady"}', 2000],
    ['turnpike_lateness_seconds_bucket{call="chat",stage="steady",le="0.001"}', 503],
    ['turnpike_in_flight', 3],
    ['turnpike_good_responses_total{call="chat",stage="steady"}', 500],
    ['turnpike_output_tokens_total{call="chat",stage="steady"}', 2500],
    ['turnpike_output_tokens_total{call="rpc",stage="steady"}', undefined],
    ['turnpike_inter_token_seconds_count{call="chat",stage="steady"}', 2000],
    ['turnpike_time_per_output_token_seconds_count{call="chat",stage="steady"}', 500],
    ['turnpike_offered_rate', 12.5],
    ['turnpike_stage_info{stage="steady"}', 1],
    ['turnpike_claimed_credits_total{call="rpc",network="ethereum-mainnet"}', 140],
    ['turnpike_claimed_usd_total{call="rpc",network="ethereum-mainnet"}', 0.0000875],
    ['turnpike_billed_usd', 0.25],
    ['turnpike_balance_usd{caller="c0"}', 9.75],
    ['turnpike_balance_diem{caller="c0"}', 0],
    ['turnpike_discrepancies{kind="unbilled"}', 2],
    ['turnpike_ratelimit_remaining{caller="c0",scope="rpc",tier="default",unit="requests"}', 7],
    ['turnpike_ratelimit_remaining{caller="c0",scope="rpc",tier="default",unit="tokens"}', undefined],
    ['turnpike_ratelimit_requests{caller="c0",scope="rpc",tier="default"}', 100],
    ['turnpike_ratelimit_requests{caller="c0",scope="chat:m",tier="default"}', undefined],
    ['turnpike_ratelimit_accepted_total{caller="c0",scope="rpc",tier="default"}', 90],
    ['turnpike_ratelimit_rejected_total{caller="c0",scope="rpc",tier="default"}', 5],
    ['turnpike_missing_429_total{caller="c0",scope="chat:m",tier="default"}', 4],
    ['turnpike_violations_total{clause="rpc.credits.amount"}', 2],
    ['turnpike_unexpected_429_total{caller="c0",scope="rpc",tier="default"}', 1],
    ['turnpike_threshold_ok{threshold="p(95) latency < 2ms"}', 1],
    ['turnpike_threshold_ok{threshold="b"}', 0],
    ['turnpike_threshold_ok{threshold="c"}', undefined],
    ['turnpike_ttft_seconds_count{call="rpc",stage="steady"}', undefined],
    ['turnpike_capacity_rate{stage="search"}', 78.7],
    ['turnpike_capacity_trial_info{stage="search",purpose="confirm"}', 1],
    ['turnpike_capacity_trials{stage="search",outcome="sustained"}', 2],
    ['turnpike_run_info{run_id="r1",scenario="a \\"quoted\\" one",seed="7",version="0.1.0"}', 1],
  ])('%s', async (name, value) => {
    const sample = (await scrape()).get(name)
    if (value === undefined) expect(sample).toBeUndefined()
    else expect(sample).toBeCloseTo(value, 9)
  })

  test('process and event-loop metrics are included', async () => {
    const names = [...(await scrape()).keys()]
    expect(names).toContain('process_resident_memory_bytes')
    expect(names).toContain('nodejs_eventloop_lag_p99_seconds')
  })
})

test('prometheus: buckets never decrease, and the last one equals the count', async () => {
  const samples = [...(await scrape())]
  const buckets = samples.filter(([name]) => name.startsWith('turnpike_') && name.includes('_bucket{'))
  const series = new Map<string, number[]>()
  for (const [name, value] of buckets) {
    const key = name.replace(/,le="[^"]*"/, '')
    series.set(key, [...(series.get(key) ?? []), value])
  }
  expect(series.size).toBeGreaterThanOrEqual(7)
  for (const [key, values] of series) {
    expect(values, key).toHaveLength(40)
    expect(values, key).toEqual(values.toSorted((a, b) => a - b))
    expect(values.at(-1), key).toBe(new Map(samples).get(key.replace('_bucket', '_count')))
  }
  const latency = series.get('turnpike_request_duration_seconds_bucket{call="chat",stage="steady"}')
  // 3 ms, 6 ms, … 1500 ms at most 1 ms, 2 ms, 4 ms, … 1024 ms and 2048 ms.
  expect(latency?.filter((_, index) => index % 2 === 0).slice(2, 14)).toEqual([
    0, 0, 1, 2, 5, 10, 21, 42, 85, 170, 341, 500,
  ])
})

test('prometheus: a scrape includes observations since the last one', async () => {
  const metrics = createMetrics(aPlan())
  metrics.add(dropped())
  const exposition = createExposition(source({ metrics }))
  const name = 'turnpike_arrivals_dropped_total{call="chat",stage="steady"}'
  expect(readExposition((await exposition('')).text).get(name)).toBe(1)
  metrics.add(dropped())
  expect(readExposition((await exposition('')).text).get(name)).toBe(2)
  expect(readExposition((await exposition('')).text).get(name)).toBe(2)
})

describe('prometheus: an unknown value is not 0', () => {
  test.each([
    ['turnpike_offered_rate', { stage: () => ({ name: 'closed', offeredPerSecond: null }) }],
    ['turnpike_billed_usd', { billing: () => ({ billedUsd: null, discrepancies: [] }) }],
  ])('%s', async (name, changes) => {
    expect((await scrape(source(changes))).has(name)).toBe(false)
  })
})

describe('prometheus: the number of label values is bounded', () => {
  test('callers above the maximum share series, and their number is exported', async () => {
    const limits = Array.from({ length: maxExportedCallers + 3 }, (_, index) => limit({ caller: `c${index}` }))
    const samples = await scrape(source({ limits: () => limits }))
    const accepted = [...samples].filter(([name]) => name.startsWith('turnpike_ratelimit_accepted_total{'))
    expect(accepted).toHaveLength(maxExportedCallers + 1)
    expect(samples.get('turnpike_ratelimit_accepted_total{caller="(other)",scope="rpc",tier="default"}')).toBe(3 * 90)
    expect(samples.get('turnpike_ratelimit_requests{caller="(other)",scope="rpc",tier="default"}')).toBe(100)
    expect(samples.get('turnpike_label_overflow{label="caller"}')).toBe(3)
  })

  test('calls and stages above the maximum share series, and no counter decreases when one is added', async () => {
    const stages = Array.from({ length: maxExportedSeries + 5 }, (_, index) => `s${index}`)
    const plan = aPlan({ stages: stages.map(name => aStage(name, 1000)) })
    const metrics = createMetrics(plan)
    const exposition = createExposition(source({ metrics }))
    const others = 'turnpike_request_duration_seconds_count{call="(other)",stage="(other)"}'
    let before: ReadonlyMap<string, number> = new Map()
    for (const [index, stage] of stages.entries()) {
      metrics.add(anObservation({ stage }))
      if (index < maxExportedSeries - 2) continue
      const after = readExposition((await exposition('')).text)
      expect(fallen([before, after])).toEqual([])
      expect(after.get(others)).toBe(index < maxExportedSeries ? undefined : index + 1 - maxExportedSeries)
      expect(after.get('turnpike_label_overflow{label="call"}')).toBe(Math.max(0, index + 1 - maxExportedSeries))
      before = after
    }
  })

  test('no counter decreases when cells come in a different order, as from several workers', async () => {
    const stages = Array.from({ length: maxExportedSeries + 5 }, (_, index) => `s${index}`)
    const plan = aPlan({ stages: stages.map(name => aStage(name, 1000)) })
    const folded = (names: readonly string[]) => {
      const metrics = createMetrics(plan)
      for (const stage of names) metrics.add(anObservation({ stage }))
      return metrics
    }
    let metrics = folded(stages.slice(1))
    const exposition = createExposition(source({ metrics: inStableOrder({ cells: () => metrics.cells() }) }))
    const before = readExposition((await exposition('')).text)
    metrics = folded(stages)
    const after = readExposition((await exposition('')).text)
    expect(fallen([before, after])).toEqual([])
    expect(after.get('turnpike_request_duration_seconds_count{call="(other)",stage="(other)"}')).toBe(5)
  })
})

describe('OpenMetrics', () => {
  /** What Prometheus 2.45 sends. */
  const accept =
    'application/openmetrics-text;version=1.0.0;q=0.75,application/openmetrics-text;version=0.0.1;q=0.5,text/plain;version=0.0.4;q=0.25,*/*;q=0.1'
  const ownSeries = (text: string) =>
    [...readExposition(text)].filter(([series]) => series.startsWith('turnpike_')).toSorted()

  test('has the series of the other format, before and after it, and counters without their suffix', async () => {
    const exposition = createExposition(source())
    const before = await exposition('text/plain')
    const { contentType, text } = await exposition(accept)
    expect(contentType).toBe('application/openmetrics-text; version=1.0.0; charset=utf-8')
    expect(text).toMatch(/\n# EOF\n$/)
    expect(text.trimEnd().split('\n')).not.toContain('')
    expect(text).toContain('# TYPE turnpike_requests counter\nturnpike_requests_total{')
    expect(before.contentType).toBe('text/plain; version=0.0.4; charset=utf-8')
    expect(before.text).toContain('# TYPE turnpike_requests_total counter\nturnpike_requests_total{')
    expect(ownSeries(text.replace('# EOF\n', ''))).toEqual(ownSeries(before.text))
    expect(ownSeries((await exposition('')).text)).toEqual(ownSeries(before.text))
  })
  test('has the current values at each scrape', async () => {
    const metrics = createMetrics(aPlan())
    const exposition = createExposition(source({ metrics }))
    const sent = async () => {
      const { text } = await exposition(accept)
      return [...readExposition(text)].filter(([series]) => series.startsWith('turnpike_requests_total'))
    }
    expect(await sent()).toEqual([])
    metrics.add(anObservation({ call: 'rpc' }))
    expect(await sent()).toEqual([[expect.stringContaining('call="rpc"'), 1]])
    metrics.add(anObservation({ call: 'rpc' }))
    expect(await sent()).toEqual([[expect.stringContaining('call="rpc"'), 2]])
  })
})

describe('metrics server', () => {
  let server: HttpServer | null = null
  afterEach(async () => {
    await server?.close()
    server = null
  })
  const serve = async (render = async () => ({ contentType: 'text/plain; version=0.0.4', text: 'up 1\n' })) => {
    server = await startHttpServer({ port: 0 }, render)
    return `http://127.0.0.1:${server.port}`
  }

  test('serves a scrape on loopback, and closes despite an open connection', async () => {
    const response = await fetch(`${await serve()}/metrics?x=1`)
    expect(response.status).toBe(200)
    expect(response.headers.get('content-type')).toBe('text/plain; version=0.0.4')
    expect(await response.text()).toBe('up 1\n')
  })
  test('rejects other paths and methods', async () => {
    const origin = await serve()
    expect((await fetch(`${origin}/`)).status).toBe(404)
    expect((await fetch(`${origin}/metrics`, { method: 'POST' })).status).toBe(405)
  })
  test('a failed scrape gives a 500 and does not end the run', async () => {
    const origin = await serve(() => Promise.reject(new Error('broken')))
    expect((await fetch(`${origin}/metrics`)).status).toBe(500)
  })
  test('a port in use is an error', async () => {
    const origin = await serve()
    const port = Number(new URL(origin).port)
    await expect(startHttpServer({ port }, async () => ({ contentType: '', text: '' }))).rejects.toThrow('EADDRINUSE')
  })
})
