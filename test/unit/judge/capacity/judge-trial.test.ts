import { describe, expect, test } from 'vitest'
import {
  type CallTally,
  judgeTrial,
  maxFailuresAllowed,
  maxFailuresByChance,
  type TrialSnapshot,
  type TrialState,
} from '../../../../src/judge/capacity/judge-trial.ts'
import type { QueueRange, QueueTrend } from '../../../../src/judge/capacity/queue-growth.ts'
import type { Trial } from '../../../../src/plan/plan.ts'

import { noRequests, terms } from './mill.ts'

const trial: Trial = { index: 0, purpose: 'raise', perSecond: 100, arrivals: 300 }

const tally = (counts: Partial<CallTally>): CallTally => ({ ...noRequests(), ...counts })

const exact = (trend: QueueTrend): QueueRange => ({ measured: trend, least: trend, most: trend })

const snapshot = (changes: Partial<TrialSnapshot> = {}): TrialSnapshot => ({
  arrivals: 300,
  calls: { rpc: tally({ good: 300 }) },
  late: 0,
  blocked: 0,
  heldBack: 0,
  crowdedOut: 0,
  cutOff: 0,
  queue: exact({ inFlightPerSecond: 0, latencyMsPerSecond: 0, onceIn: 1, isRising: false }),
  ...changes,
})

const rpc = (good: number, bad: number, refused = 0, more: Partial<CallTally> = {}): Partial<TrialSnapshot> => ({
  arrivals: good + bad + refused + (more.unmeasured ?? 0),
  calls: { rpc: tally({ good, bad, refused, ...more }) },
})

const judge = (changes: Partial<TrialSnapshot>, state: TrialState = 'over', of: Partial<Trial> = {}) =>
  judgeTrial({ ...trial, ...of }, snapshot(changes), terms(), state)

describe('a trial', () => {
  test('is sustained if everything was sent and enough responses were good', () => {
    expect(judge({})).toBe('sustained')
    expect(judge(rpc(297, 3))).toBe('sustained')
  })

  test('misses the SLO with more bad responses than chance explains, and not before', () => {
    expect(judge(rpc(294, 6))).toBe('sustained')
    expect(judge(rpc(293, 7))).toBe('slo-missed')
  })

  test('confirms only if the share of its own responses is good enough', () => {
    expect(judge(rpc(297, 3), 'over', { purpose: 'confirm' })).toBe('sustained')
    expect(judge(rpc(296, 4), 'over', { purpose: 'confirm' })).toBe('slo-missed')
  })

  test('must be good for each call of the mix, including rare ones', () => {
    const shares = { rpc: 0.95, chat: 0.05 }
    const calls = { rpc: tally({ good: 285 }), chat: tally({ good: 12, bad: 3 }) }
    expect(judgeTrial(trial, snapshot({ calls }), terms({ mix: shares }), 'over')).toBe('slo-missed')
  })

  test('fails if the queue grows, even if every response was good', () => {
    const queue = { inFlightPerSecond: 10, latencyMsPerSecond: 100, onceIn: 1_000, isRising: true }
    expect(judge({ queue: exact(queue) })).toBe('queue-growing')
    expect(judge({ queue: exact({ ...queue, onceIn: 1 }) })).toBe('sustained')
    expect(judge({ queue: exact({ ...queue, inFlightPerSecond: 2 }) })).toBe('sustained')
    expect(judge({ queue: exact({ ...queue, latencyMsPerSecond: -1 }) })).toBe('sustained')
  })

  test('does not confirm if the queue grows even slightly', () => {
    const queue = { inFlightPerSecond: 1, latencyMsPerSecond: 10, onceIn: 1, isRising: true }
    expect(judge({ queue: exact(queue) }, 'over', { purpose: 'confirm' })).toBe('queue-growing')
    const confirm = (changes: Partial<typeof queue>) =>
      judge({ queue: exact({ ...queue, ...changes }) }, 'over', { purpose: 'confirm' })
    expect(confirm({ inFlightPerSecond: 0.5 })).toBe('sustained')
    expect(confirm({ isRising: false })).toBe('sustained')
    expect(confirm({ isRising: false, inFlightPerSecond: 4 })).toBe('queue-growing')
  })

  test('that ended early counts as a growing queue', () => {
    expect(judge(rpc(120, 0))).toBe('queue-growing')
  })
})

describe('an open trial', () => {
  test('has no outcome that a later response could change', () => {
    expect(judge(rpc(20, 6), 'open')).toBeNull()
    expect(judge(rpc(20, 7), 'open')).toBe('slo-missed')
  })

  test('needs a clearer growth of the queue, because it is checked repeatedly', () => {
    const queue = { inFlightPerSecond: 30, latencyMsPerSecond: 100, onceIn: 100, isRising: true }
    expect(judge({ ...rpc(100, 0), queue: exact(queue) }, 'open')).toBeNull()
    expect(judge({ ...rpc(100, 0), queue: exact({ ...queue, onceIn: 1_000 }) }, 'open')).toBe('queue-growing')
  })
})

describe('a trial is inconclusive about the target', () => {
  test('if the responses were bad by less than the errors of Turnpike', () => {
    expect(judge(rpc(290, 10, 0, { doubtfullyBad: 3 }))).toBe('slo-missed')
    expect(judge(rpc(290, 10, 0, { doubtfullyBad: 4 }))).toBe('harness-late')
    expect(judge(rpc(294, 6, 0, { doubtfullyBad: 6 }))).toBe('sustained')
  })

  test('if the responses were good by less than the errors of Turnpike', () => {
    expect(judge(rpc(294, 6, 0, { doubtfullyGood: 1 }))).toBe('harness-late')
    expect(judge(rpc(298, 2, 0, { doubtfullyGood: 4 }))).toBe('sustained')
  })

  test('if late requests may have delayed enough others, of those that were bad by no more than the lateness', () => {
    const bad = (exposed: number, late: number) => judge({ ...rpc(200, 100, 0, { exposed }), late })
    expect(bad(100, 0)).toBe('slo-missed')
    expect(bad(100, 9)).toBe('slo-missed')
    expect(bad(100, 10)).toBe('harness-late')
    expect(bad(90, 300)).toBe('slo-missed')
  })

  test('but not for lateness that changed no response', () => {
    expect(judge({ late: 300 })).toBe('sustained')
  })

  test('if the queue grew only as measured, or would have grown with requests on time', () => {
    const still = { inFlightPerSecond: 0, latencyMsPerSecond: 0, onceIn: 1, isRising: false }
    const growing = { inFlightPerSecond: 10, latencyMsPerSecond: 100, onceIn: 1_000, isRising: true }
    const queue = (least: QueueTrend, most: QueueTrend) => judge({ queue: { measured: still, least, most } })
    expect(queue(still, growing)).toBe('harness-late')
    expect(queue(growing, growing)).toBe('queue-growing')
    expect(queue(still, still)).toBe('sustained')
  })

  test('if Turnpike is so late during it that the rest cannot decide', () => {
    const open = (late: number) => judge({ ...rpc(20, 40, 0, { exposed: 40 }), late }, 'open')
    expect([open(3), open(4), open(29), open(30)]).toEqual(['slo-missed', null, null, 'harness-late'])
  })

  test('if it ended early for responses that later turned out to be doubtful', () => {
    expect(judge({ ...rpc(100, 20, 0, { exposed: 20 }), late: 2 })).toBe('harness-late')
  })

  test('if Turnpike could not send', () => {
    expect(judge({ crowdedOut: 1 })).toBe('harness-saturated')
    expect(judge(rpc(0, 0, 0, { unmeasured: 200 }))).toBe('unmeasured')
    expect(judge(rpc(292, 4, 0, { unmeasured: 4 }))).toBe('unmeasured')
    expect(judge(rpc(100, 99, 0, { unmeasured: 1 }))).toBe('slo-missed')
  })

  test('but bad responses count, even if Turnpike reached its limit too', () => {
    expect(judge({ ...rpc(200, 99), crowdedOut: 1 })).toBe('slo-missed')
  })

  test('if rate limits rejected requests, unless the other responses were bad', () => {
    expect(judge(rpc(200, 0, 100))).toBe('rate-limited')
    expect(judge(rpc(150, 50, 100))).toBe('slo-missed')
    expect(judge(rpc(297, 0, 3))).toBe('sustained')
  })

  test('if callers were blocked, or arrivals were held back to avoid that', () => {
    expect(judge({ ...rpc(100, 200), blocked: 1 })).toBe('blocked')
    expect(judge({ ...rpc(198, 2), heldBack: 1 })).toBe('failure-limit')
  })

  test('if the run ended during it', () => {
    expect(judge(rpc(100, 0), 'broken-off')).toBe('unfinished')
    expect(judge({ ...rpc(299, 0), cutOff: 1 })).toBe('unfinished')
    expect(judge({}, 'broken-off')).toBe('sustained')
  })
})

/** The probability of at least `bad` among `of`, summed up term by term. */
function chanceOf(bad: number, of: number, share: number): number {
  let chance = 0
  for (let k = 0; k < bad; k++) chance += choose(of, k) * share ** k * (1 - share) ** (of - k)
  return 1 - chance
}

const choose = (n: number, k: number): number =>
  Array.from({ length: k }, (_, i) => (n - i) / (i + 1)).reduce((a, b) => a * b, 1)

describe('the maximum number of bad responses by chance', () => {
  test.each([
    [20, 0.01],
    [60, 0.05],
    [300, 0.01],
    [120, 0.1],
  ])('of %i with a share of %f has a probability above 5 %%, and one more does not', (of, share) => {
    const max = maxFailuresByChance(of, share)
    expect(max === 0 ? 1 : chanceOf(max, of, share)).toBeGreaterThan(0.05)
    expect(chanceOf(max + 1, of, share)).toBeLessThan(0.05)
  })

  test('is above the exact share, and close to it for large numbers', () => {
    expect(maxFailuresByChance(300, 0.01)).toBeGreaterThan(maxFailuresAllowed(300, 0.01))
    expect(maxFailuresByChance(100_000, 0.01)).toBeLessThan(1_060)
  })

  test('is 0 for a share of 0, and never more than all', () => {
    expect(maxFailuresByChance(1_000, 0)).toBe(0)
    expect(maxFailuresByChance(3, 0.9)).toBe(3)
    expect(maxFailuresByChance(0, 0.01)).toBe(0)
  })
})

test('the allowed number is exact, despite floating-point rounding', () => {
  expect(maxFailuresAllowed(100, 1 - 0.99)).toBe(1)
  expect(maxFailuresAllowed(299, 1 - 0.99)).toBe(2)
  expect(maxFailuresAllowed(1_000, 1 - 0.999)).toBe(1)
})
