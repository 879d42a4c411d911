import { describe, expect, test } from 'vitest'
import { documentedContract } from '../../../../src/contract/documented.ts'
import { createTrialFold, emptyPart, mergeParts, snapshotOf } from '../../../../src/judge/capacity/trial-fold.ts'
import type { Observation } from '../../../../src/observation/observation.ts'
import { dropped, respondedWith } from '../metrics/fixtures.ts'

const partOf = (observations: readonly Observation[]) => {
  const fold = createTrialFold({ rpc: { latency: 100 } }, documentedContract)
  for (const observation of observations) fold.add(observation)
  return fold.part()
}

/** 1,000 requests per second whose latency rises by 0.2 ms with each. */
const backlogged = Array.from({ length: 600 }, (_, index) => {
  const endMs = index + 10 + index * 0.2
  return respondedWith(200, { call: 'rpc', dueMs: index, sentMs: index, headersMs: endMs, endMs })
})
const shareOf = (all: readonly Observation[], worker: number, workers: number) =>
  all.filter((_, index) => index % workers === worker)

describe('the parts of several workers', () => {
  test('together are the part of one worker', () => {
    const lost = dropped({ call: 'rpc', dueMs: 300, outcome: { kind: 'dropped', reason: 'max-in-flight' } })
    const all = [...backlogged, lost, { ...lost, dueMs: 301 }]
    const merged = mergeParts([0, 1, 2, 3].map(worker => partOf(shareOf(all, worker, 4))))
    expect(snapshotOf(merged, 'ended')).toEqual(snapshotOf(partOf(all), 'ended'))
    expect(snapshotOf(merged, 'ended')).toMatchObject({ arrivals: 602, crowdedOut: 2 })
    // The queue of the target grows, although each worker sees only a part of it.
    expect(snapshotOf(merged, 'ended').queue?.measured.inFlightPerSecond).toBeCloseTo(167, -1)
  })

  test('are unchanged by workers that sent nothing', () => {
    const part = partOf(backlogged)
    expect(mergeParts([emptyPart(), part, partOf([])])).toEqual(part)
    expect(snapshotOf(mergeParts([]), 'open').queue).toBeNull()
  })

  test('of a running trial count only as far as the last request of each worker has ended', () => {
    const open = snapshotOf(partOf(backlogged), 'open').queue
    // The report of the second worker is older, so later requests of it are unknown.
    const stale = [partOf(shareOf(backlogged, 0, 2)), partOf(shareOf(backlogged, 1, 2).slice(0, 240))]
    const merged = snapshotOf(mergeParts(stale), 'open').queue
    expect([open, merged].map(queue => Math.round((queue?.measured.inFlightPerSecond ?? 0) / 10))).toEqual([17, 17])
    // To the end of the trial, the missing requests would hide more than half of the growth.
    expect(snapshotOf(mergeParts(stale), 'ended').queue?.measured.inFlightPerSecond).toBeLessThan(80)
    // A worker whose requests all are in flight makes everything unknown.
    const silent = { ...emptyPart(), firstDueMs: 0, lastDueMs: 5, endsKnownMs: Number.NEGATIVE_INFINITY }
    expect(snapshotOf(mergeParts([...stale, silent]), 'open').queue).toBeNull()
  })
})

describe('the tally of a call', () => {
  const tallyOf = (observations: readonly Observation[]) =>
    snapshotOf(partOf(observations.map(o => ({ ...o, call: 'rpc' }))), 'ended').calls.rpc
  const took = (ms: number, changes: Partial<Observation> = {}) =>
    respondedWith(200, { dueMs: 0, sentMs: 0, headersMs: ms, endMs: ms, ...changes })

  test('separates what the own errors of a response may have decided', () => {
    const stalls = { count: 1, longestMs: 10 }
    const counts = tallyOf([took(90), took(105, { stalls }), took(105, { sentMs: 10 }), took(115, { stalls })])
    expect(counts).toMatchObject({ good: 1, bad: 3, doubtfullyBad: 2 })
  })

  test('counts bad responses that the largest lateness of a request may explain', () => {
    const late = took(60, { sentMs: 50 })
    expect(tallyOf([took(105), took(140), took(900), respondedWith(503)])).toMatchObject({ bad: 4, exposed: 0 })
    // Up to 50 ms, and whatever has no time. Times are known to a factor of two.
    expect(tallyOf([late, took(105), took(140), took(900), respondedWith(503)])).toMatchObject({ bad: 4, exposed: 3 })
    expect(tallyOf([took(30, { sentMs: 20 }), took(105)])).toMatchObject({ bad: 1, exposed: 0 })
  })

  test('is the same from several workers, of which one was late', () => {
    const late = { ...took(60, { sentMs: 50 }), call: 'rpc' }
    const bad = { ...took(140), call: 'rpc' }
    const merged = mergeParts([partOf([late]), partOf([bad, bad])])
    expect(snapshotOf(merged, 'ended')).toEqual(snapshotOf(partOf([late, bad, bad]), 'ended'))
    expect(snapshotOf(merged, 'ended')).toMatchObject({ late: 1, calls: { rpc: { exposed: 2 } } })
  })
})

test('an SLO on lateness is missed by Turnpike and never by the target', () => {
  const fold = createTrialFold({ rpc: { lateness: 10 } }, documentedContract)
  fold.add(respondedWith(200, { call: 'rpc', dueMs: 0, sentMs: 900, endMs: 950 }))
  expect(snapshotOf(fold.part(), 'ended').calls.rpc).toMatchObject({ bad: 1, doubtfullyBad: 1, exposed: 0 })
})
