import { afterEach, describe, expect, test } from 'vitest'
import type { ExpositionSource } from '../../../src/metrics/exposition.ts'
import { createMetrics } from '../../../src/metrics/metrics.ts'
import { type MetricsServer, serveMetrics } from '../../../src/metrics/metrics-server.ts'
import { createExposition } from '../../../src/metrics/prometheus.ts'
import type { ThresholdResult } from '../../../src/metrics/thresholds.ts'
import { anObservation, answeredWith, aPlan, dropped, failed, streamed } from './fixtures.ts'

const result = (expression: string, verdict: ThresholdResult['verdict']): ThresholdResult => {
  return { expression, verdict, value: 1, operator: '<', bound: 2, unit: 'ms', because: '', why: '' }
}

const source = (): ExpositionSource => {
  const metrics = createMetrics(aPlan())
  for (let ms = 1; ms <= 500; ms++) metrics.add(streamed({}, { endMs: ms * 3 }))
  for (const o of [anObservation({ call: 'rpc' }), answeredWith(429), answeredWith(503), failed(), dropped()])
    metrics.add(o)
  return {
    run: { id: 'r1', scenario: 'a "quoted" one', seed: 7, version: '0.1.0' },
    metrics,
    inFlight: () => 3,
    billing: () => ({ expectedCredits: '120', claimedCredits: '140', claimedUsd: '0.0000875' }),
    tallies: () => [{ id: 'rpc.credits.amount', violated: 2 }],
    unexpected429: () => 1,
    thresholds: () => [result('p(95) latency < 2ms', 'pass'), result('b', 'fail'), result('c', 'inconclusive')],
  }
}

/**
 * The text format as Prometheus reads it: `name{labels} value`; anything else throws. The client library writes `Nan`
 * for an event loop that it has not sampled yet, which Prometheus takes; a figure of ours is always a number.
 */
const parse = (text: string): ReadonlyMap<string, number> => {
  const samples = new Map<string, number>()
  for (const line of text.split('\n').filter(each => each !== '' && !each.startsWith('# '))) {
    const match = /^([a-zA-Z_:][\w:]*)(\{(?:[a-zA-Z_]\w*="(?:[^"\\]|\\.)*",?)*\})? (\S+)$/.exec(line)
    const value = Number(match?.[3]?.replace('Inf', 'Infinity'))
    if (match === null || (Number.isNaN(value) && !/^nodejs_.* Nan$/.test(line)))
      throw new Error(`not a sample: ${line}`)
    samples.set(`${match[1]}${match[2] ?? ''}`, value)
  }
  return samples
}

const scrape = async (from = source()) => parse(await createExposition(from).render())

describe('prometheus: what is scraped is what was folded', () => {
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
    ['turnpike_credits_expected_total', 120],
    ['turnpike_credits_claimed_total', 140],
    ['turnpike_usd_claimed_total', 0.0000875],
    ['turnpike_violations_total{clause="rpc.credits.amount"}', 2],
    ['turnpike_unexpected_429_total', 1],
    ['turnpike_threshold_ok{threshold="p(95) latency < 2ms"}', 1],
    ['turnpike_threshold_ok{threshold="b"}', 0],
    ['turnpike_threshold_ok{threshold="c"}', undefined],
    ['turnpike_ttft_seconds_count{call="rpc",stage="steady"}', undefined],
    ['turnpike_run_info{run_id="r1",scenario="a \\"quoted\\" one",seed="7",version="0.1.0"}', 1],
  ])('%s', async (name, value) => {
    const sample = (await scrape()).get(name)
    if (value === undefined) expect(sample).toBeUndefined()
    else expect(sample).toBeCloseTo(value, 9)
  })

  test('the process and its event loop are told of too', async () => {
    const names = [...(await scrape()).keys()]
    expect(names).toContain('process_resident_memory_bytes')
    expect(names).toContain('nodejs_eventloop_lag_p99_seconds')
  })
})

test('prometheus: buckets never fall, and the last of them is the count', async () => {
  const samples = [...(await scrape())]
  const buckets = samples.filter(([name]) => name.startsWith('turnpike_') && name.includes('_bucket{'))
  const series = new Map<string, number[]>()
  for (const [name, value] of buckets) {
    const key = name.replace(/,le="[^"]*"/, '')
    series.set(key, [...(series.get(key) ?? []), value])
  }
  expect(series.size).toBeGreaterThanOrEqual(7)
  for (const [key, values] of series) {
    expect(values, key).toHaveLength(21)
    expect(values, key).toEqual(values.toSorted((a, b) => a - b))
    expect(values.at(-1), key).toBe(new Map(samples).get(key.replace('_bucket', '_count')))
  }
  const latency = series.get('turnpike_request_duration_seconds_bucket{call="chat",stage="steady"}')
  // 3 ms, 6 ms, … 1500 ms at most 1 ms, 2 ms, 4 ms, … 1024 ms and 2048 ms.
  expect(latency?.slice(2, 14)).toEqual([0, 0, 1, 2, 5, 10, 21, 42, 85, 170, 341, 500])
})

test('prometheus: a scrape sees what was added since the last one', async () => {
  const from = source()
  const exposition = createExposition(from)
  const name = 'turnpike_arrivals_dropped_total{call="chat",stage="steady"}'
  expect(parse(await exposition.render()).get(name)).toBe(1)
  from.metrics.add(dropped())
  expect(parse(await exposition.render()).get(name)).toBe(2)
  expect(parse(await exposition.render()).get(name)).toBe(2)
})

describe('metrics server', () => {
  let server: MetricsServer | null = null
  afterEach(async () => {
    await server?.close()
    server = null
  })
  const serve = async (render = async () => 'up 1\n') => {
    server = await serveMetrics({ port: 0, contentType: 'text/plain; version=0.0.4', render })
    return `http://127.0.0.1:${server.port}`
  }

  test('answers a scrape on loopback, and closes under an open connection', async () => {
    const response = await fetch(`${await serve()}/metrics?x=1`)
    expect(response.status).toBe(200)
    expect(response.headers.get('content-type')).toBe('text/plain; version=0.0.4')
    expect(await response.text()).toBe('up 1\n')
  })
  test('knows no other path and no other method', async () => {
    const origin = await serve()
    expect((await fetch(`${origin}/`)).status).toBe(404)
    expect((await fetch(`${origin}/metrics`, { method: 'POST' })).status).toBe(405)
  })
  test('a scrape that goes wrong is a 500, not the end of the run', async () => {
    const origin = await serve(() => Promise.reject(new Error('broken')))
    expect((await fetch(`${origin}/metrics`)).status).toBe(500)
  })
  test('a port that is taken is refused', async () => {
    const origin = await serve()
    const port = Number(new URL(origin).port)
    await expect(serveMetrics({ port, contentType: '', render: async () => '' })).rejects.toThrow('EADDRINUSE')
  })
})
