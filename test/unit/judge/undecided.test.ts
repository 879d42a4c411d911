import { describe, expect, test } from 'vitest'
import type { ClauseId } from '../../../src/contract/clauses.ts'
import { clausesMatching } from '../../../src/contract/promises.ts'
import { createFindingLog } from '../../../src/judge/findings/findings.ts'
import { createMetrics } from '../../../src/judge/metrics/request-stats.ts'
import type { LimitResult } from '../../../src/judge/results.ts'
import { judgedTotals } from '../../../src/judge/undecided.ts'
import type { Observation } from '../../../src/observation/observation.ts'
import { anObservation, aPlan, respondedWith } from './metrics/fixtures.ts'

const limit = (changes: Partial<LimitResult> = {}): LimitResult => ({
  ...{
    caller: 'c0',
    scope: 'rpc',
    names: ['rpc'],
    tier: 'default',
    windowMs: 60_000,
    limit: 20,
    windows: 1,
    accepted: 20,
    rejected: 3,
  },
  ...{ unexpected429: 0, decided429: 3, missing429: 0, lasted: null },
  ...changes,
})

type Case = {
  readonly passed?: readonly ClauseId[]
  readonly notPromised?: readonly ClauseId[]
  readonly limits?: readonly LimitResult[]
  readonly observations?: readonly Observation[]
  readonly unstatedCosts?: number
  readonly unknownCharges?: number
  readonly unstatedCredits?: number
}

const noBilling = {
  ...{ claimedCredits: '0', claimedUsd: '0', unstatedCosts: 0, unknownCharges: 0, unstatedCredits: 0 },
  discrepancies: [],
}

/** What no judge decided, by the word of thresholds. */
function undecided({ passed = [], notPromised = [], limits = [], observations = [], ...billing }: Case) {
  const plan = aPlan({ profile: 'mine' })
  const metrics = createMetrics(plan)
  for (const each of observations) metrics.add(each)
  const log = createFindingLog(notPromised)
  for (const id of passed) log.reporterFor('headers').pass(id as 'header.date')
  const clauses = log.tallies()
  const ofRun = { plan, clauses, metrics, limits, billing: { ...noBilling, ...billing }, violations: 0, blocks: {} }
  const found = Object.entries(judgedTotals(ofRun)).filter(([, total]) => total.undecided !== null)
  return Object.fromEntries(found.map(([word, total]) => [word, total.undecided]))
}

const judged: readonly ClauseId[] = ['header.date', 'billing.conservation', 'limit.requests.not-early']

describe('a judge decides', () => {
  test('about everything, if each total has a clause that was judged', () => {
    expect(undecided({ passed: judged, limits: [limit()] })).toEqual({})
  })
  test('about 429s, if there is none', () => {
    expect(undecided({ passed: judged, limits: [limit({ rejected: 0, decided429: 0 })] })).toEqual({})
    expect(undecided({ passed: judged, notPromised: clausesMatching('limit.*') })).toEqual({})
  })
  test('about blocks that the target does not promise, if no response was an error', () => {
    const notPromised = clausesMatching('abuse.*')
    expect(undecided({ passed: judged, notPromised, observations: [anObservation()] })).toEqual({})
    expect(undecided({ passed: judged, notPromised, observations: [respondedWith(403)] }).blocked).toEqual({
      most: 1,
      why: '1 response was an error, and the profile "mine" does not promise abuse.*: add it to "promises" of the profile if the target should be judged by it',
    })
  })
})

describe('no judge decides', () => {
  test('about 429s of a limit that is not promised', () => {
    const notPromised = clausesMatching('limit.*')
    const limits = [limit({ unexpected429: 2 })]
    expect(undecided({ passed: judged.slice(0, 2), notPromised, limits })['unexpected-429']).toEqual({
      most: 3,
      why: '3 responses were 429, and the profile "mine" does not promise limit.requests.not-early: add it to "promises" of the profile if the target should be judged by it',
    })
  })
  test('about the 429s of other callers of a limit, or about the others of a caller', () => {
    const limits = [limit(), limit({ caller: 'c1', decided429: 0 }), limit({ caller: 'c2', decided429: 1 })]
    expect(undecided({ passed: judged, limits })['unexpected-429']?.most).toBe(5)
  })
  test('about 429s of which it could not tell whether they were right', () => {
    const limits = [limit({ decided429: 0 }), limit({ scope: 'chat:m', names: ['chat:m'], rejected: 9, decided429: 9 })]
    expect(undecided({ passed: judged, limits })['unexpected-429']?.most).toBe(3)
    const hidden = [limit({ unexpected429: null, decided429: 1 })]
    expect(undecided({ passed: judged, limits: hidden })['unexpected-429']?.most).toBe(3)
  })
  test('about discrepancies, without a judged clause about the balance', () => {
    expect(undecided({ passed: ['header.date', 'rpc.refused.free'] }).discrepancies).toMatchObject({
      most: Number.POSITIVE_INFINITY,
    })
    expect(
      undecided({ notPromised: [...clausesMatching('billing.*'), ...clausesMatching('wallet.*')] }).discrepancies?.why,
    ).toMatch(/^the profile "mine" does not promise billing.conservation: add it/)
    // Callers with keys have no reason to need wallets.
    expect(undecided({ notPromised: clausesMatching('billing.*') }).discrepancies?.why).toMatch(
      /^the profile "mine" does not promise billing.conservation: add it/,
    )
  })
  test('about violations, without a judged clause', () => {
    expect(undecided({}).violations).toMatchObject({ most: Number.POSITIVE_INFINITY })
  })
  test('about amounts that responses do not state', () => {
    const found = undecided({ passed: judged, unstatedCosts: 2, unstatedCredits: 1 })
    expect(found.spend?.why).toBe('2 charged responses state no cost, so the total may be larger')
    expect(found.credits?.why).toBe('1 RPC response states no credits, so the total may be larger')
    expect(found.discrepancies).toBeUndefined()
  })
  test('about charges that neither responses nor the price list tell', () => {
    const found = undecided({ passed: judged, unstatedCosts: 2, unknownCharges: 1 })
    expect(found.discrepancies?.why).toMatch(/^1 charged response states no cost, and the price list does not cover/)
  })
})

test('a 429 of a limit that is not promised is never unexpected', () => {
  const unexpected429s = (notPromised: readonly ClauseId[]) => {
    const plan = aPlan()
    const clauses = createFindingLog(notPromised).tallies()
    const limits = [limit({ unexpected429: 2 })]
    const ofRun = { plan, clauses, metrics: createMetrics(plan), limits, billing: noBilling, violations: 0, blocks: {} }
    return judgedTotals(ofRun)['unexpected-429'].countIn(null)
  }
  expect(unexpected429s([])).toBe(2)
  expect(unexpected429s(clausesMatching('limit.*'))).toBe(0)
})
