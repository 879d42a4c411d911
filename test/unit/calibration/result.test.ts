import { describe, expect, test } from 'vitest'
import {
  type CalibrationData,
  calibrate,
  collectStampDelays,
  formatCalibration,
  type StampDelaySnapshot,
  stampsOf,
} from '../../../src/calibration/result.ts'
import type { Percentiles } from '../../../src/judge/metrics/histogram.ts'
import type { StreamRecord } from '../../../src/observation/observation.ts'

const spread = (p99: number, count: number): Percentiles => ({
  ...{ count, mean: p99 / 3, p50: p99 / 4, p90: p99 / 2, p95: p99 / 2, p99, p999: p99 * 2, max: p99 * 3 },
})
const facts: StampDelaySnapshot = {
  chunkMs: spread(2, 50_000),
  firstTokenMs: spread(2.341, 2_500),
  gapMs: spread(1.5, 49_000),
  metronomeMs: spread(4, 50_000),
  earliestMs: 0.02,
}
const load = { streams: 100, perSecond: 50, tokens: 200, tokensPerWrite: 1, seconds: 10 }
const sound: CalibrationData = {
  load,
  turnpike: facts,
  raw: facts,
  tokenCountMismatches: 0,
  run: { verdict: 'pass', reasons: ['7 answers judged.'] },
  eventLoopDelayMs: { p99: 1, max: 9 },
  maxP99Ms: null,
}
const turnpikeWith = (changed: Partial<StampDelaySnapshot>) => ({ ...sound, turnpike: { ...facts, ...changed } })

describe('the verdict', () => {
  test('is pass where nothing speaks against it, and the floor is the p99 of first tokens and of gaps', () => {
    expect(calibrate(sound)).toMatchObject({
      verdict: 'pass',
      reasons: [],
      measurableFromMs: { ttft: 2.341, gap: 1.5 },
    })
  })

  test.each([
    ['a stream was read otherwise than written', { ...sound, tokenCountMismatches: 2 }, '2 streams were read'],
    ['the run fails', { ...sound, run: { verdict: 'fail' as const, reasons: ['broken'] } }, 'broken'],
    ['chunks are stamped later than is wanted', { ...sound, maxP99Ms: 1.9 }, 'p99 of all chunks is 2.00 ms'],
  ])('is fail where %s', (_, measured, reason) => {
    const { verdict, reasons } = calibrate(measured)
    expect(verdict).toBe('fail')
    expect(reasons.join('\n')).toContain(reason)
  })

  test.each([
    ['the run is', { ...sound, run: { verdict: 'inconclusive' as const, reasons: ['5 failed'] } }, '5 failed'],
    ['two clocks differ', turnpikeWith({ earliestMs: -0.06 }), 'no clock in common'],
    ['the metronome was late', turnpikeWith({ metronomeMs: spread(21, 50_000) }), '21.0 ms late'],
    ['too few were written', turnpikeWith({ chunkMs: spread(2, 47_000) }), 'expected 50000'],
    ['too few began', turnpikeWith({ firstTokenMs: { ...spread(2, 40), p99: null } }), '299 are needed'],
    ['the bare reader had another load', { ...sound, raw: { ...facts, chunkMs: spread(2, 9) } }, 'the bare reader'],
  ])('is inconclusive where %s', (_, measured, reason) => {
    const { verdict, reasons } = calibrate(measured)
    expect(verdict).toBe('inconclusive')
    expect(reasons.join('\n')).toContain(reason)
  })

  test('is fail where something is wrong and something in doubt, and says both', () => {
    const { verdict, reasons } = calibrate({ ...turnpikeWith({ earliestMs: -1 }), tokenCountMismatches: 1 })
    expect(verdict).toBe('fail')
    expect(reasons).toHaveLength(2)
  })

  test.each([
    ['a bound that holds', { ...sound, maxP99Ms: 2 }],
    ['a metronome that is late within a step', turnpikeWith({ metronomeMs: spread(20, 50_000) })],
    ['clocks that are read within a microsecond', turnpikeWith({ earliestMs: -0.001 })],
  ])('is not troubled by %s', (_, measured) => {
    expect(calibrate(measured).verdict).toBe('pass')
  })
})

test('for people it says what the times of a report are worth, rounded up', () => {
  const text = formatCalibration(calibrate(sound))
  expect(text).toContain('PASS  100 streams of 50 tokens a second, watched for 10 s')
  expect(text).toContain('a TTFT below 2.35 ms and a gap between chunks below 1.50 ms say nothing about a target')
  expect(text).toMatch(/every chunk +0\.50 +1\.00 +2\.00 +4\.00 +6\.00 +50,000/)
  const unknown = formatCalibration(calibrate(turnpikeWith({ gapMs: { ...spread(1, 3), p99: null } })))
  expect(unknown).toContain('is not known')
})

const span = { fromMs: 1_000, toMs: 2_000 }
const on = (writtenMs: readonly number[]) => ({ writtenMs: [...writtenMs], lateMs: writtenMs.map(() => 0.5) })

describe('of each chunk it is taken how much later than written it was stamped', () => {
  test('of the first ones by themselves, and of gaps only what their ends differ by', () => {
    const delays = collectStampDelays(() => span)
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
    const delays = collectStampDelays(() => span)
    delays.add(on([990, 1_990, 2_000]), [1_900, 1_993, 2_900])
    expect(delays.facts().chunkMs).toMatchObject({ count: 1, max: 3 })
    expect(delays.facts().firstTokenMs.count).toBe(0)
  })

  test('also where that is less than nothing', () => {
    const delays = collectStampDelays(() => span)
    delays.add(on([1_500]), [1_498])
    expect(delays.facts().earliestMs).toBe(-2)
  })

  test('of nothing, nothing', () => {
    expect(collectStampDelays(() => span).facts()).toMatchObject({ chunkMs: { count: 0, p50: null }, earliestMs: null })
  })
})

test('the stamps of a stream are its first token and the gaps behind it, on the clock of the machine', () => {
  const reading = { firstTokenMs: 5, gapsMs: [20, 30] } as unknown as StreamRecord
  expect(stampsOf(reading, 100)).toEqual([105, 125, 155])
  expect(stampsOf({ ...reading, firstTokenMs: null, gapsMs: [] }, 100)).toEqual([])
})
