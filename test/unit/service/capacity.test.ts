import { describe, expect, test } from 'vitest'
import { randomStream } from '../../../src/lib/random.ts'
import {
  createSlots,
  defaultLatency,
  delayReply,
  logNormal,
  type ServiceCapacity,
  scaleLatency,
} from '../../../src/service/capacity.ts'

const capacity = (changes: Partial<ServiceCapacity> = {}): ServiceCapacity => ({
  concurrency: 2,
  serviceTimeMs: 50,
  distribution: 'constant',
  queueLength: 1,
  ...changes,
})

describe('slots', () => {
  test('are taken one by one; further requests wait in the order of arrival', () => {
    const slots = createSlots(capacity({ queueLength: 10 }), 1)
    expect([0, 0, 0, 0, 10, 200].map(slots.take)).toEqual([50, 50, 100, 100, 140, 50])
  })

  test('are full when all slots are taken and the queue has its maximum length, until one is free', () => {
    const slots = createSlots(capacity(), 1)
    slots.take(0)
    slots.take(10)
    expect(slots.isFull(10)).toBe(false)
    slots.take(10)
    expect(slots.isFull(49)).toBe(true)
    expect(slots.isFull(50)).toBe(false)
  })

  test('without a queue are full when the last slot is taken', () => {
    const slots = createSlots(capacity({ queueLength: 0, concurrency: 1 }), 1)
    expect(slots.isFull(0)).toBe(false)
    slots.take(0)
    expect([slots.isFull(49.9), slots.isFull(50)]).toEqual([true, false])
  })

  test('admit at most one request per slot and service time at any arrival rate', () => {
    const slots = createSlots(capacity({ concurrency: 4, serviceTimeMs: 20, queueLength: 1_000 }), 1)
    const ends = Array.from({ length: 400 }, (_, index) => index + slots.take(index))
    expect(Math.max(...ends)).toBeCloseTo((400 / 4) * 20, -1)
  })

  test('have random service times with the configured mean, equal for equal seeds', () => {
    const times = (seed: number) => {
      const slots = createSlots(capacity({ distribution: 'exponential', concurrency: 1 }), seed)
      return Array.from({ length: 5_000 }, (_, index) => slots.take(index * 10_000))
    }
    expect(times(7)).toEqual(times(7))
    expect(times(7)).not.toEqual(times(8))
    expect(times(7).reduce((sum, ms) => sum + ms, 0) / 5_000).toBeCloseTo(50, -0.5)
  })

  test('are never full with unlimited capacity', () => {
    const slots = createSlots(null, 1)
    expect([slots.take(0), slots.isFull(0)]).toEqual([0, false])
  })
})

test('delayReply delays every chunk of a stream', () => {
  const chunks = [10, 20].map(afterMs => ({ afterMs, text: 'data: {}\n\n' }))
  const later = delayReply({ status: 200, headers: {}, afterMs: 5, body: { kind: 'stream', chunks } }, 100)
  expect(later.afterMs).toBe(105)
  expect(later.body.kind === 'stream' && later.body.chunks.map(({ afterMs }) => afterMs)).toEqual([110, 120])
})

test('scaleLatency scales every median and keeps the variation', () => {
  const { ttftMs, itlMs, rpcMs, ...sigmas } = scaleLatency(defaultLatency, 0.25)
  expect([ttftMs, itlMs, rpcMs]).toEqual([150, 15, 10])
  expect(defaultLatency).toMatchObject(sigmas)
  expect(scaleLatency(defaultLatency, 0)).toEqual(defaultLatency)
})

test('scaleLatency scales a single response by the same ratio', () => {
  const drawn = (medianMs: number) => logNormal(randomStream(5, 'times'), medianMs, defaultLatency.rpcSigma)
  expect(drawn(scaleLatency(defaultLatency, 0.1).rpcMs) / drawn(defaultLatency.rpcMs)).toBeCloseTo(1.1, 12)
})
