import { describe, expect, test } from 'vitest'
import { traceIdsOf } from '../../../src/observation/trace-id.ts'

const ids = traceIdsOf('20260101T000000Z-1a2b3c')

describe('the trace context of a request', () => {
  test('has the form of W3C trace context, version 00, with the flag "sampled"', () => {
    for (const id of [0, 1, 40, 2 ** 32, 2 ** 53 - 1]) {
      expect(ids.traceparent(id)).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/)
      expect(ids.traceparent(id)).toBe(`00-${ids.traceId(id)}-${ids.spanId(id)}-01`)
    }
  })

  test('depends on run and request alone, and differs for every pair of them', () => {
    expect(traceIdsOf('20260101T000000Z-1a2b3c').traceparent(7)).toBe(ids.traceparent(7))
    expect(traceIdsOf('20260101T000000Z-1a2b3d').traceId(7)).not.toBe(ids.traceId(7))
    const many = Array.from({ length: 20_000 }, (_, id) => id)
    expect(new Set(many.map(ids.traceId)).size).toBe(many.length)
    expect(new Set(many.map(ids.spanId)).size).toBe(many.length)
    expect(ids.traceId(1)).not.toBe(ids.traceId(2 ** 32 + 1))
  })

  test('ends with digits that look random, so a target that samples by them takes its share', () => {
    const share = 0.1
    const last56 = (id: number) => BigInt(`0x${ids.traceId(id).slice(-14)}`)
    const taken = Array.from({ length: 10_000 }, (_, id) => last56(id)).filter(
      bits => Number(bits) < share * 2 ** 56,
    ).length
    // Four standard deviations.
    expect(Math.abs(taken - 1_000)).toBeLessThan(4 * Math.sqrt(900))
  })
})
