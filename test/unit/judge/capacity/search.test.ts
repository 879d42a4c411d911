import { describe, expect, test } from 'vitest'
import { documented } from '../../../../src/contract/documented.ts'
import { createCapacitySearch } from '../../../../src/judge/capacity/search.ts'
import type { Observation } from '../../../../src/observation/observation.ts'
import type { Load } from '../../../../src/plan/plan.ts'
import { aPlan, aStage, dropped, failed, respondedWith } from '../metrics/fixtures.ts'

const load: Load = {
  model: 'capacity',
  search: {
    fromPerSecond: 20,
    toPerSecond: 40,
    goodRatio: 0.9,
    precision: 0.05,
    trialMs: 1_000,
    confirmMs: 1_000,
    confirmSamples: 29,
    mix: { rpc: 1 },
  },
  spacing: 'even',
  coolDownMs: 0,
  mix: [['rpc', 1]],
}
const plan = aPlan({ stages: [aStage('search', 60_000, { load })], slo: { rpc: { latency: 100 } } })

type Told = (dueMs: number, index: number) => Observation

const good: Told = dueMs => respondedWith(200, { dueMs, sentMs: dueMs, headersMs: dueMs + 50, endMs: dueMs + 50 })
const slow: Told = dueMs => respondedWith(200, { dueMs, sentMs: dueMs, headersMs: dueMs + 150, endMs: dueMs + 150 })
const late: Told = dueMs => respondedWith(200, { dueMs, sentMs: dueMs + 40, headersMs: dueMs + 90, endMs: dueMs + 90 })
const refusing: Told = dueMs => respondedWith(429, { dueMs, sentMs: dueMs, headersMs: dueMs + 2, endMs: dueMs + 2 })

/** A search whose trials went so, one after the other; each is told of as many arrivals as it was to have. */
function searched(trials: readonly Told[], counts: readonly (number | null)[] = []) {
  const capacity = createCapacitySearch(plan, documented)
  let startMs = 0
  for (const [index, told] of trials.entries()) {
    const next = capacity.next('search')
    if (next.kind === 'conclusion') throw new Error(`the search was over before trial ${index}`)
    const { arrivals, perSecond } = next.trial
    const all = Array.from({ length: counts[index] ?? arrivals }, (_, n) => told(startMs + (n * 1000) / perSecond, n))
    for (const observation of all) capacity.add({ ...observation, stage: 'search', call: 'rpc', trial: index })
    startMs += 10_000
  }
  return capacity
}

const resultOf = (...given: Parameters<typeof searched>) => searched(...given).results(true)[0]

describe('what a search adds up to', () => {
  test('is each trial with its rates, and what was confirmed', () => {
    const result = resultOf([good, good, good])
    expect(result).toMatchObject({ status: 'above-range', ratePerSecond: 40 })
    expect(result?.trials.map(({ offeredPerSecond, outcome }) => [offeredPerSecond, outcome])).toEqual([
      [20, 'sustained'],
      [40, 'sustained'],
      [40, 'sustained'],
    ])
    expect(result?.trials[1]).toMatchObject({
      achievedPerSecond: expect.closeTo(40, 6),
      goodputPerSecond: expect.closeTo(40, 6),
      goodRatio: 1,
      arrivals: 40,
      planned: 40,
    })
    expect(result?.confirmation).toEqual({ percent: 90, samples: 40, latencyMs: expect.closeTo(50, 0) })
  })

  test('shows at which rate a target works that is behind', () => {
    // Forty come each second, and twenty go; the last one is stuck.
    const behind: Told = (dueMs, index) =>
      respondedWith(200, {
        dueMs,
        sentMs: dueMs,
        headersMs: dueMs,
        endMs: dueMs + 50 + index * 25 + (index === 39 ? 60_000 : 0),
      })
    const trial = resultOf([good, behind])?.trials[1]
    expect(trial?.achievedPerSecond).toBeCloseTo(20, -0.5)
  })

  test('counts the arrivals of replays once', () => {
    const replay: Told = (dueMs, index) => {
      const request = { kind: 'rpc', network: 'n', batch: false, items: [] } as const
      const role = index % 2 === 0 ? 'original' : 'duplicate'
      const group = index - (index % 2)
      return { ...good(dueMs, index), id: index, request: { ...request, replay: { group, role, concurrent: false } } }
    }
    expect(resultOf([replay], [40])?.trials[0]).toMatchObject({ arrivals: 20, planned: 20, outcome: 'sustained' })
    // As many answers a second as arrivals, though there were twice as many.
    expect(resultOf([good])?.trials[0]?.goodputPerSecond).toBeCloseTo(20, 6)
    expect(resultOf([replay], [40])?.trials[0]?.goodputPerSecond).toBeCloseTo(10, 0)
  })

  test('leaves out what is of no trial', () => {
    const capacity = createCapacitySearch(plan, documented)
    capacity.add({ ...slow(0, 0), stage: '(opening)' })
    expect(capacity.results(true)[0]?.trials).toEqual([])
  })
})

describe('the target is told apart from the rest', () => {
  test('slow answers are its own', () => {
    expect(resultOf([slow, slow])).toMatchObject({ status: 'below-range', ratePerSecond: null })
  })

  test('what was sent late is not, and gives no number', () => {
    const result = resultOf([late, late])
    expect(result).toMatchObject({ status: 'harness-limited', ratePerSecond: null })
    expect(result?.reason).toMatch(/^Turnpike itself sent too late at 20\/s/)
  })

  test('refusals by rate limits are not', () => {
    expect(resultOf([good, refusing])).toMatchObject({ status: 'limited-by-tier', ratePerSecond: null })
  })

  test('answers of the abuse block are not', () => {
    const error = { error: 'Too many failed attempts. Wait 30s and retry.' }
    const blocked: Told = (dueMs, index) => {
      const body = { kind: 'json', value: error, digest: null } as const
      return { ...refusing(dueMs, index), response: { status: 429, headers: {}, bytes: 60, body } }
    }
    expect(resultOf([good, blocked])?.trials[1]?.outcome).toBe('blocked')
  })

  test('requests that the harness ended itself are not', () => {
    const cancelled: Told = dueMs =>
      failed({ dueMs, sentMs: dueMs, endMs: dueMs + 5, outcome: { kind: 'failed', reason: 'cancelled', detail: '' } })
    expect(resultOf([cancelled])?.trials[0]?.outcome).toBe('unfinished')
  })

  test('arrivals that were never sent are not', () => {
    const crowded: Told = dueMs => dropped({ dueMs, outcome: { kind: 'dropped', reason: 'max-in-flight' } })
    expect(resultOf([crowded])?.trials[0]?.outcome).toBe('harness-saturated')
  })
})

describe('a search that goes on', () => {
  test('is told to end a trial as soon as no answer to come can save it', () => {
    const capacity = searched([good])
    const next = capacity.next('search')
    if (next.kind === 'conclusion') throw new Error('the search goes on')
    for (let index = 0; index < 6; index++) {
      expect(capacity.soFar('search', next.trial)).toBeNull()
      capacity.add({ ...slow(index, index), stage: 'search', call: 'rpc', trial: 1 })
    }
    for (let index = 0; index < 3; index++)
      capacity.add({ ...slow(index, index), stage: 'search', call: 'rpc', trial: 1 })
    expect(capacity.soFar('search', next.trial)).toBe('slo-missed')
  })

  test('is the same whether or not somebody watches it', () => {
    const told: readonly Told[] = [good, slow, good]
    const watched = createCapacitySearch(plan, documented)
    for (const [index, each] of told.entries()) {
      const next = watched.next('search')
      if (next.kind === 'conclusion') throw new Error(`the search was over before trial ${index}`)
      for (let n = 0; n < next.trial.arrivals; n++) {
        watched.add({
          ...each(index * 10_000 + (n * 1000) / next.trial.perSecond, n),
          stage: 'search',
          call: 'rpc',
          trial: index,
        })
        expect(watched.results(false)[0]?.trials[index]?.arrivals).toBe(n + 1)
      }
    }
    expect(watched.results(false)).toEqual(searched(told).results(false))
  })

  test('comes to nothing where the run ended in a trial, or before the next', () => {
    const cut = searched([good, good], [null, 10])
    expect(cut.results(false)[0]).toMatchObject({ status: 'inconclusive', ratePerSecond: null })
    expect(cut.results(false)[0]?.trials[1]?.outcome).toBe('unfinished')
    expect(resultOf([good])).toMatchObject({
      status: 'inconclusive',
      reason: expect.stringMatching(/^Time, or the run/),
    })
  })
})
