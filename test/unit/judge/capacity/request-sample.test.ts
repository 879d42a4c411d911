import { expect, test } from 'vitest'
import {
  createRequestSample,
  mergeSamples,
  requestsIn,
  type TimedRequest,
} from '../../../../src/judge/capacity/request-sample.ts'

/** Every 10 ms a request, which takes 35 ms. */
const requests = (count: number, offsetMs = 0): readonly TimedRequest[] =>
  Array.from({ length: count }, (_, index) => {
    const dueMs = offsetMs + index * 10
    return { dueMs, sentMs: dueMs + 1, endMs: dueMs + 35, stallMs: index % 3 }
  })

const sampleOf = (all: readonly TimedRequest[]) => {
  const sample = createRequestSample()
  for (const request of all) sample.add(request)
  return sample.snapshot()
}

test('a sample keeps all of few requests, and every second, fourth or eighth of many', () => {
  expect(requestsIn(sampleOf(requests(1_000)))).toEqual(requests(1_000))
  const many = sampleOf(requests(5_000))
  expect(many.stride).toBe(8)
  expect(requestsIn(many)).toEqual(requests(5_000).filter((_, index) => index % 8 === 0))
})

test('merged samples of few requests are the sample of all, in any order', () => {
  const all = requests(900)
  const shares = [0, 1, 2].map(worker => sampleOf(all.filter((_, index) => index % 3 === worker)))
  expect(requestsIn(mergeSamples(shares))).toEqual(all)
  expect(requestsIn(mergeSamples(shares.toReversed()))).toEqual(all)
  expect(mergeSamples([]).instants).toHaveLength(0)
})

test('merged samples represent each worker by its share, with one stride', () => {
  // The first worker has sent eight times as much as the second, so it has thinned its sample.
  const [busy, idle] = [requests(4_000), requests(500, 3)]
  const merged = mergeSamples([sampleOf(busy), sampleOf(idle)])
  const ofIdle = requestsIn(merged).filter(({ dueMs }) => dueMs % 10 === 3)
  expect(merged.stride).toBe(8)
  expect(ofIdle).toHaveLength(Math.ceil(500 / 8))
  expect(requestsIn(merged).length - ofIdle.length).toBe(500)
})

test('the merged sample of many workers stays as small as that of one', () => {
  const shares = Array.from({ length: 16 }, (_, worker) => sampleOf(requests(1_000, worker / 16)))
  const merged = mergeSamples(shares)
  expect(merged.stride).toBe(16)
  expect(requestsIn(merged)).toHaveLength(16 * Math.ceil(1_000 / 16))
})
