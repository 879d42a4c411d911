import { describe, expect, test } from 'vitest'
import type { Arrival } from '../../../src/arrivals/arrivals.ts'
import { driveCapacity, type Search } from '../../../src/drivers/capacity.ts'
import type { Trial } from '../../../src/plan/search-terms.ts'
import { arrivalAt, soon, type TestCab, testCab } from './cab.ts'

/** A search that tries these rates for a second each, and has no more to try then. */
function searchOf(cab: TestCab, rates: readonly number[], changes: Partial<Search> = {}) {
  const starts: number[] = []
  const arrivals = function* ({ arrivals: count, perSecond }: Trial, startMs: number): Iterable<Arrival> {
    starts.push(startMs)
    for (let index = 0; index < count; index++) yield arrivalAt(startMs + (index * 1000) / perSecond, index)
  }
  let index = 0
  const search: Search = {
    next: () => {
      const perSecond = rates[index]
      if (perSecond === undefined)
        return { kind: 'conclusion', conclusion: { status: 'found', perSecond: 1, because: 'held' } }
      return { kind: 'trial', trial: { index: index++, purpose: 'raise', perSecond, arrivals: perSecond } }
    },
    soFar: () => null,
    arrivals,
    heldUntilMs: () => null,
    isAtRisk: () => false,
    coolDownMs: 1_000,
    endMs: 60_000,
    ...changes,
  }
  return { starts, work: () => cab.clock.run(driveCapacity(cab, search, cab.inFlight, 1_000)) }
}

describe('a search is spent', () => {
  test('trial by trial, each when the last request of the one before has ended', async () => {
    const cab = testCab(sentMs => sentMs + 300)
    const { starts, work } = searchOf(cab, [10, 20])
    await work()
    expect(starts).toEqual([0, 900 + 300])
    expect(cab.fates).toHaveLength(30)
    expect(cab.inFlight.count()).toBe(0)
  })

  test('with a rest before a rate that is no higher than the last', async () => {
    const cab = testCab(soon)
    const { starts, work } = searchOf(cab, [10, 5, 5])
    await work()
    expect(starts).toEqual([0, 910 + 1_000, 910 + 1_000 + 810 + 1_000])
  })

  test('no further than it is clear what comes of a trial', async () => {
    const cab = testCab(soon)
    const { work } = searchOf(cab, [100], { soFar: () => (cab.clock.nowMs() >= 250 ? 'too-many-bad' : null) })
    await work()
    // It is asked ten times a second.
    expect(cab.fates.length).toBeGreaterThan(25)
    expect(cab.fates.length).toBeLessThan(36)
  })

  test('only while there is time for a whole trial', async () => {
    const cab = testCab(soon)
    const { starts, work } = searchOf(cab, [10, 20, 40], { endMs: 2_000 })
    await work()
    expect(starts).toEqual([0, 910])
  })

  test('without waiting longer than its time for answers that do not come', async () => {
    const cab = testCab(() => 1e9)
    const { starts, work } = searchOf(cab, [10, 20], { endMs: 5_000 })
    await work()
    expect([starts.length, cab.clock.nowMs()]).toEqual([1, 5_000])
  })

  test('no more once the run is to end', async () => {
    const cab = testCab(sentMs => sentMs + 10)
    const { work } = searchOf(cab, [10, 20, 40])
    const done = work()
    await cab.clock.advanceTo(450)
    cab.stop()
    await done
    expect(cab.fates.length).toBeLessThan(7)
  })
})

describe('callers who fail', () => {
  test('are waited for before a trial, until they may fail again', async () => {
    const cab = testCab(soon)
    const { starts, work } = searchOf(cab, [10], {
      heldUntilMs: () => (cab.clock.nowMs() < 7_000 ? 7_000 : null),
    })
    await work()
    expect(starts).toEqual([7_000])
  })

  test('end a trial before they would be blocked, which the record shows', async () => {
    const cab = testCab(soon)
    const { work } = searchOf(cab, [100], { isAtRisk: () => cab.clock.nowMs() >= 500 })
    await work()
    expect(cab.fates.filter(({ dropped }) => dropped === 'failure-limit')).toHaveLength(1)
    expect(cab.fates.length).toBeLessThan(54)
  })
})
