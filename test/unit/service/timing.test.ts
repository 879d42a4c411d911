import { expect, test } from 'vitest'
import { randomStream } from '../../../src/lib/random.ts'
import { defaultTiming, logNormal, slowed } from '../../../src/service/timing.ts'

test('a service that is slowed takes longer by that share for everything, and varies as before', () => {
  const { ttftMs, itlMs, rpcMs, ...sigmas } = slowed(defaultTiming, 0.25)
  expect([ttftMs, itlMs, rpcMs]).toEqual([150, 15, 10])
  expect(defaultTiming).toMatchObject(sigmas)
  expect(slowed(defaultTiming, 0)).toEqual(defaultTiming)
})

test('one answer of it takes longer by just that share', () => {
  const drawn = (medianMs: number) => logNormal(randomStream(5, 'times'), medianMs, defaultTiming.rpcSigma)
  expect(drawn(slowed(defaultTiming, 0.1).rpcMs) / drawn(defaultTiming.rpcMs)).toBeCloseTo(1.1, 12)
})
