import { describe, expect, test } from 'vitest'
import { maxTrials, type NextStep, nextTrial, type TrialRecord } from '../../../../src/judge/capacity/next-trial.ts'
import type { TrialOutcome } from '../../../../src/judge/results.ts'
import type { SearchTerms, Trial } from '../../../../src/plan/plan.ts'

import { kneeOf, mill, search, terms } from './mill.ts'

/** Continues a search until its conclusion, or until `outcomeOf` gives no outcome. */
function follow(of: SearchTerms, outcomeOf: (trial: Trial, past: readonly TrialRecord[]) => TrialOutcome | null) {
  const past: TrialRecord[] = []
  for (;;) {
    const next: NextStep = nextTrial(of, past)
    if (next.kind === 'conclusion') return { past, conclusion: next.conclusion }
    const outcome = outcomeOf(next.trial, past)
    if (outcome === null) return { past, conclusion: null }
    past.push({ trial: next.trial, outcome })
  }
}

const exceededAbove =
  (perSecond: number) =>
  (trial: Trial): TrialOutcome =>
    trial.perSecond > perSecond ? 'slo-missed' : 'sustained'

const rates = (past: readonly TrialRecord[]) => past.map(({ trial }) => Number(trial.perSecond.toPrecision(4)))

describe('a search', () => {
  test('doubles the rate until it is too high, bisects, and confirms', () => {
    const { past, conclusion } = follow(terms({ precision: 0.1 }), exceededAbove(55))
    expect(rates(past)).toEqual([10, 20, 40, 80, 56.57, 47.57, 51.87, 51.87])
    expect(past.at(-1)?.trial.purpose).toBe('confirm')
    expect(conclusion).toMatchObject({ status: 'found', perSecond: expect.closeTo(51.87, 2) })
  })

  test.each([13, 77.7, 160, 999])('ends within the precision below a knee of %f', knee => {
    const { conclusion } = follow(terms(), exceededAbove(knee))
    const found = conclusion?.perSecond ?? 0
    expect(found).toBeLessThanOrEqual(knee)
    expect(found * 1.03).toBeGreaterThanOrEqual(knee)
  })

  test('confirms with enough responses to prove the share, for at least the planned time', () => {
    const last = (changes: Partial<SearchTerms>) => follow(terms(changes), exceededAbove(15)).past.at(-1)?.trial
    expect(last({ confirmMs: 1_000 })?.arrivals).toBe(299)
    expect(last({ confirmMs: 60_000 })?.arrivals).toBeGreaterThan(800)
    // A call with a share of 20 % needs the same number, and chance may give it fewer.
    expect(last({ confirmMs: 1_000, mix: { rpc: 0.8, chat: 0.2 } })?.arrivals).toBeGreaterThan(299 * 5)
  })

  test('lowers an unconfirmed rate by the precision', () => {
    const { past, conclusion } = follow(terms(), trial =>
      trial.purpose === 'confirm' ? exceededAbove(97)(trial) : exceededAbove(100)(trial),
    )
    const confirmed = past.filter(({ trial }) => trial.purpose === 'confirm').map(({ trial }) => trial.perSecond)
    expect(confirmed).toHaveLength(2)
    expect((confirmed[0] ?? 0) / (confirmed[1] ?? 1)).toBeCloseTo(1.03, 9)
    expect(conclusion).toMatchObject({ status: 'found', perSecond: confirmed[1] })
  })

  test('ends above the range if the highest rate is sustained', () => {
    const { past, conclusion } = follow(terms({ toPerSecond: 90 }), () => 'sustained')
    expect(rates(past)).toEqual([10, 20, 40, 80, 90, 90])
    expect(conclusion).toEqual({ status: 'above-range', perSecond: 90, reason: 'sustained' })
  })

  test('ends below the range if the lowest rate fails twice', () => {
    const { past, conclusion } = follow(terms(), () => 'slo-missed')
    expect(rates(past)).toEqual([10, 10])
    expect(conclusion).toEqual({ status: 'below-range', perSecond: null, reason: 'slo-missed' })
  })

  test('does not count a trial that Turnpike invalidated', () => {
    const { past, conclusion } = follow(terms(), (_, before) => (before.length === 0 ? 'harness-late' : 'slo-missed'))
    expect([past.length, conclusion?.status]).toEqual([3, 'below-range'])
  })

  test('forgives a cold start', () => {
    const { conclusion } = follow(terms(), (trial, past) =>
      past.length === 0 ? 'slo-missed' : exceededAbove(50)(trial),
    )
    expect(conclusion?.status).toBe('found')
  })

  test('ends after the maximum number of trials', () => {
    const { past, conclusion } = follow(terms({ precision: 0.000_1, fromPerSecond: 1 }), trial =>
      trial.purpose === 'confirm' ? 'slo-missed' : exceededAbove(1_500)(trial),
    )
    expect(past).toHaveLength(maxTrials)
    expect(conclusion?.status).toBe('inconclusive')
  })
})

describe('a limit other than the target', () => {
  test('repeats a trial once, if Turnpike invalidated it', () => {
    const { past, conclusion } = follow(terms(), (trial, before) =>
      trial.perSecond === 40 && before.at(-1)?.trial.perSecond !== 40 ? 'harness-late' : exceededAbove(60)(trial),
    )
    expect(rates(past).slice(0, 5)).toEqual([10, 20, 40, 40, 80])
    expect(conclusion?.status).toBe('found')
  })

  test('bounds the search, which may still find a capacity below', () => {
    const { conclusion } = follow(terms(), trial =>
      trial.perSecond > 70 ? 'harness-saturated' : exceededAbove(50)(trial),
    )
    expect(conclusion).toMatchObject({ status: 'found', perSecond: expect.closeTo(50, -0.5) })
  })

  test('is never reported as a capacity', () => {
    const { conclusion } = follow(terms(), trial => (trial.perSecond > 70 ? 'harness-saturated' : 'sustained'))
    expect(conclusion).toEqual({ status: 'harness-limited', perSecond: null, reason: 'harness-saturated' })
  })

  test('ends the search, for rate limits and blocked callers', () => {
    const at = (outcome: TrialOutcome) =>
      follow(terms(), trial => (trial.perSecond > 30 ? outcome : 'sustained')).conclusion
    expect(at('rate-limited')).toEqual({ status: 'limited-by-tier', perSecond: null, reason: 'rate-limited' })
    expect(at('blocked')).toEqual({ status: 'inconclusive', perSecond: null, reason: 'blocked' })
    expect(at('unmeasured')).toEqual({ status: 'inconclusive', perSecond: null, reason: 'unmeasured' })
    expect(at('failure-limit')).toEqual({ status: 'inconclusive', perSecond: null, reason: 'failure-limit' })
    expect(at('unfinished')).toEqual({ status: 'inconclusive', perSecond: null, reason: 'unfinished' })
  })
})

const sizes = [
  { slots: 1, serviceMs: 10 },
  { slots: 2, serviceMs: 50 },
  { slots: 4, serviceMs: 20 },
  { slots: 16, serviceMs: 50 },
  { slots: 32, serviceMs: 40 },
]

describe('the knee of a target with a known capacity', () => {
  test.each(sizes)(
    'is found within 5 %, and never exceeded by more than the precision, with $slots slots of $serviceMs ms',
    size => {
      for (const queue of [0, 10, 200]) {
        const target = mill({ ...size, queue })
        const { conclusion } = search(target, terms())
        const error = (conclusion.perSecond ?? 0) / kneeOf(target) - 1
        expect([queue, conclusion.status]).toEqual([queue, 'found'])
        expect(error).toBeGreaterThan(-0.05)
        expect(error).toBeLessThan(0.03)
      }
    },
  )

  test.each([1, 2, 3, 4])('is found within 5 %% with random service times and some bad responses, seed %i', seed => {
    const target = mill({ slots: 32, serviceMs: 40, varies: true, queue: 2_000, noise: 0.003, seed })
    const { conclusion } = search(target, terms({ confirmMs: 20_000 }))
    expect(Math.abs((conclusion.perSecond ?? 0) / kneeOf(target) - 1)).toBeLessThan(0.05)
  })

  test('is found with few requests: a trial far above it ends early', () => {
    const { past } = search(mill({ slots: 8, serviceMs: 50, queue: 10_000, sloMs: 5_000 }), terms())
    const far = past.find(({ trial }) => trial.perSecond === 320)
    expect(far?.outcome).toBe('queue-growing')
  })
})
