import { expect, test } from 'vitest'
import type { Sight } from '../../../src/run/messages.ts'
import { watchSights } from '../../../src/run/sights.ts'
import { manualClock } from '../../support/manual-clock.ts'

const sight = (stage: string, inFlight: number) => ({ stage, inFlight }) as Sight

/** A thread that shows these, one after the other, and then is lost. */
const showing = (...sights: readonly Sight[]) => {
  const left = [...sights]
  return { look: async () => left.shift() ?? null }
}

test('a thread that is lost is seen as it was last, but for what it had under way', async () => {
  const { look, known } = watchSights([showing(sight('a', 1), sight('b', 2)), showing(sight('a', 3))], manualClock())
  await look()
  expect(known()).toEqual([sight('a', 1), sight('a', 3)])
  await look()
  expect(known()).toEqual([sight('b', 2), sight('a', 0)])
})

test('a thread that was lost before it was seen is not there', async () => {
  const { look, known } = watchSights([showing(), showing(sight('a', 3))], manualClock())
  await look()
  expect(known()).toEqual([sight('a', 3)])
})

test('threads are asked once a second, however many look', async () => {
  const clock = manualClock()
  const { refresh, known } = watchSights([showing(sight('a', 1), sight('b', 2))], clock)
  await Promise.all([refresh(), refresh()])
  const first = known()
  await clock.advanceTo(999)
  await refresh()
  expect(known()).toBe(first)
  await clock.advanceTo(1_000)
  await refresh()
  expect(known()).toEqual([sight('b', 2)])
})
