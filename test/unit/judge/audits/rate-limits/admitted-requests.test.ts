import { describe, expect, test } from 'vitest'
import { createSameWindows } from '../../../../../src/judge/audits/rate-limits/admitted-requests.ts'
import type { LimitRequest } from '../../../../../src/judge/audits/rate-limits/window.ts'

const windowMs = 60_000
const exact = { startedAtMs: 0, offset: () => ({ min: 0, max: 0 }) }

type Accepted = { readonly sentMs: number; readonly resetMs: number | null; readonly shownMs?: number }

/** The highest number of requests that one window has certainly admitted. */
function most(accepted: readonly Accepted[], hasOthers = false, ofMs = windowMs): number {
  const windows = createSameWindows(ofMs, exact)
  const counts = accepted.map(each =>
    windows.add({ shownMs: each.sentMs + 50, ...each } as LimitRequest, () => hasOthers),
  )
  return Math.max(...counts)
}

const burst = (count: number, sentMs: number, resetMs: number): readonly Accepted[] =>
  Array.from({ length: count }, (_, index) => ({ sentMs: sentMs + index, resetMs }))

describe('accepted requests that state the same end of their window', () => {
  test('count together, whether the window began with them or before', () => {
    expect(most(burst(21, 1_000, 61_000))).toBe(21)
    expect(most([...burst(5, 1_000, 61_000), ...burst(16, 30_000, 61_000)])).toBe(21)
  })
  test('do not count with those of another end', () => {
    expect(most([...burst(20, 1_000, 61_000), ...burst(20, 61_500, 121_000)])).toBe(20)
  })
  test('do not count about the reset, where a log has freed the oldest', () => {
    expect(most([...burst(20, 1_000, 61_000), ...burst(5, 60_500, 61_000)])).toBe(20)
  })
  test('do not count if the window before may have admitted them', () => {
    // The earlier window ends at 60 s. Its last requests are answered when it is over.
    const late = { sentMs: 59_900, shownMs: 60_200, resetMs: 120_000 }
    expect(most([...burst(4, 30_000, 60_000), late, late, ...burst(20, 63_000, 120_000)])).toBe(20)
    expect(most([{ sentMs: 55_000, shownMs: 60_200, resetMs: 120_000 }, ...burst(20, 63_000, 120_000)])).toBe(20)
  })
  test('count beside others only if the same end is stated for seconds, as by windows', () => {
    expect(most(burst(21, 1_000, 61_000), true)).toBe(0)
    expect(most([...burst(21, 1_000, 61_000), { sentMs: 5_000, resetMs: 61_000 }], true)).toBe(22)
  })
  test('do not count without a reset, or in a window of a few seconds', () => {
    expect(most([{ sentMs: 0, resetMs: null }])).toBe(0)
    expect(most(burst(21, 1_000, 5_000), false, 4_000)).toBe(0)
  })
})
