import { describe, expect, test } from 'vitest'
import { createHistogram } from '../../../../src/judge/metrics/histogram.ts'
import { nativeHistogram } from '../../../../src/judge/metrics/log-buckets.ts'
import { createMetricsEncoder, nanosOf, unitOf } from '../../../../src/outputs/otlp/encoder.ts'
import { type Metric, metricsOfProcess } from '../../../../src/outputs/otlp/metrics.ts'
import { pointsOf, readMetricsRequest } from '../../../support/read-otlp.ts'

const startMs = Date.UTC(2026, 0, 15, 12)
const atMs = startMs + 2_500
const own = { sinceMs: null, help: 'What it is.' }
const gauge = (name: string, points: Metric['points']): Metric => ({ ...own, name, kind: 'gauge', points })

function open() {
  let yields = 0
  const terms = { version: '1.2.3', startMs }
  const encoder = createMetricsEncoder({ 'service.name': 'turnpike' }, terms, async () => void yields++)
  const write = async (metrics: readonly Metric[], ms: number) => {
    const batches = []
    for await (const batch of encoder.write(metrics, ms)) batches.push(batch)
    return { batches, metrics: batches.flatMap(({ body }) => readMetricsRequest(body).metrics) }
  }
  return { write, yields: () => yields }
}

describe('a request with metrics', () => {
  test('has name, unit, labels, start and time of a counter', async () => {
    const labels = { call: 'chat', stage: 'a "b"\n€' }
    const { batches, metrics } = await open().write(
      [{ ...own, name: 'turnpike_requests_total', kind: 'counter', points: [{ labels, value: 7 }] }],
      atMs,
    )
    expect(metrics).toEqual([
      {
        name: 'turnpike_requests_total',
        description: 'What it is.',
        unit: '',
        sum: {
          aggregationTemporality: 2,
          isMonotonic: true,
          dataPoints: [
            {
              attributes: [
                { key: 'call', value: { stringValue: 'chat' } },
                { key: 'stage', value: { stringValue: 'a "b"\n€' } },
              ],
              startTimeUnixNano: `${startMs}000000`,
              timeUnixNano: `${atMs}000000`,
              asDouble: 7,
            },
          ],
        },
      },
    ])
    expect(batches.map(({ samples, body }) => [samples, readMetricsRequest(body).resource])).toEqual([
      [1, { 'service.name': 'turnpike' }],
    ])
  })

  test('has the buckets of a histogram between the bounds that they had', async () => {
    const histogram = createHistogram()
    const valuesMs = [0, 0.3, 0.3, 250, 251, 500, 119_000]
    for (const ms of valuesMs) histogram.record(ms)
    const points = [{ labels: {}, value: nativeHistogram(histogram) }]
    const { metrics } = await open().write([{ ...own, name: 'h_seconds', kind: 'exponential', points }], atMs)
    const [read] = metrics.flatMap(pointsOf)
    if (read === undefined || !('scale' in read)) throw new Error('no exponential histogram')
    expect(read).toMatchObject({ count: '7', zeroCount: '1', zeroThreshold: 0.5e-6, scale: 5 })
    // In OTLP, bucket i holds values above base ** i and up to base ** (i + 1).
    const base = 2 ** (2 ** -read.scale)
    const buckets = read.positive.bucketCounts.flatMap((count, index) => {
      const from = base ** (read.positive.offset + index)
      return count === '0' ? [] : [{ count: Number(count), from, to: from * base }]
    })
    const within = (ms: number) => buckets.filter(({ from, to }) => ms / 1000 > from && ms / 1000 <= to * (1 + 1e-12))
    expect(within(0.3)).toMatchObject([{ count: 2 }])
    expect(within(250).length + within(500).length + within(119_000).length).toBe(3)
    // A quarter and a half of a second are bounds. They belong to the bucket below.
    expect(within(500)[0]?.to).toBeCloseTo(0.5, 12)
    expect(buckets.reduce((sum, { count }) => sum + count, 0)).toBe(6)
  })

  test('has an empty histogram without buckets', async () => {
    const points = [{ labels: {}, value: nativeHistogram(createHistogram()) }]
    const { metrics } = await open().write([{ ...own, name: 'h_seconds', kind: 'exponential', points }], atMs)
    expect(metrics.flatMap(pointsOf)).toMatchObject([{ count: '0', positive: { bucketCounts: [] } }])
  })

  test('ends a missing series once with a point without a value, of its kind', async () => {
    const { write } = open()
    const histogram: Metric = {
      ...own,
      name: 'h',
      kind: 'exponential',
      points: [{ labels: {}, value: nativeHistogram(createHistogram()) }],
    }
    const stage = (name: string) => gauge('turnpike_stage_info', [{ labels: { stage: name }, value: 1 }])
    await write([stage('a'), histogram], atMs)
    const { metrics } = await write([stage('b')], atMs + 1)
    expect(
      metrics.map(each => [each.name, 'exponentialHistogram' in each, pointsOf(each).map(point => 'flags' in point)]),
    ).toEqual([
      ['turnpike_stage_info', false, [false, true]],
      ['h', true, [true]],
    ])
    expect((await write([stage('b')], atMs + 2)).metrics.flatMap(pointsOf)).toHaveLength(1)
    expect((await write([], atMs + 3)).metrics.flatMap(pointsOf)).toMatchObject([{ flags: 1 }])
    expect((await write([], atMs + 4)).batches).toEqual([])
  })

  test('has one value of a series per instant, and only finite ones', async () => {
    const { metrics } = await open().write(
      [
        gauge('a', [{ labels: {}, value: 1 }]),
        gauge('a', [{ labels: {}, value: 2 }]),
        gauge('b', [{ labels: {}, value: Number.NaN }]),
      ],
      atMs,
    )
    expect(metrics.map(each => [each.name, pointsOf(each)])).toMatchObject([['a', [{ asDouble: 1 }]]])
  })

  test('is one of several for many series, which yield to the event loop', async () => {
    const { write, yields } = open()
    const points = Array.from({ length: 3_000 }, (_, index) => ({ labels: { call: `call-${index}` }, value: index }))
    const { batches, metrics } = await write([gauge('turnpike_x', points)], atMs)
    expect(batches.length).toBeGreaterThan(2)
    expect(batches.reduce((sum, { samples }) => sum + samples, 0)).toBe(3_000)
    const read = metrics.flatMap(each => ('gauge' in each ? each.gauge.dataPoints : []))
    expect(read.map(point => 'asDouble' in point && point.asDouble)).toEqual(points.map(({ value }) => value))
    expect(yields()).toBeGreaterThanOrEqual(12)
  })
})

test('metrics of the process keep their kinds, count since its start, and have the buckets of each histogram', async () => {
  const gc = (part: string, labels: Readonly<Record<string, string>>, value: number) => ({
    name: `gc_seconds${part}`,
    labels,
    value,
  })
  const kind = { kind: 'minor' }
  const metrics = metricsOfProcess([
    {
      name: 'process_start_time_seconds',
      kind: 'gauge',
      help: '',
      samples: [{ name: 'process_start_time_seconds', labels: {}, value: startMs / 1000 - 60 }],
    },
    {
      name: 'gc_seconds',
      kind: 'histogram',
      help: '',
      samples: [
        gc('_bucket', { le: '0.001', ...kind }, 2),
        gc('_bucket', { le: '0.1', ...kind }, 5),
        gc('_bucket', { le: '+Inf', ...kind }, 6),
        gc('_sum', kind, 1.5),
        gc('_count', kind, 6),
      ],
    },
  ])
  const read = await open().write(metrics, atMs)
  expect(read.metrics.map(({ name, unit }) => [name, unit])).toEqual([
    ['process_start_time_seconds', 's'],
    ['gc_seconds', 's'],
  ])
  expect(read.metrics.flatMap(pointsOf)[1]).toEqual({
    attributes: [{ key: 'kind', value: { stringValue: 'minor' } }],
    startTimeUnixNano: `${startMs - 60_000}000000`,
    timeUnixNano: `${atMs}000000`,
    count: '6',
    sum: 1.5,
    bucketCounts: ['2', '3', '1'],
    explicitBounds: [0.001, 0.1],
  })
})

test.each([
  ['turnpike_ttft_seconds', 's'],
  ['process_cpu_seconds_total', 's'],
  ['process_heap_bytes', 'By'],
  ['turnpike_requests_total', ''],
  ['turnpike_claimed_usd_total', ''],
])('the unit of %s is "%s", which its name already has', (name, unit) => {
  expect(unitOf(name)).toBe(unit)
})

test('instants are exact to the microsecond', () => {
  expect(nanosOf(1_795_280_995_798.123)).toBe('1795280995798123000')
})
