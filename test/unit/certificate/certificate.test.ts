import { describe, expect, test } from 'vitest'
import { certify, type Measured } from '../../../src/certificate/certificate.ts'
import type { DelayFacts } from '../../../src/certificate/delays.ts'
import { describeCertificate } from '../../../src/certificate/describe-certificate.ts'
import type { Percentiles } from '../../../src/metrics/histogram.ts'

const spread = (p99: number, count: number): Percentiles => ({
  ...{ count, mean: p99 / 3, p50: p99 / 4, p90: p99 / 2, p95: p99 / 2, p99, p999: p99 * 2, max: p99 * 3 },
})
const facts: DelayFacts = {
  chunkMs: spread(2, 50_000),
  firstTokenMs: spread(2.341, 2_500),
  gapMs: spread(1.5, 49_000),
  metronomeMs: spread(4, 50_000),
  earliestMs: 0.02,
}
const load = { streams: 100, perSecond: 50, tokens: 200, atOnce: 1, seconds: 10 }
const sound: Measured = {
  load,
  turnpike: facts,
  bare: facts,
  misread: 0,
  run: { verdict: 'pass', because: ['7 answers judged.'] },
  eventLoopDelayMs: { p99: 1, max: 9 },
  mostMs: null,
}
const turnpikeWith = (changed: Partial<DelayFacts>) => ({ ...sound, turnpike: { ...facts, ...changed } })

describe('the verdict', () => {
  test('is pass where nothing speaks against it, and the floor is the p99 of first tokens and of gaps', () => {
    expect(certify(sound)).toMatchObject({ verdict: 'pass', because: [], floorMs: { ttft: 2.341, gap: 1.5 } })
  })

  test.each([
    ['a stream was read otherwise than written', { ...sound, misread: 2 }, '2 streams were read'],
    ['the run fails', { ...sound, run: { verdict: 'fail' as const, because: ['broken'] } }, 'broken'],
    ['chunks are stamped later than is wanted', { ...sound, mostMs: 1.9 }, 'p99 of all chunks is 2.00 ms'],
  ])('is fail where %s', (_, measured, reason) => {
    const { verdict, because } = certify(measured)
    expect(verdict).toBe('fail')
    expect(because.join('\n')).toContain(reason)
  })

  test.each([
    ['the run is', { ...sound, run: { verdict: 'inconclusive' as const, because: ['5 failed'] } }, '5 failed'],
    ['two clocks differ', turnpikeWith({ earliestMs: -0.06 }), 'no clock in common'],
    ['the metronome was late', turnpikeWith({ metronomeMs: spread(21, 50_000) }), '21.0 ms late'],
    ['too few were written', turnpikeWith({ chunkMs: spread(2, 47_000) }), 'expected 50000'],
    ['too few began', turnpikeWith({ firstTokenMs: { ...spread(2, 40), p99: null } }), '299 are needed'],
    ['the bare reader had another load', { ...sound, bare: { ...facts, chunkMs: spread(2, 9) } }, 'the bare reader'],
  ])('is inconclusive where %s', (_, measured, reason) => {
    const { verdict, because } = certify(measured)
    expect(verdict).toBe('inconclusive')
    expect(because.join('\n')).toContain(reason)
  })

  test('is fail where something is wrong and something in doubt, and says both', () => {
    const { verdict, because } = certify({ ...turnpikeWith({ earliestMs: -1 }), misread: 1 })
    expect(verdict).toBe('fail')
    expect(because).toHaveLength(2)
  })

  test.each([
    ['a bound that holds', { ...sound, mostMs: 2 }],
    ['a metronome that is late within a step', turnpikeWith({ metronomeMs: spread(20, 50_000) })],
    ['clocks that are read within a microsecond', turnpikeWith({ earliestMs: -0.001 })],
  ])('is not troubled by %s', (_, measured) => {
    expect(certify(measured).verdict).toBe('pass')
  })
})

test('for people it says what the times of a report are worth, rounded up', () => {
  const text = describeCertificate(certify(sound))
  expect(text).toContain('PASS  100 streams of 50 tokens a second, watched for 10 s')
  expect(text).toContain('a TTFT below 2.35 ms and a gap between chunks below 1.50 ms say nothing about a target')
  expect(text).toMatch(/every chunk +0\.50 +1\.00 +2\.00 +4\.00 +6\.00 +50,000/)
  const unknown = describeCertificate(certify(turnpikeWith({ gapMs: { ...spread(1, 3), p99: null } })))
  expect(unknown).toContain('is not known')
})
