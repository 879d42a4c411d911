import { describe, expect, test } from 'vitest'
import { createHistogram } from '../../../src/metrics/histogram.ts'
import { nativeHistogram } from '../../../src/metrics/log-buckets.ts'
import type { Reading } from '../../../src/push/readings.ts'
import { createScribe } from '../../../src/push/scribe.ts'
import { type ReadSeries, readWriteRequest } from '../../support/read-write-request.ts'

const reading = (name: string, value: Reading['value'], labels: Reading['labels'] = {}): Reading => ({
  name,
  labels,
  value,
})

function open() {
  let breaths = 0
  const scribe = createScribe({ job: 'turnpike', instance: 'r1' }, async () => void breaths++)
  const write = async (families: readonly (readonly Reading[])[], atMs: number) => {
    const letters = []
    for await (const letter of scribe.write(families, atMs)) letters.push(letter)
    return { letters, series: letters.flatMap(({ body }) => readWriteRequest(body)) }
  }
  return { write, breaths: () => breaths }
}

const nameOf = ({ labels }: ReadSeries) => labels.find(([name]) => name === '__name__')?.[1]

describe('scribe', () => {
  test('writes each series with who it is of, at the instant', async () => {
    const { write } = open()
    const { letters, series } = await write([[reading('turnpike_good_total', 7, { stage: 's', call: 'c' })]], 5_000)
    expect(series).toEqual([
      {
        labels: [
          ['__name__', 'turnpike_good_total'],
          ['call', 'c'],
          ['instance', 'r1'],
          ['job', 'turnpike'],
          ['stage', 's'],
        ],
        samples: [{ value: 7, isStale: false, atMs: 5_000 }],
        histograms: [],
      },
    ])
    expect(letters.map(({ samples }) => samples)).toEqual([1])
  })

  test('writes a histogram whole', async () => {
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

  test('ends a series when it is not there any more, once, and begins it again when it is', async () => {
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
    expect((await write([], 6)).letters).toEqual([])
  })

  test('writes one value of a series at an instant, whatever it is told', async () => {
    const { series } = await open().write([[reading('a', 1, { x: 'p' })], [reading('a', 2, { x: 'p' })]], 1)
    expect(series.map(({ samples }) => samples[0]?.value)).toEqual([1])
  })

  test('leaves out what is no number', async () => {
    const { series } = await open().write([[reading('a', Number.NaN), reading('b', 1)]], 1)
    expect(series.map(nameOf)).toEqual(['b'])
  })

  test('parts what is much into letters, and lets others have their turn', async () => {
    const { write, breaths } = open()
    const many = Array.from({ length: 3_000 }, (_, index) => reading('turnpike_x', index, { call: `call-${index}` }))
    const { letters, series } = await write([many], 1)
    expect(letters.length).toBeGreaterThan(2)
    expect(letters.reduce((sum, { samples }) => sum + samples, 0)).toBe(3_000)
    expect(series.map(({ samples }) => samples[0]?.value)).toEqual(many.map(({ value }) => value))
    expect(breaths()).toBeGreaterThanOrEqual(12)
  })

  test('tells series apart by their labels, whatever stands in them', async () => {
    const { series } = await open().write(
      [[reading('a', 1, { x: 'p', y: 'qr' }), reading('a', 2, { x: 'pq', y: 'r' }), reading('a', 3, { x: '€\n"' })]],
      1,
    )
    expect(series.map(({ samples }) => samples[0]?.value)).toEqual([1, 2, 3])
    expect(series[2]?.labels).toContainEqual(['x', '€\n"'])
  })
})
