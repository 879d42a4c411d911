import { describe, expect, test } from 'vitest'
import { documentedContract } from '../../../../src/contract/documented.ts'
import { createSearchFolds, readSearches } from '../../../../src/judge/capacity/search.ts'
import type { Observation } from '../../../../src/observation/observation.ts'
import { aPlan, aStage, respondedWith } from '../metrics/fixtures.ts'

const terms = { fromPerSecond: 20, toPerSecond: 40, goodRatio: 0.9, precision: 0.05, trialMs: 1_000, confirmMs: 1_000 }
const search = { ...terms, confirmSamples: 29, mix: { rpc: 1 }, callerPerSecond: null }
const mix = [['rpc', 1]] as const
const stage = aStage('search', 60_000, { load: { model: 'capacity', search, spacing: 'even', coolDownMs: 0, mix } })
const plan = aPlan({ stages: [stage], slo: { rpc: { latency: 100 } } })

type ObservationAt = (dueMs: number, index: number) => Observation

/** A response of this status after this long. */
const after =
  (ms: number, status = 200): ObservationAt =>
  dueMs =>
    respondedWith(status, { dueMs, sentMs: dueMs, headersMs: dueMs + ms, endMs: dueMs + ms })
const [good, slow, rejected] = [after(50), after(150), after(2, 429)]

describe('the observations of several workers', () => {
  const trials: readonly ObservationAt[] = [
    good,
    (dueMs, index) => (index % 3 === 0 ? rejected : slow)(dueMs, index),
    good,
  ]
  /** All observations of a search, each with the worker that made it. */
  const observations = trials.flatMap((observe, trial) =>
    Array.from({ length: [20, 40, 29][trial] ?? 0 }, (_, n) => ({
      worker: (n * 7) % 3,
      observation: { ...observe(trial * 10_000 + n * 25, n), stage: 'search', call: 'rpc', trial },
    })),
  )
  const resultsOf = (workers: readonly (readonly Observation[])[], truncated: readonly number[] = []) => {
    const folds = workers.map(() => createSearchFolds(plan, documentedContract))
    for (const [worker, each] of workers.entries()) for (const observation of each) folds[worker]?.add(observation)
    return readSearches(
      plan,
      folds.map((fold, worker) => structuredClone(fold.snapshot(truncated.includes(worker)))),
    )
  }
  const single = [observations.map(({ observation }) => observation)]
  const shared = [0, 1, 2].map(worker =>
    observations.filter(each => each.worker === worker).map(({ observation }) => observation),
  )

  test('have the result that one worker would have, also of a search that was cut short', () => {
    expect(shared.map(({ length }) => length)).toEqual([31, 30, 28])
    for (const complete of [true, false]) expect(resultsOf(shared)(complete)).toEqual(resultsOf(single)(complete))
    expect(resultsOf(shared)(true)[0]?.trials.map(({ outcome }) => outcome)).toEqual([
      'sustained',
      'slo-missed',
      'sustained',
    ])
  })

  test('have that result in any order, and with workers that sent nothing', () => {
    expect(resultsOf([[], ...shared.toReversed(), []])(true)).toEqual(resultsOf(single)(true))
  })

  test('decide a trial together that none of them decides alone', () => {
    const outcomes = (workers: number) => {
      // Three bad responses of nine may be chance, nine of 27 are not.
      const sent = Array.from({ length: workers }, (_, worker) =>
        Array.from({ length: 9 }, (_, n) => (n < 3 ? slow : good)(n * 50 + worker, n)).map(each => ({
          ...each,
          stage: 'search',
          call: 'rpc',
          trial: 0,
        })),
      )
      return resultsOf(sent)(false)[0]?.trials.map(({ outcome }) => outcome)
    }
    expect(outcomes(1)).toEqual(['unfinished'])
    expect(outcomes(3)).toEqual(['slo-missed'])
  })

  test('conclude nothing about the target if those of one worker are lost, in part or all', () => {
    const outcomes = (workers: readonly (readonly Observation[])[]) => {
      const result = resultsOf(workers, [1])(false)[0]
      return [result?.status, result?.ratePerSecond, result?.trials.map(({ outcome }) => outcome)]
    }
    const [first = [], second = [], third = []] = shared
    // With its share missing, each trial looks as if it was ended early because the queue grew.
    expect(outcomes([first, [], third])).toEqual(['inconclusive', null, ['unfinished']])
    const untilSecond = second.filter(({ trial }) => trial === 0)
    expect(outcomes([first, untilSecond.slice(0, -1), third])).toEqual(['inconclusive', null, ['unfinished']])
    // The record of its first trial is complete, because it goes on.
    const beyond = second
      .filter(({ trial }) => (trial ?? 0) < 1)
      .concat(second.filter(({ trial }) => trial === 1)[0] ?? [])
    expect(outcomes([first, beyond, third])).toEqual(['inconclusive', null, ['sustained', 'unfinished']])
  })
})
