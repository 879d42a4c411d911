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
    expect(snapshotOf(merged, 'ended').queue?.inFlightPerSecond).toBeCloseTo(167, -1)
  })

  test('are unchanged by workers that sent nothing', () => {
    const part = partOf(backlogged)
    expect(mergeParts([emptyPart, part, partOf([])])).toEqual(part)
    expect(snapshotOf(mergeParts([]), 'open').queue).toBeNull()
  })

  test('of a running trial count only as far as the last request of each worker has ended', () => {
    const open = snapshotOf(partOf(backlogged), 'open').queue
    // The report of the second worker is older, so later requests of it are unknown.
    const stale = [partOf(shareOf(backlogged, 0, 2)), partOf(shareOf(backlogged, 1, 2).slice(0, 240))]
    const merged = snapshotOf(mergeParts(stale), 'open').queue
    expect([open, merged].map(queue => Math.round((queue?.inFlightPerSecond ?? 0) / 10))).toEqual([17, 17])
    // To the end of the trial, the missing requests would hide more than half of the growth.
    expect(snapshotOf(mergeParts(stale), 'ended').queue?.inFlightPerSecond).toBeLessThan(80)
    // A worker whose requests all are in flight makes everything unknown.
    const silent = { ...emptyPart, firstDueMs: 0, lastDueMs: 5, endsKnownMs: Number.NEGATIVE_INFINITY }
    expect(snapshotOf(mergeParts([...stale, silent]), 'open').queue).toBeNull()
  })
})
