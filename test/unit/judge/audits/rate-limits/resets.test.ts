import { describe, expect, test } from 'vitest'
import { documentedContract } from '../../../../../src/contract/documented.ts'
import {
  createResetCheck,
  createRetryCheck,
  createTargetClock,
} from '../../../../../src/judge/audits/rate-limits/resets.ts'
import type { WindowRequest } from '../../../../../src/judge/audits/rate-limits/window.ts'
import { createFindingLog } from '../../../../../src/judge/findings/findings.ts'
import { randomStream } from '../../../../../src/lib/random.ts'
import { responseOf, startedAtMs } from '../../checks/observed.ts'

const member = (id: number, sentMs: number, kind: WindowRequest['kind']): WindowRequest => ({
  id,
  key: 0,
  isRetry: false,
  sentMs,
  shownMs: sentMs + 10,
  settledMs: sentMs + 10,
  kind,
  stated: 20,
  remaining: 0,
  maxTokens: 0,
  tokensLeft: null,
})

function retries(skew: { min: number; max: number }) {
  const findingLog = createFindingLog()
  const judged = createRetryCheck(
    { scope: 'rpc', startedAtMs: 0, offset: () => skew },
    findingLog.reporterFor('rate-limits'),
  )
  judged.mark(member(1, 5_000, 'rejected'), 60_000)
  return { ...judged, findingLog }
}

test('a request is a retry once the stated reset has passed on any possible clock of the target', () => {
  const { mark } = retries({ min: -3_000, max: 3_000 })
  expect(mark(member(2, 63_900, 'accepted'), 120_000).isRetry).toBe(false)
  expect(mark(member(2, 64_100, 'accepted'), 120_000).isRetry).toBe(true)
})

test('a request of the rejecting window is not a retry', () => {
  expect(retries({ min: 0, max: 0 }).mark(member(2, 70_000, 'accepted'), 60_000).isRetry).toBe(false)
})

test('a 429 with a reset in the past fails, citing both responses', () => {
  const { isLate, findingLog } = retries({ min: 0, max: 0 })
  expect(isLate(member(2, 60_500, 'rejected'), 60_000)).toBe(false)
  expect(isLate(member(3, 62_000, 'accepted'), 60_000)).toBe(false)
  expect(isLate(member(4, 62_000, 'rejected'), 60_000)).toBe(true)
  expect(findingLog.findings().map(({ clause, examples }) => [clause, examples[0]?.requestIds])).toEqual([
    ['retry.after-reset', [1, 4]],
  ])
})

test.each([
  [true, []],
  [false, ['the reset of rpc is 31 s ahead, expected 0 to 14 s ahead']],
])('a reset may be the end of an abuse block, beyond a short window: blocked %j', (isBlocked, messages) => {
  const contract = { ...documentedContract, limits: { ...documentedContract.limits, windowMs: 7_000 } }
  const findingLog = createFindingLog()
  const check = createResetCheck(
    { scope: 'rpc', contract, startedAtMs: 0, offset: () => ({ min: 0, max: 0 }) },
    findingLog.reporterFor('rate-limits'),
  )
  expect(check.judge({ ...member(1, 0, 'uncertain'), isBlocked }, 31_000)).toBe(false)
  expect(findingLog.findings().map(({ message }) => message)).toEqual(messages)
})

const stamped = (sentMs: number, headersMs: number, unixMs: number | null) => ({
  sentMs,
  headersMs,
  response: responseOf(200, {}, { date: unixMs === null ? 'soon' : new Date(unixMs).toUTCString() }),
})

/** Dates are never old, and limits use the same clock. */
const exact = { dateAgeMs: 0, clockToleranceMs: 0 }

describe("the target's clock", () => {
  test('is within ten seconds of ours before the first Date', () => {
    const { add, offset } = createTargetClock(startedAtMs, exact)
    add(stamped(0, 10, null))
    expect(offset()).toEqual({ min: -10_000, max: 10_000 })
  })

  test('is bounded by the send time of a request and the arrival of its headers', () => {
    const { add, offset } = createTargetClock(startedAtMs, exact)
    add(stamped(400, 600, startedAtMs + 3000))
    expect(offset()).toEqual({ min: 2400, max: 3600 })
  })

  test('is within its bounds for any offset, and they narrow to the latency and the stamp resolution', () => {
    for (let seed = 0; seed < 50; seed++) {
      const random = randomStream(seed, 'clock')
      const ahead = random.int(6001) - 3000
      const { add, offset } = createTargetClock(startedAtMs, exact)
      for (let sentMs = 0; sentMs < 20_000; sentMs += 97) {
        const [there, back] = [random.int(80), random.int(80)]
        const stampMs = Math.floor((startedAtMs + sentMs + there + ahead) / 1000) * 1000
        add(stamped(sentMs, sentMs + there + back, stampMs))
        expect(offset().min).toBeLessThanOrEqual(ahead)
        expect(offset().max).toBeGreaterThanOrEqual(ahead)
      }
      expect(offset().max - offset().min).toBeLessThan(900)
    }
  })

  test('is within its bounds although dates are up to two seconds old, and limits use a clock that differs', () => {
    for (let seed = 0; seed < 50; seed++) {
      const random = randomStream(seed, 'old dates')
      const apart = random.int(2001) - 1000
      const { add, offset } = createTargetClock(startedAtMs, { dateAgeMs: 2000, clockToleranceMs: 1000 })
      for (let sentMs = 0; sentMs < 20_000; sentMs += 197) {
        const stampMs = Math.floor((startedAtMs + sentMs + 20 - random.int(2001)) / 1000) * 1000
        add(stamped(sentMs, sentMs + 40, stampMs))
        expect(offset().min).toBeLessThanOrEqual(apart)
        expect(offset().max).toBeGreaterThanOrEqual(apart)
      }
    }
  })

  test('may drift by two seconds in eight hours', () => {
    const { add, offset } = createTargetClock(startedAtMs, { dateAgeMs: 500, clockToleranceMs: 0 })
    for (let sentMs = 0; sentMs < 8 * 3_600_000; sentMs += 9_970) {
      const ahead = (sentMs / (8 * 3_600_000)) * 2000
      add(stamped(sentMs, sentMs + 50, Math.floor((startedAtMs + sentMs + 20 + ahead) / 1000) * 1000))
      expect(offset().min).toBeLessThanOrEqual(ahead)
      expect(offset().max).toBeGreaterThanOrEqual(ahead)
    }
  })

  test('may be stepped by three seconds, and is then as before or as after the step', () => {
    const { add, offset } = createTargetClock(startedAtMs, exact)
    for (let sentMs = 0; sentMs < 20_000; sentMs += 170) {
      const ahead = sentMs < 10_000 ? 0 : 3000
      add(stamped(sentMs, sentMs + 30, Math.floor((startedAtMs + sentMs + 15 + ahead) / 1000) * 1000))
    }
    expect(offset().min).toBeLessThanOrEqual(0)
    expect(offset().max).toBeGreaterThanOrEqual(3000)
  })
})
