import { describe, expect, test } from 'vitest'
import { judgeTrial, type TrialFacts, type TrialState } from '../../../src/capacity/judge-trial.ts'
import type { Trial } from '../../../src/plan/plan.ts'
import { terms } from './mill.ts'

const trial: Trial = { index: 0, purpose: 'raise', perSecond: 100, arrivals: 300 }

const facts = (changes: Partial<TrialFacts> = {}): TrialFacts => ({
  arrivals: 300,
  calls: { rpc: { good: 300, bad: 0, refused: 0 } },
  late: 0,
  blocked: 0,
  heldBack: 0,
  crowdedOut: 0,
  cutOff: 0,
  growth: { inFlightPerSecond: 0, latencyMsPerSecond: 0, deviations: 0, isRising: false },
  ...changes,
})

const rpc = (good: number, bad: number, refused = 0): Partial<TrialFacts> => ({
  arrivals: good + bad + refused,
  calls: { rpc: { good, bad, refused } },
})

const judge = (changes: Partial<TrialFacts>, state: TrialState = 'over', of: Partial<Trial> = {}) =>
  judgeTrial({ ...trial, ...of }, facts(changes), terms(), state)

describe('a rate', () => {
  test('has held when all was sent and enough of it was good', () => {
    expect(judge({})).toBe('held')
    expect(judge(rpc(297, 3))).toBe('held')
  })

  test('has broken with more bad answers than chance explains, and not before', () => {
    expect(judge(rpc(294, 6))).toBe('held')
    expect(judge(rpc(293, 7))).toBe('too-many-bad')
  })

  test('is confirmed only where the share of these very answers is kept', () => {
    expect(judge(rpc(297, 3), 'over', { purpose: 'confirm' })).toBe('held')
    expect(judge(rpc(296, 4), 'over', { purpose: 'confirm' })).toBe('too-many-bad')
  })

  test('has to hold for each call of the mix, the rare one as well', () => {
    const shares = { rpc: 0.95, chat: 0.05 }
    const calls = { rpc: { good: 285, bad: 0, refused: 0 }, chat: { good: 12, bad: 3, refused: 0 } }
    expect(judgeTrial(trial, facts({ calls }), terms({ shares }), 'over')).toBe('too-many-bad')
  })

  test('has broken where requests pile up, though every answer was still good', () => {
    const growth = { inFlightPerSecond: 10, latencyMsPerSecond: 100, deviations: 8, isRising: true }
    expect(judge({ growth })).toBe('over-saturated')
    expect(judge({ growth: { ...growth, deviations: 1 } })).toBe('held')
    expect(judge({ growth: { ...growth, inFlightPerSecond: 2 } })).toBe('held')
    expect(judge({ growth: { ...growth, latencyMsPerSecond: -1 } })).toBe('held')
  })

  test('is not confirmed by a queue that grows ever so little', () => {
    const growth = { inFlightPerSecond: 1, latencyMsPerSecond: 10, deviations: 2, isRising: true }
    expect(judge({ growth }, 'over', { purpose: 'confirm' })).toBe('over-saturated')
    const confirm = (changes: Partial<typeof growth>) =>
      judge({ growth: { ...growth, ...changes } }, 'over', { purpose: 'confirm' })
    expect(confirm({ inFlightPerSecond: 0.5 })).toBe('held')
    expect(confirm({ isRising: false })).toBe('held')
    expect(confirm({ isRising: false, inFlightPerSecond: 4 })).toBe('over-saturated')
  })

  test('has broken where its trial was ended for what the rest of its answers no longer shows', () => {
    expect(judge(rpc(120, 0))).toBe('over-saturated')
  })
})

describe('while a trial goes on', () => {
  test('nothing is said that an answer to come could undo', () => {
    expect(judge(rpc(20, 6), 'open')).toBeNull()
    expect(judge(rpc(20, 7), 'open')).toBe('too-many-bad')
  })

  test('a queue must grow more clearly, for it is looked at again and again', () => {
    const growth = { inFlightPerSecond: 30, latencyMsPerSecond: 100, deviations: 3.5, isRising: true }
    expect(judge({ ...rpc(100, 0), growth }, 'open')).toBeNull()
    expect(judge({ ...rpc(100, 0), growth: { ...growth, deviations: 5 } }, 'open')).toBe('over-saturated')
  })
})

describe('the target is not blamed', () => {
  test('for what the harness sent too late, whatever came of it', () => {
    expect(judge({ ...rpc(200, 100), late: 20 })).toBe('harness-late')
    expect(judge({ late: 6 })).toBe('held')
  })

  test('for what the harness could not send', () => {
    expect(judge({ crowdedOut: 1 })).toBe('harness-full')
  })

  test('but for bad answers it is, though the harness was full as well', () => {
    expect(judge({ ...rpc(200, 99), crowdedOut: 1 })).toBe('too-many-bad')
  })

  test('for refusals of rate limits, unless what it did answer was bad', () => {
    expect(judge(rpc(200, 0, 100))).toBe('rate-limited')
    expect(judge(rpc(150, 50, 100))).toBe('too-many-bad')
    expect(judge(rpc(297, 0, 3))).toBe('held')
  })

  test('while callers are blocked, or were held back lest they be', () => {
    expect(judge({ ...rpc(100, 200), blocked: 1 })).toBe('blocked')
    expect(judge({ ...rpc(198, 2), heldBack: 1 })).toBe('failure-limit')
  })

  test('for a trial in which the run ended', () => {
    expect(judge(rpc(100, 0), 'broken-off')).toBe('unfinished')
    expect(judge({ ...rpc(299, 0), cutOff: 1 })).toBe('unfinished')
    expect(judge({}, 'broken-off')).toBe('held')
  })
})
