import { describe, expect, test } from 'vitest'
import { documentedContract } from '../../../../src/contract/documented.ts'
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
    callerPerSecond: null,
  },
  spacing: 'even',
  coolDownMs: 0,
  mix: [['rpc', 1]],
}
const plan = aPlan({ stages: [aStage('search', 60_000, { load })], slo: { rpc: { latency: 100 } } })

type ObservationAt = (dueMs: number, index: number) => Observation

const good: ObservationAt = dueMs =>
  respondedWith(200, { dueMs, sentMs: dueMs, headersMs: dueMs + 50, endMs: dueMs + 50 })
const slow: ObservationAt = dueMs =>
  respondedWith(200, { dueMs, sentMs: dueMs, headersMs: dueMs + 150, endMs: dueMs + 150 })
const late: ObservationAt = dueMs =>
  respondedWith(200, { dueMs, sentMs: dueMs + 40, headersMs: dueMs + 90, endMs: dueMs + 90 })
const rejected: ObservationAt = dueMs =>
  respondedWith(429, { dueMs, sentMs: dueMs, headersMs: dueMs + 2, endMs: dueMs + 2 })

/** A search with these trials. Each trial gets all its planned arrivals, or the number in `counts`. */
function searched(trials: readonly ObservationAt[], counts: readonly (number | null)[] = []) {
  const capacity = createCapacitySearch(plan, documentedContract)
  let startMs = 0
  for (const [index, observe] of trials.entries()) {
    const next = capacity.next('search')
    if (next.kind === 'conclusion') throw new Error(`the search was over before trial ${index}`)
    const { arrivals, perSecond } = next.trial
    const all = Array.from({ length: counts[index] ?? arrivals }, (_, n) =>
      observe(startMs + (n * 1000) / perSecond, n),
    )
    for (const observation of all) capacity.add({ ...observation, stage: 'search', call: 'rpc', trial: index })
    startMs += 10_000
  }
  return capacity
}

const resultOf = (...given: Parameters<typeof searched>) => searched(...given).results(true)[0]

describe('the result of a search', () => {
  test('has each trial with its rates, and the confirmation', () => {
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

  test('shows the rate at which a target with a backlog works', () => {
    // 40 arrivals and 20 completions per second; the last request is stuck.
    const backlogged: ObservationAt = (dueMs, index) =>
      respondedWith(200, {
        dueMs,
        sentMs: dueMs,
        headersMs: dueMs,
        endMs: dueMs + 50 + index * 25 + (index === 39 ? 60_000 : 0),
      })
    const trial = resultOf([good, backlogged])?.trials[1]
    expect(trial?.achievedPerSecond).toBeCloseTo(20, -0.5)
  })

  test('counts an arrival of several requests once', () => {
    const replay: ObservationAt = (dueMs, index) => {
      const request = { kind: 'rpc', network: 'n', batch: false, items: [] } as const
      const role = index % 2 === 0 ? 'original' : 'duplicate'
      const group = index - (index % 2)
      return { ...good(dueMs, index), id: index, request: { ...request, replay: { group, role, concurrent: false } } }
    }
    expect(resultOf([replay], [40])?.trials[0]).toMatchObject({ arrivals: 20, planned: 20, outcome: 'sustained' })
    // One response per arrival, although each arrival has two.
    expect(resultOf([good])?.trials[0]?.goodputPerSecond).toBeCloseTo(20, 6)
    expect(resultOf([replay], [40])?.trials[0]?.goodputPerSecond).toBeCloseTo(10, 0)
  })

  test('ignores observations outside of trials', () => {
    const capacity = createCapacitySearch(plan, documentedContract)
    capacity.add({ ...slow(0, 0), stage: '(opening)' })
    expect(capacity.results(true)[0]?.trials).toEqual([])
  })
})

describe('the capacity is limited', () => {
  test('by slow responses', () => {
    expect(resultOf([slow, slow])).toMatchObject({ status: 'below-range', ratePerSecond: null })
  })

  test('not by late requests, which give no rate', () => {
    const result = resultOf([late, late])
    expect(result).toMatchObject({ status: 'harness-limited', ratePerSecond: null })
    expect(result?.reason).toMatch(/^Turnpike itself sent too late at 20\/s/)
  })

  test('not by rate limits', () => {
    expect(resultOf([good, rejected])).toMatchObject({ status: 'limited-by-tier', ratePerSecond: null })
  })

  test('not by the abuse block', () => {
    const error = { error: 'Too many failed attempts. Wait 30s and retry.' }
    const blocked: ObservationAt = (dueMs, index) => {
      const body = { kind: 'json', value: error, digest: null } as const
      return { ...rejected(dueMs, index), response: { status: 429, headers: {}, bytes: 60, body } }
    }
    expect(resultOf([good, blocked])?.trials[1]?.outcome).toBe('blocked')
  })

  test('not by requests that Turnpike cancelled', () => {
    const cancelled: ObservationAt = dueMs =>
      failed({ dueMs, sentMs: dueMs, endMs: dueMs + 5, outcome: { kind: 'failed', reason: 'cancelled', detail: '' } })
    expect(resultOf([cancelled])?.trials[0]?.outcome).toBe('unfinished')
  })

  test('not by arrivals that were never sent', () => {
    const crowded: ObservationAt = dueMs => dropped({ dueMs, outcome: { kind: 'dropped', reason: 'max-in-flight' } })
    expect(resultOf([crowded])?.trials[0]?.outcome).toBe('harness-saturated')
  })
})

describe('a running search', () => {
  test('ends a trial when no later response can save it', () => {
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

  test('has the same result if it is read during the run', () => {
    const trials: readonly ObservationAt[] = [good, slow, good]
    const watched = createCapacitySearch(plan, documentedContract)
    for (const [index, each] of trials.entries()) {
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
    expect(watched.results(false)).toEqual(searched(trials).results(false))
  })

  test('is inconclusive if the run ended in a trial, or before the next', () => {
    const cut = searched([good, good], [null, 10])
    expect(cut.results(false)[0]).toMatchObject({ status: 'inconclusive', ratePerSecond: null })
    expect(cut.results(false)[0]?.trials[1]?.outcome).toBe('unfinished')
    expect(resultOf([good])).toMatchObject({
      status: 'inconclusive',
      reason: expect.stringMatching(/^The stage ended before a rate between 20\/s and 40\/s was confirmed\./),
    })
  })
})
