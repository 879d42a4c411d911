import { describe, expect, test } from 'vitest'
import { createProtobufWriter } from '../../../src/push/protobuf.ts'
import { endSeries, writeLabels, writeSeries } from '../../../src/push/write-request.ts'

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

/** What `protoc --encode` of protobuf 3.21 makes of the same request. */
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

describe('remote write: a request is what other writers of the protocol make of it', () => {
  test('labels are sorted, and what is empty is none', () => {
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

  test('an end is the NaN by which Prometheus knows it, and of histograms it is their sum', () => {
    const stale = '020000000000f07f'
    expect(written(to => endSeries(to, new Uint8Array(), 'numbers', 1))).toBe(`0a0d120b09${stale}1001`)
    expect(written(to => endSeries(to, new Uint8Array(), 'histograms', 1))).toBe(`0a0d220b19${stale}7801`)
  })
})
