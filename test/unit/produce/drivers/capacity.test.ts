import { describe, expect, test } from 'vitest'
import type { Trial } from '../../../../src/plan/plan.ts'
import type { Arrival } from '../../../../src/produce/arrivals/arrivals.ts'
import { driveCapacity, type Search } from '../../../../src/produce/drivers/capacity.ts'

import { arrivalAt, soon, type TestContext, testContext } from './test-context.ts'

/** A search that tries each of these rates for a second. */
function searchOf(context: TestContext, rates: readonly number[], changes: Partial<Search> = {}) {
  const starts: number[] = []
  const arrivals = function* ({ arrivals: count, perSecond }: Trial, startMs: number): Iterable<Arrival> {
    starts.push(startMs)
    for (let index = 0; index < count; index++) yield arrivalAt(startMs + (index * 1000) / perSecond, index)
  }
  let index = 0
  const search: Search = {
    next: () => {
      const perSecond = rates[index]
      return perSecond === undefined ? null : { index: index++, purpose: 'raise', perSecond, arrivals: perSecond }
    },
    isDecided: () => false,
    arrivals,
    waitUntilMs: () => null,
    wouldBlock: () => false,
    coolDownMs: 1_000,
    endMs: 60_000,
    ...changes,
  }
  return { starts, work: () => context.clock.run(driveCapacity(context, search, 1_000)) }
}

describe('a search is driven', () => {
  test('trial by trial, each after the last request of the previous one', async () => {
    const context = testContext(sentMs => sentMs + 300)
    const { starts, work } = searchOf(context, [10, 20])
    await work()
    expect(starts).toEqual([0, 900 + 300])
    expect(context.fates).toHaveLength(30)
    expect(context.inFlight.count()).toBe(0)
  })

  test('with a cool-down before a rate that is not higher than the last', async () => {
    const context = testContext(soon)
    const { starts, work } = searchOf(context, [10, 5, 5])
    await work()
    expect(starts).toEqual([0, 910 + 1_000, 910 + 1_000 + 810 + 1_000])
  })

  test('only until the outcome of a trial is decided', async () => {
    const context = testContext(soon)
    const { work } = searchOf(context, [100], { isDecided: () => context.clock.nowMs() >= 250 })
    await work()
    // The driver checks ten times per second.
    expect(context.fates.length).toBeGreaterThan(25)
    expect(context.fates.length).toBeLessThan(36)
  })

  test('only while there is time for a complete trial', async () => {
    const context = testContext(soon)
    const { starts, work } = searchOf(context, [10, 20, 40], { endMs: 2_000 })
    await work()
    expect(starts).toEqual([0, 910])
  })

  test('without waiting for missing responses after its time', async () => {
    const context = testContext(() => 1e9)
    const { starts, work } = searchOf(context, [10, 20], { endMs: 5_000 })
    await work()
    expect([starts.length, context.clock.nowMs()]).toEqual([1, 5_000])
  })

  test('only until the run stops', async () => {
    const context = testContext(sentMs => sentMs + 10)
    const { work } = searchOf(context, [10, 20, 40])
    const done = work()
    await context.clock.advanceTo(450)
    context.stop()
    await done
    expect(context.fates.length).toBeLessThan(7)
  })
})

describe('callers who fail', () => {
  test('delay a trial until they may fail again', async () => {
    const context = testContext(soon)
    const { starts, work } = searchOf(context, [10], {
      waitUntilMs: () => (context.clock.nowMs() < 7_000 ? 7_000 : null),
    })
    await work()
    expect(starts).toEqual([7_000])
  })

  test('end a trial before they would be blocked, with a dropped arrival', async () => {
    const context = testContext(soon)
    const { work } = searchOf(context, [100], { wouldBlock: () => context.clock.nowMs() >= 500 })
    await work()
    expect(context.fates.filter(({ dropped }) => dropped === 'failure-limit')).toHaveLength(1)
    expect(context.fates.length).toBeLessThan(54)
  })
})
