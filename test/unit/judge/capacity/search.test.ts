import { describe, expect, test } from 'vitest'
import type { Contract } from '../../../../src/contract/contract.ts'
import { documentedContract } from '../../../../src/contract/documented.ts'
import { judgeTrial } from '../../../../src/judge/capacity/judge-trial.ts'
import { type NextStep, nextTrial } from '../../../../src/judge/capacity/next-trial.ts'
import { createSearchFolds, readSearches } from '../../../../src/judge/capacity/search.ts'
import { snapshotOf } from '../../../../src/judge/capacity/trial-fold.ts'
import type { TrialOutcome, TrialResult } from '../../../../src/judge/results.ts'
import type { Observation } from '../../../../src/observation/observation.ts'
import type { Load, Plan, Trial } from '../../../../src/plan/plan.ts'
import { aPlan, aStage, dropped, failed, respondedWith, streamed } from '../metrics/fixtures.ts'

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

/** The search of a plan with one worker, step by step. */
function createCapacitySearch(plan: Plan, contract: Contract) {
  const folds = createSearchFolds(plan, contract)
  const results = (complete: boolean) => readSearches(plan, [folds.snapshot(!complete)])(complete)
  const load = plan.stages[0]?.load
  if (load?.model !== 'capacity') throw new Error('the plan has no search')
  return {
    add: folds.add,
    results,
    next: (): NextStep => {
      const past = results(true)[0]?.trials ?? []
      const trialOf = (
        { purpose, offeredPerSecond: perSecond, planned: arrivals }: TrialResult,
        index: number,
      ): Trial => ({
        index,
        purpose,
        perSecond,
        arrivals,
      })
      return nextTrial(
        load.search,
        past.map((result, index) => ({ trial: trialOf(result, index), outcome: result.outcome })),
      )
    },
    soFar: (trial: Trial): TrialOutcome | null =>
      judgeTrial(trial, snapshotOf(folds.part('search', trial.index), 'open'), load.search, 'open'),
  }
}

type ObservationAt = (dueMs: number, index: number) => Observation

const good: ObservationAt = dueMs =>
  respondedWith(200, { dueMs, sentMs: dueMs, headersMs: dueMs + 50, endMs: dueMs + 50 })
const slow: ObservationAt = dueMs =>
  respondedWith(200, { dueMs, sentMs: dueMs, headersMs: dueMs + 150, endMs: dueMs + 150 })
const late: ObservationAt = dueMs =>
  respondedWith(200, { dueMs, sentMs: dueMs + 40, headersMs: dueMs + 120, endMs: dueMs + 120 })
const lateAndGood: ObservationAt = dueMs =>
  respondedWith(200, { dueMs, sentMs: dueMs + 40, headersMs: dueMs + 90, endMs: dueMs + 90 })
const rejected: ObservationAt = dueMs =>
  respondedWith(429, { dueMs, sentMs: dueMs, headersMs: dueMs + 2, endMs: dueMs + 2 })

/** A search with these trials. Each trial gets all its planned arrivals, or the number in `counts`. */
function searched(trials: readonly ObservationAt[], counts: readonly (number | null)[] = [], of: Plan = plan) {
  const capacity = createCapacitySearch(of, documentedContract)
  let startMs = 0
  for (const [index, observe] of trials.entries()) {
    const next = capacity.next()
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
  test('says that an SLO cannot be measured, and takes it for no overload', () => {
    const paced = { ...plan, slo: { rpc: { tpot: 50 } } }
    const result = resultOf([good], [], paced)
    expect(result).toMatchObject({ status: 'inconclusive', ratePerSecond: null })
    expect(result?.trials.map(({ outcome }) => outcome)).toEqual(['unmeasured'])
    expect(result?.reason).toMatch(/^rpc TPOT cannot be measured: no usage in streams\./)
    expect(resultOf([dueMs => failed({ dueMs }), dueMs => failed({ dueMs })], [], paced)?.status).toBe('below-range')
  })

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

  test('not by late requests whose responses missed the SLO by less than the lateness', () => {
    const result = resultOf([late, late])
    expect(result).toMatchObject({ status: 'harness-limited', ratePerSecond: null })
    expect(result?.reason).toMatch(/^Turnpike itself was late or stalled at 20\/s/)
  })

  test('by late requests whose responses were too slow without the lateness, too', () => {
    const slower: ObservationAt = (dueMs, index) => ({ ...late(dueMs, index), endMs: dueMs + 250 })
    expect(resultOf([slower, slower])).toMatchObject({ status: 'below-range', ratePerSecond: null })
  })

  test('by nothing if late requests got responses in time', () => {
    expect(resultOf([lateAndGood, lateAndGood, lateAndGood])).toMatchObject({
      status: 'above-range',
      ratePerSecond: 40,
    })
  })

  test('not by a stall of Turnpike while it waited for the responses', () => {
    const stalled: ObservationAt = (dueMs, index) => ({ ...slow(dueMs, index), stalls: { count: 1, longestMs: 60 } })
    const briefly: ObservationAt = (dueMs, index) => ({ ...slow(dueMs, index), stalls: { count: 1, longestMs: 40 } })
    expect(resultOf([stalled, stalled])).toMatchObject({ status: 'harness-limited' })
    expect(resultOf([briefly, briefly])).toMatchObject({ status: 'below-range' })
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

describe('the sentence of a result', () => {
  const mix = { chat: 0.5, rpc: 0.5 }
  const terms = { fromPerSecond: 20, toPerSecond: 40, goodRatio: 0.9, precision: 0.5, callerPerSecond: 10 }
  const times = { trialMs: 2_000, confirmMs: 2_000, confirmSamples: 29 }
  const mixed: Load = {
    model: 'capacity',
    search: { ...terms, ...times, mix },
    spacing: 'even',
    coolDownMs: 0,
    mix: [
      ['chat', 1],
      ['rpc', 1],
    ],
  }
  const mixedPlan = aPlan({
    stages: [aStage('search', 60_000, { load: mixed })],
    slo: { chat: { ttft: 400, latency: 2_000 }, rpc: { latency: 50 } },
  })
  /** Every second request is a stream with this TTFT, the others are RPC calls that take this long. */
  const both =
    (ttftMs: number, rpcMs: number): ObservationAt =>
    (dueMs, index) => {
      const at = { dueMs, sentMs: dueMs, headersMs: dueMs + 1 }
      if (index % 2 === 1) return respondedWith(200, { ...at, call: 'rpc', endMs: dueMs + rpcMs })
      const stream = { firstTokenMs: dueMs + ttftMs, firstContentMs: dueMs + ttftMs, lastTokenMs: dueMs + ttftMs }
      return streamed(stream, { ...at, call: 'chat', endMs: dueMs + ttftMs + 10 })
    }
  const mixedResult = (trials: readonly ObservationAt[]) => {
    const capacity = createCapacitySearch(mixedPlan, documentedContract)
    for (const [index, observe] of trials.entries()) {
      const next = capacity.next()
      if (next.kind === 'conclusion') throw new Error(`the search was over before trial ${index}`)
      for (let n = 0; n < next.trial.arrivals; n++)
        capacity.add({
          ...observe(index * 10_000 + (n * 1_000) / next.trial.perSecond, n),
          stage: 'search',
          trial: index,
        })
    }
    return capacity.results(true)[0]
  }
  const kept = both(200, 40)
  const slos = 'chat TTFT ≤ 400 ms, chat latency ≤ 2 s and rpc latency ≤ 50 ms for 90 % of each call'

  test('names the SLO of the call that was missed at the next higher rate, and the number of requests', () => {
    const missesTtft: ObservationAt = (dueMs, index) => both(index < 24 ? 500 : 200, 40)(dueMs, index)
    expect(mixedResult([kept, missesTtft, kept, kept])).toMatchObject({
      status: 'found',
      reason: `28.3/s at ${slos}, confirmed over 91 requests; at 40/s 12 missed chat ttft.`,
    })
    const missesRpc: ObservationAt = (dueMs, index) => both(200, index < 24 ? 60 : 40)(dueMs, index)
    expect(mixedResult([kept, missesRpc, kept, kept])?.reason).toBe(
      `28.3/s at ${slos}, confirmed over 91 requests; at 40/s 12 missed rpc latency.`,
    )
  })

  test('does not name misses that a sustained rate allows; the trial counts them', () => {
    const mostlyRpc: ObservationAt = (dueMs, index) => both(index === 0 ? 500 : 200, index < 24 ? 60 : 40)(dueMs, index)
    const result = mixedResult([kept, mostlyRpc, kept, kept])
    expect(result?.reason).toMatch(/; at 40\/s 12 missed rpc latency\.$/)
    expect(result?.trials[1]?.calls.map(({ call, isExceeded, missed }) => ({ call, isExceeded, missed }))).toEqual([
      { call: 'chat', isExceeded: false, missed: { ttft: 1 } },
      { call: 'rpc', isExceeded: true, missed: { latency: 12 } },
    ])
  })

  test('names statuses and failures, and each SLO that a request missed', () => {
    const broken: ObservationAt = (dueMs, index) => {
      const at = { dueMs, sentMs: dueMs, headersMs: dueMs + 1, endMs: dueMs + 2 }
      if (index % 2 === 1) return both(200, 40)(dueMs, index)
      if (index < 24) return respondedWith(503, { ...at, call: 'chat' })
      if (index < 36)
        return failed({ ...at, call: 'chat', outcome: { kind: 'failed', reason: 'idle-timeout', detail: '' } })
      return both(3_000, 40)(dueMs, index)
    }
    expect(mixedResult([kept, broken, kept, kept])?.reason).toMatch(
      /; at 40\/s 22 missed chat latency, 22 missed chat ttft and 12 chat requests got 503\.$/,
    )
    expect(mixedResult([kept, broken])?.trials[1]?.calls[0]).toMatchObject({
      good: 0,
      bad: 40,
      missed: { ttft: 22, latency: 22 },
      statuses: { '503': 12 },
      failures: { 'idle-timeout': 6 },
    })
  })

  test('of a range, or of another limit, says how far the search came', () => {
    expect(mixedResult([kept, kept, kept])?.reason).toBe(
      `at least 40/s at ${slos}, confirmed over 91 requests; no higher rate was tried.`,
    )
    const slowRpc = both(200, 60)
    expect(mixedResult([slowRpc, slowRpc])?.reason).toBe(
      `less than 20/s at ${slos}: at 20/s 20 missed rpc latency. No lower rate was tried.`,
    )
    const limited: ObservationAt = (dueMs, index) => ({
      ...rejected(dueMs, index),
      call: index % 2 === 0 ? 'chat' : 'rpc',
    })
    expect(mixedResult([kept, limited])?.reason).toBe(
      `The rate limits of the callers came first: at 40/s 80 requests got 429. 4 callers of tier default would allow up to 40/s. The target sustained 20/s at ${slos} in a trial, which was not confirmed.`,
    )
  })

  test('each trial has the times of each call: its latency, and what has an SLO', () => {
    const calls = mixedResult([kept])?.trials[0]?.calls ?? []
    expect(calls.map(({ call, timesMs }) => [call, Object.keys(timesMs)])).toEqual([
      ['chat', ['latency', 'ttft']],
      ['rpc', ['latency']],
    ])
    expect(calls[0]?.timesMs.ttft).toMatchObject({ count: 20, p50: expect.closeTo(200, 0) })
    expect(calls[1]?.timesMs.latency).toMatchObject({ count: 20, p50: expect.closeTo(40, 0) })
  })
})

describe('a running search', () => {
  test('ends a trial when no later response can save it', () => {
    const capacity = searched([good])
    const next = capacity.next()
    if (next.kind === 'conclusion') throw new Error('the search goes on')
    for (let index = 0; index < 6; index++) {
      expect(capacity.soFar(next.trial)).toBeNull()
      capacity.add({ ...slow(index, index), stage: 'search', call: 'rpc', trial: 1 })
    }
    for (let index = 0; index < 3; index++)
      capacity.add({ ...slow(index, index), stage: 'search', call: 'rpc', trial: 1 })
    expect(capacity.soFar(next.trial)).toBe('slo-missed')
  })

  test('has the same result if it is read during the run', () => {
    const trials: readonly ObservationAt[] = [good, slow, good]
    const watched = createCapacitySearch(plan, documentedContract)
    for (const [index, each] of trials.entries()) {
      const next = watched.next()
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
