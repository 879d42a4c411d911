import { describe, expect, test } from 'vitest'
import { createHistogram } from '../../../../src/judge/metrics/histogram.ts'
import { nativeHistogram } from '../../../../src/judge/metrics/log-buckets.ts'
import {
  createEncoder,
  type SeriesSample,
  writeLabels,
  writeSeries,
  writeStaleMarker,
} from '../../../../src/outputs/remote-write/encoder.ts'
import { createProtobufWriter } from '../../../../src/outputs/remote-write/protobuf.ts'
import { type ReadSeries, readWriteRequest } from '../../../support/read-write-request.ts'

const reading = (name: string, value: SeriesSample['value'], labels: SeriesSample['labels'] = {}): SeriesSample => ({
  name,
  labels,
  value,
})

function open() {
  let yields = 0
  const encoder = createEncoder({ job: 'turnpike', instance: 'r1' }, async () => void yields++)
  const write = async (families: readonly (readonly SeriesSample[])[], atMs: number) => {
    const batches = []
    for await (const batch of encoder.write(families, atMs)) batches.push(batch)
    return { batches, series: batches.flatMap(({ body }) => readWriteRequest(body)) }
  }
  return { write, yields: () => yields }
}

const nameOf = ({ labels }: ReadSeries) => labels.find(([name]) => name === '__name__')?.[1]

describe('encoder', () => {
  test('writes each series with its identity and time', async () => {
    const { write } = open()
    const { batches, series } = await write(
      [[reading('turnpike_good_responses_total', 7, { stage: 's', call: 'c' })]],
      5_000,
    )
    expect(series).toEqual([
      {
        labels: [
          ['__name__', 'turnpike_good_responses_total'],
          ['call', 'c'],
          ['instance', 'r1'],
          ['job', 'turnpike'],
          ['stage', 's'],
        ],
        samples: [{ value: 7, isStale: false, atMs: 5_000 }],
        histograms: [],
      },
    ])
    expect(batches.map(({ samples }) => samples)).toEqual([1])
  })

  test('writes a complete histogram', async () => {
    const histogram = createHistogram()
    for (const ms of [250, 250, 500]) histogram.record(ms)
    const { series } = await open().write([[reading('h', nativeHistogram(histogram))]], 5_000)
    expect(series[0]?.histograms).toEqual([
      {
        count: 3,
        sum: 1,
        isStale: false,
        schema: 5,
        zeroCount: 0,
        buckets: new Map([
          [-64, 2],
          [-32, 1],
        ]),
        atMs: 5_000,
      },
    ])
  })

  test('writes one stale marker for a missing series, and starts it again later', async () => {
    const { write } = open()
    const stage = (name: string) => [reading('turnpike_stage_info', 1, { stage: name })]
    const histogram = [reading('h', nativeHistogram(createHistogram()))]
    await write([stage('a'), histogram], 1)
    const changed = await write([stage('b')], 2)
    expect(changed.series.map(series => [nameOf(series), series.samples, series.histograms])).toEqual([
      ['turnpike_stage_info', [{ value: 1, isStale: false, atMs: 2 }], []],
      ['turnpike_stage_info', [{ value: Number.NaN, isStale: true, atMs: 2 }], []],
      ['h', [], [expect.objectContaining({ isStale: true, atMs: 2 })]],
    ])
    expect((await write([stage('b')], 3)).series).toHaveLength(1)
    expect((await write([stage('a'), stage('b')], 4)).series.map(({ samples }) => samples[0]?.isStale)).toEqual([
      false,
      false,
    ])
    expect((await write([], 5)).series.map(({ samples }) => samples[0]?.isStale)).toEqual([true, true])
    expect((await write([], 6)).batches).toEqual([])
  })

  test('writes at most one value of a series per instant', async () => {
    const { series } = await open().write([[reading('a', 1, { x: 'p' })], [reading('a', 2, { x: 'p' })]], 1)
    expect(series.map(({ samples }) => samples[0]?.value)).toEqual([1])
  })

  test('omits values that are not finite', async () => {
    const { series } = await open().write([[reading('a', Number.NaN), reading('b', 1)]], 1)
    expect(series.map(nameOf)).toEqual(['b'])
  })

  test('splits many series into batches, and yields to the event loop', async () => {
    const { write, yields } = open()
    const many = Array.from({ length: 3_000 }, (_, index) => reading('turnpike_x', index, { call: `call-${index}` }))
    const { batches, series } = await write([many], 1)
    expect(batches.length).toBeGreaterThan(2)
    expect(batches.reduce((sum, { samples }) => sum + samples, 0)).toBe(3_000)
    expect(series.map(({ samples }) => samples[0]?.value)).toEqual(many.map(({ value }) => value))
    expect(yields()).toBeGreaterThanOrEqual(12)
  })

  test('distinguishes series by their labels, with any characters', async () => {
    const { series } = await open().write(
      [[reading('a', 1, { x: 'p', y: 'qr' }), reading('a', 2, { x: 'pq', y: 'r' }), reading('a', 3, { x: '€\n"' })]],
      1,
    )
    expect(series.map(({ samples }) => samples[0]?.value)).toEqual([1, 2, 3])
    expect(series[2]?.labels).toContainEqual(['x', '€\n"'])
  })
})

const atMs = 1_795_280_995_798

const labelled = (labels: Readonly<Record<string, string>>): Uint8Array => {
  const writer = createProtobufWriter()
  writeLabels(writer, labels)
  return writer.take()
}

const written = (write: (to: ReturnType<typeof createProtobufWriter>) => void): string => {
  const writer = createProtobufWriter()
  write(writer)
  return Buffer.from(writer.take()).toString('hex')
}

/** The output of `protoc --encode` of protobuf 3.21 for the same request. */
const ofProtoc = {
  // labels { name: "__name__" value: "up" } labels { name: "job" value: "turnpike" }
  labels: '0a0e0a085f5f6e616d655f5f120275700a0f0a036a6f6212087475726e70696b65',
  // samples { value: 1.5 timestamp: 1795280995798 }
  sample: '1210090000000000' + '00f83f10d68bd8f89f34',
  // histograms { count_int: 300 sum: 12.5 schema: 5 zero_threshold: 0.5e-6 zero_count_int: 0
  //   positive_spans { offset: -200 length: 2 } positive_spans { offset: 3 length: 1 }
  //   positive_deltas: 1 positive_deltas: 148 positive_deltas: 1 timestamp: 1795280995798 }
  histogram:
    '223308ac02190000000000002940200a298dedb5a0f7c6a03e3000' + '5a05088f0310025a0408061001620402a8020278d68bd8f89f34',
} as const

describe('remote write: a request equals that of another encoder', () => {
  test('labels are sorted, and empty ones are omitted', () => {
    const hex = Buffer.from(labelled({ job: 'turnpike', zone: '', __name__: 'up' })).toString('hex')
    expect(hex).toBe(ofProtoc.labels)
  })

  test('a number', () => {
    const labels = labelled({ __name__: 'up', job: 'turnpike' })
    expect(written(to => writeSeries(to, labels, 1.5, atMs))).toBe(`0a33${ofProtoc.labels}${ofProtoc.sample}`)
  })

  test('a histogram', () => {
    const spans = [
      { offset: -200, length: 2 },
      { offset: 3, length: 1 },
    ]
    const histogram = { schema: 5, zeroThreshold: 0.5e-6, zeroCount: 0, count: 300, sumSeconds: 12.5 }
    const series = { ...histogram, spans, deltas: [1, 148, 1] }
    const name = '0a0d0a085f5f6e616d655f5f120174'
    expect(written(to => writeSeries(to, labelled({ __name__: 't' }), series, atMs))).toBe(
      `0a44${name}${ofProtoc.histogram}`,
    )
  })

  test('a stale marker is the NaN of Prometheus; in histograms it is the sum', () => {
    const stale = '020000000000f07f'
    expect(written(to => writeStaleMarker(to, new Uint8Array(), 'numbers', 1))).toBe(`0a0d120b09${stale}1001`)
    expect(written(to => writeStaleMarker(to, new Uint8Array(), 'histograms', 1))).toBe(`0a0d220b19${stale}7801`)
  })
})
