import { expect, test } from 'vitest'
import { randomStream } from '../../../src/lib/random.ts'
import { type PackedArrival, packArrivals, unpackArrivals } from '../../../src/plan/packed-arrivals.ts'

const unpacked = (arrivals: readonly PackedArrival[]) => [...unpackArrivals(packArrivals(arrivals))]

test('arrivals come out as they went in, to the microsecond, however far they are from each other', () => {
  const weekMs = 7 * 86_400_000
  const arrivals = [
    { offsetMs: 0, call: 0, caller: 0 },
    { offsetMs: 0, call: 127, caller: 128 },
    { offsetMs: 0.001, call: 16_384, caller: 9_999 },
    { offsetMs: 120.482, call: 1, caller: 3 },
    { offsetMs: weekMs, call: 2, caller: 0 },
    { offsetMs: 1_000 * weekMs + 0.001, call: 0, caller: 1 },
  ]
  expect(unpacked(arrivals)).toEqual(arrivals)
  expect(unpacked([])).toEqual([])
})

test('what is rounded does not add up: after a day at 8.3 a second each is within half a microsecond', () => {
  const arrivals = Array.from({ length: 717_120 }, (_, k) => ({ offsetMs: (k * 1_000) / 8.3, call: 0, caller: k % 16 }))
  let most = 0
  let k = 0
  for (const { offsetMs } of unpackArrivals(packArrivals(arrivals)))
    most = Math.max(most, Math.abs(offsetMs - (k++ * 1_000) / 8.3))
  expect(k).toBe(717_120)
  expect(most).toBeLessThan(0.000_501)
})

test('a hundred thousand arrivals at random are less than half a megabyte of text', () => {
  const random = randomStream(3, 'packed')
  let offsetMs = 0
  const arrivals = Array.from({ length: 100_000 }, () => {
    offsetMs += random.exponential() * 5
    return { offsetMs, call: random.int(8), caller: random.int(64) }
  })
  expect(packArrivals(arrivals).length).toBeLessThan(500_000 * 1.2)
})

test('the same arrivals are the same text', () => {
  const arrivals = [{ offsetMs: 1.5, call: 1, caller: 2 }]
  expect(packArrivals(arrivals)).toBe(packArrivals(arrivals))
})
