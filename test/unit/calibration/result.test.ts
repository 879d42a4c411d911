import { describe, expect, test } from 'vitest'
import {
  type CalibrationData,
  calibrate,
  collectStampDelays,
  formatCalibration,
  type StampDelaySnapshot,
  stampsOf,
} from '../../../src/calibration/result.ts'
import type { Percentiles } from '../../../src/judge/results.ts'
import type { StreamRecord } from '../../../src/observation/observation.ts'

const spread = (p99: number, count: number): Percentiles => ({
  ...{ count, mean: p99 / 3, p50: p99 / 4, p90: p99 / 2, p95: p99 / 2, p99, p999: p99 * 2, max: p99 * 3 },
})
const snapshot: StampDelaySnapshot = {
  chunkMs: spread(2, 50_000),
  firstTokenMs: spread(2.341, 2_500),
  gapMs: spread(1.5, 49_000),
  serverLatenessMs: spread(4, 50_000),
  earliestMs: 0.02,
}
const load = { streams: 100, perSecond: 50, tokens: 200, tokensPerWrite: 1, seconds: 10 }
const sound: CalibrationData = {
  load,
  turnpike: snapshot,
  raw: snapshot,
  tokenCountMismatches: 0,
  run: { verdict: 'pass', reasons: ['7 responses judged.'] },
  eventLoopDelayMs: { p99: 1, max: 9 },
  maxP99Ms: null,
}
const turnpikeWith = (changed: Partial<StampDelaySnapshot>) => ({ ...sound, turnpike: { ...snapshot, ...changed } })

describe('calibrate', () => {
  test('passes, and the measurable times are the p99 of first tokens and of gaps', () => {
    expect(calibrate(sound)).toMatchObject({
      verdict: 'pass',
      reasons: [],
      measurableFromMs: { ttft: 2.341, gap: 1.5 },
    })
  })

  test.each([
    ['token counts differ', { ...sound, tokenCountMismatches: 2 }, 'read 2 streams with a different number'],
    ['the run fails', { ...sound, run: { verdict: 'fail' as const, reasons: ['1 violation'] } }, '1 violation'],
    ['the p99 of chunks exceeds the maximum', { ...sound, maxP99Ms: 1.9 }, 'p99 of all chunks is 2.00 ms'],
  ])('fails if %s', (_, measured, reason) => {
    const { verdict, reasons } = calibrate(measured)
    expect(verdict).toBe('fail')
    expect(reasons.join('\n')).toContain(reason)
  })

  test.each([
    [
      'the run is inconclusive',
      { ...sound, run: { verdict: 'inconclusive' as const, reasons: ['5 failed'] } },
      '5 failed',
    ],
    ['the clocks differ', turnpikeWith({ earliestMs: -0.06 }), 'do not share a clock'],
    ['the server was late', turnpikeWith({ serverLatenessMs: spread(21, 50_000) }), '21.0 ms late'],
    ['too few chunks were written', turnpikeWith({ chunkMs: spread(2, 47_000) }), '47000 of 50000 planned'],
    ['too few streams started', turnpikeWith({ firstTokenMs: { ...spread(2, 40), p99: null } }), 'a p99 needs 299'],
    [
      'the raw reader had a different load',
      { ...sound, raw: { ...snapshot, chunkMs: spread(2, 9) } },
      'the raw reader',
    ],
  ])('is inconclusive if %s', (_, measured, reason) => {
    const { verdict, reasons } = calibrate(measured)
    expect(verdict).toBe('inconclusive')
    expect(reasons.join('\n')).toContain(reason)
  })

  test('fails with both reasons if one thing fails and another is inconclusive', () => {
    const { verdict, reasons } = calibrate({ ...turnpikeWith({ earliestMs: -1 }), tokenCountMismatches: 1 })
    expect(verdict).toBe('fail')
    expect(reasons).toHaveLength(2)
  })

  test.each([
    ['a p99 equal to the maximum', { ...sound, maxP99Ms: 2 }],
    ['a server that is late by less than a step', turnpikeWith({ serverLatenessMs: spread(20, 50_000) })],
    ['clock readings within a microsecond', turnpikeWith({ earliestMs: -0.001 })],
  ])('passes with %s', (_, measured) => {
    expect(calibrate(measured).verdict).toBe('pass')
  })
})

test('formatCalibration states the measurable times, rounded up', () => {
  const text = formatCalibration(calibrate(sound))
  expect(text).toContain('PASS  100 streams of 50 tokens per second, measured for 10 s')
  expect(text).toContain('cannot measure a TTFT below 2.35 ms or a gap between chunks below 1.50 ms')
  expect(text).toMatch(/every chunk +0\.50 +1\.00 +2\.00 +4\.00 +6\.00 +50,000/)
  const unknown = formatCalibration(calibrate(turnpikeWith({ gapMs: { ...spread(1, 3), p99: null } })))
  expect(unknown).toContain('There are too few samples')
})

const measured = { fromMs: 1_000, toMs: 2_000 }
const on = (writtenMs: readonly number[]) => ({ writtenMs: [...writtenMs], lateMs: writtenMs.map(() => 0.5) })

describe('collectStampDelays', () => {
  test('measures all chunks, first tokens, and gaps by the difference of their delays', () => {
    const delays = collectStampDelays(() => measured)
    delays.add(on([1_000, 1_020, 1_040]), [1_001, 1_021, 1_045])
    delays.add(on([1_500, 1_520]), [1_502, 1_521])
    const { chunkMs, firstTokenMs, gapMs, serverLatenessMs, earliestMs } = delays.snapshot()
    expect(chunkMs).toMatchObject({ count: 5, max: 5, mean: 2 })
    expect(firstTokenMs).toMatchObject({ count: 2, max: 2, mean: 1.5 })
    expect(gapMs).toMatchObject({ count: 3, max: 4 })
    expect(gapMs.mean).toBeCloseTo(5 / 3)
    expect(serverLatenessMs).toMatchObject({ count: 5, max: 0.5 })
    expect(earliestMs).toBe(1)
  })

  test('ignores chunks written outside of the window', () => {
    const delays = collectStampDelays(() => measured)
    delays.add(on([990, 1_990, 2_000]), [1_900, 1_993, 2_900])
    expect(delays.snapshot().chunkMs).toMatchObject({ count: 1, max: 3 })
    expect(delays.snapshot().firstTokenMs.count).toBe(0)
  })

  test('reports a negative delay', () => {
    const delays = collectStampDelays(() => measured)
    delays.add(on([1_500]), [1_498])
    expect(delays.snapshot().earliestMs).toBe(-2)
  })

  test('has no percentiles without chunks', () => {
    expect(collectStampDelays(() => measured).snapshot()).toMatchObject({
      chunkMs: { count: 0, p50: null },
      earliestMs: null,
    })
  })
})

test('stampsOf adds the gaps of a stream to its first token, on the clock of the machine', () => {
  const stream = { firstTokenMs: 5, gapsMs: [20, 30] } as unknown as StreamRecord
  expect(stampsOf(stream, 100)).toEqual([105, 125, 155])
  expect(stampsOf({ ...stream, firstTokenMs: null, gapsMs: [] }, 100)).toEqual([])
})
