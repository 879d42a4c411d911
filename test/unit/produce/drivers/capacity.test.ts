import { describe, expect, test } from 'vitest'
import type { Arrival } from '../../../../src/produce/arrivals/arrivals.ts'
import { driveCapacity, type LedTrial, type Search, type SearchLead } from '../../../../src/produce/drivers/capacity.ts'

import { arrivalAt, soon, type TestContext, testContext } from './test-context.ts'

type Changes = Partial<Omit<Search, 'lead'>> & { readonly lead?: Partial<SearchLead> }

/** A search that tries each of these rates for a second. */
function searchOf(context: TestContext, rates: readonly number[], { lead, ...changes }: Changes = {}) {
  const starts: number[] = []
  const arrivals = function* ({ trial: { arrivals: count, perSecond } }: LedTrial, startMs: number): Iterable<Arrival> {
    starts.push(startMs)
    for (let index = 0; index < count; index++) yield arrivalAt(startMs + (index * 1000) / perSecond, index)
  }
  let index = 0
  const next = async (): Promise<LedTrial | null> => {
    const perSecond = rates[index]
    if (perSecond === undefined) return null
    return { trial: { index: index++, purpose: 'raise', perSecond, arrivals: perSecond }, earlier: 0 }
  }
  const search: Search = {
    stage: 'search',
    lead: { next, start: async () => null, report: () => {}, ...lead },
    arrivals,
    waitUntilMs: () => null,
    wouldBlock: () => false,
    coolDownMs: 1_000,
    endMs: 60_000,
    ...changes,
  }
  return { starts, work: () => context.clock.run(driveCapacity(context, search, 1_000)) }
}

const never = new Promise<never>(() => {})

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
    let end = () => {}
    const { work } = searchOf(context, [100], {
      lead: {
        start: async (_stage, _trial, onDecided) => {
          end = onDecided
          return null
        },
        report: () => {
          if (context.clock.nowMs() >= 250) end()
        },
      },
    })
    await work()
    // The driver reports ten times per second.
    expect(context.fates.length).toBeGreaterThan(25)
    expect(context.fates.length).toBeLessThan(36)
  })

  test('no further if another worker decides the trial while this one waits for its next arrival', async () => {
    const context = testContext(soon)
    const { work, starts } = searchOf(context, [1, 2], {
      lead: {
        start: async (_stage, trial, end) => {
          if (trial.index === 1) context.clock.at(context.clock.nowMs() + 100, end)
          return null
        },
      },
    })
    await work()
    expect(starts).toEqual([0, 10])
    expect(context.fates.map(({ dueMs }) => dueMs)).toEqual([0, 10])
    expect(context.clock.nowMs()).toBe(110)
  })

  test('at the start that all workers share, and without moving it when the order comes late', async () => {
    const context = testContext(soon)
    const { starts, work } = searchOf(context, [10, 20], {
      lead: { start: async () => context.clock.nowMs() + (context.clock.nowMs() === 0 ? 100 : -30) },
    })
    await work()
    expect(starts).toEqual([100, 1_010 - 30])
    expect(context.fates.filter(({ sentMs, dueMs }) => sentMs !== dueMs).map(({ dueMs }) => dueMs)).toEqual([980])
  })

  test('not beyond its time or the end of the run if the lead does not answer', async () => {
    for (const lead of [{ next: () => never }, { start: () => never }]) {
      const context = testContext(soon)
      await searchOf(context, [10], { lead, endMs: 5_000 }).work()
      expect([context.clock.nowMs(), context.fates.length]).toEqual([5_000, 0])
      const stopped = testContext(soon)
      stopped.clock.at(700, stopped.stop)
      await searchOf(stopped, [10], { lead }).work()
      expect([stopped.clock.nowMs(), stopped.fates.length]).toEqual([700, 0])
    }
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

  test('end a trial before they would be blocked, with a dropped arrival, and report it immediately', async () => {
    const context = testContext(soon)
    const reportedMs: number[] = []
    const { work } = searchOf(context, [100], {
      wouldBlock: () => context.clock.nowMs() >= 520,
      lead: { report: () => reportedMs.push(context.clock.nowMs()) },
    })
    await work()
    expect(reportedMs).toEqual([100, 200, 300, 400, 500, 520])
    expect(context.fates.filter(({ dropped }) => dropped === 'failure-limit')).toHaveLength(1)
    expect(context.fates.length).toBeLessThan(56)
  })
})
