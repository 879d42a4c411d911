import { describe, expect, test } from 'vitest'
import { collectDelays, stampsOf } from '../../../src/certificate/delays.ts'
import type { StreamRecord } from '../../../src/observation/observation.ts'

const span = { fromMs: 1_000, toMs: 2_000 }
const on = (writtenMs: readonly number[]) => ({ writtenMs: [...writtenMs], lateMs: writtenMs.map(() => 0.5) })

describe('of each chunk it is taken how much later than written it was stamped', () => {
  test('of the first ones by themselves, and of gaps only what their ends differ by', () => {
    const delays = collectDelays(() => span)
    delays.add(on([1_000, 1_020, 1_040]), [1_001, 1_021, 1_045])
    delays.add(on([1_500, 1_520]), [1_502, 1_521])
    const { chunkMs, firstTokenMs, gapMs, metronomeMs, earliestMs } = delays.facts()
    expect(chunkMs).toMatchObject({ count: 5, max: 5, mean: 2 })
    expect(firstTokenMs).toMatchObject({ count: 2, max: 2, mean: 1.5 })
    expect(gapMs).toMatchObject({ count: 3, max: 4 })
    expect(gapMs.mean).toBeCloseTo(5 / 3)
    expect(metronomeMs).toMatchObject({ count: 5, max: 0.5 })
    expect(earliestMs).toBe(1)
  })

  test('and not of those that were written before or after the time that counts', () => {
    const delays = collectDelays(() => span)
    delays.add(on([990, 1_990, 2_000]), [1_900, 1_993, 2_900])
    expect(delays.facts().chunkMs).toMatchObject({ count: 1, max: 3 })
    expect(delays.facts().firstTokenMs.count).toBe(0)
  })

  test('also where that is less than nothing', () => {
    const delays = collectDelays(() => span)
    delays.add(on([1_500]), [1_498])
    expect(delays.facts().earliestMs).toBe(-2)
  })

  test('of nothing, nothing', () => {
    expect(collectDelays(() => span).facts()).toMatchObject({ chunkMs: { count: 0, p50: null }, earliestMs: null })
  })
})

test('the stamps of a stream are its first token and the gaps behind it, on the clock of the machine', () => {
  const reading = { firstTokenMs: 5, gapsMs: [20, 30] } as unknown as StreamRecord
  expect(stampsOf(reading, 100)).toEqual([105, 125, 155])
  expect(stampsOf({ ...reading, firstTokenMs: null, gapsMs: [] }, 100)).toEqual([])
})
