import { describe, expect, test } from 'vitest'
import { driveSequence, type Turn } from '../../../src/drivers/sequence.ts'
import { arrivalAt, soon, testCab } from './cab.ts'

/** So many queues of so many arrivals; an arrival carries its queue as its caller and its place as its number. */
const queues = (count: number, length: number): readonly (readonly Turn[])[] =>
  Array.from({ length: count }, (_, queue) =>
    Array.from({ length }, (__, place) => ({
      make: (dueMs: number) => arrivalAt(dueMs, place, queue),
      heldUntilMs: () => null,
    })),
  )

const forever = Number.POSITIVE_INFINITY

describe('a sequence', () => {
  test('sends a queue in order and one at a time', async () => {
    const cab = testCab(sentMs => sentMs + 25)
    await cab.clock.run(driveSequence(cab, queues(1, 4), cab.inFlight, { lanes: 1, endMs: forever }))
    expect(cab.fates.map(({ seq, sentMs }) => [seq, sentMs])).toEqual([
      [0, 0],
      [1, 25],
      [2, 50],
      [3, 75],
    ])
  })

  test('has each call due when the one before has ended: waiting in line is not lateness', async () => {
    const cab = testCab(soon)
    await cab.clock.run(driveSequence(cab, queues(3, 5), cab.inFlight, { lanes: 2, endMs: forever }))
    expect(cab.fates.every(({ dueMs, sentMs }) => dueMs === sentMs)).toBe(true)
  })

  test('sends as many queues side by side as there are lanes, and the others after them', async () => {
    const cab = testCab(soon)
    await cab.clock.run(driveSequence(cab, queues(5, 1), cab.inFlight, { lanes: 2, endMs: forever }))
    expect(cab.fates.map(({ caller, sentMs }) => [caller, sentMs])).toEqual([
      [0, 0],
      [1, 0],
      [2, 10],
      [3, 10],
      [4, 20],
    ])
  })

  test('never has two calls of one queue under way, however long one takes', async () => {
    const cab = testCab((sentMs, { caller }) => sentMs + 10 * (caller + 1))
    await cab.clock.run(driveSequence(cab, queues(4, 6), cab.inFlight, { lanes: 4, endMs: forever }))
    for (const queue of [0, 1, 2, 3]) {
      const own = cab.fates.filter(({ caller }) => caller === queue)
      expect(own.map(({ seq }) => seq)).toEqual([0, 1, 2, 3, 4, 5])
      expect(own.every(({ sentMs }, index) => index === 0 || sentMs === own[index - 1]?.endMs)).toBe(true)
    }
  })

  test('of nothing is over at once', async () => {
    const cab = testCab(soon)
    await driveSequence(cab, [], cab.inFlight, { lanes: 4, endMs: forever })
    expect(cab.fates).toEqual([])
  })
})

describe('what is left of a sequence', () => {
  test('when its time is over is dropped and counted, queues that never began included', async () => {
    const cab = testCab(soon)
    await cab.clock.run(driveSequence(cab, queues(3, 4), cab.inFlight, { lanes: 2, endMs: 25 }))
    const told = cab.fates.map(({ caller, seq, dropped }) => [caller, seq, dropped])
    expect(told.filter(([, , dropped]) => dropped === null)).toHaveLength(6)
    expect(told.filter(([, , dropped]) => dropped === 'stage-over')).toEqual([
      [0, 3, 'stage-over'],
      [2, 0, 'stage-over'],
      [2, 1, 'stage-over'],
      [2, 2, 'stage-over'],
      [2, 3, 'stage-over'],
      [1, 3, 'stage-over'],
    ])
  })

  test('when the run is stopped is dropped as interrupted, after what is under way has ended', async () => {
    const cab = testCab(soon)
    const driven = driveSequence(cab, queues(1, 3), cab.inFlight, { lanes: 1, endMs: forever })
    await cab.clock.advanceTo(5)
    cab.stop()
    await cab.clock.run(driven)
    expect(cab.fates.map(({ endMs, dropped }) => [endMs, dropped])).toEqual([
      [10, null],
      [null, 'interrupted'],
      [null, 'interrupted'],
    ])
  })
})
