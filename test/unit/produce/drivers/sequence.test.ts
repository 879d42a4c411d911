import { describe, expect, test } from 'vitest'
import { driveSequence, type SequenceStep } from '../../../../src/produce/drivers/sequence.ts'
import { arrivalAt, soon, testContext } from './test-context.ts'

/** Queues of arrivals. The caller of an arrival is its queue, and its id its position. */
const queues = (count: number, length: number): readonly (readonly SequenceStep[])[] =>
  Array.from({ length: count }, (_, queue) =>
    Array.from({ length }, (__, seq) => ({
      make: (dueMs: number) => arrivalAt(dueMs, seq, queue),
      waitUntilMs: () => null,
    })),
  )

const forever = Number.POSITIVE_INFINITY

describe('a sequence', () => {
  test('sends a queue in order and one at a time', async () => {
    const context = testContext(sentMs => sentMs + 25)
    await context.clock.run(driveSequence(context, queues(1, 4), { lanes: 1, endMs: forever }))
    expect(context.fates.map(({ id, sentMs }) => [id, sentMs])).toEqual([
      [0, 0],
      [1, 25],
      [2, 50],
      [3, 75],
    ])
  })

  test('has each call due when the previous one has ended, so waiting is not lateness', async () => {
    const context = testContext(soon)
    await context.clock.run(driveSequence(context, queues(3, 5), { lanes: 2, endMs: forever }))
    expect(context.fates.every(({ dueMs, sentMs }) => dueMs === sentMs)).toBe(true)
  })

  test('sends as many queues in parallel as there are lanes, and then the others', async () => {
    const context = testContext(soon)
    await context.clock.run(driveSequence(context, queues(5, 1), { lanes: 2, endMs: forever }))
    expect(context.fates.map(({ caller, sentMs }) => [caller, sentMs])).toEqual([
      [0, 0],
      [1, 0],
      [2, 10],
      [3, 10],
      [4, 20],
    ])
  })

  test('never has two calls of one queue in flight, even if one is slow', async () => {
    const context = testContext((sentMs, { caller }) => sentMs + 10 * (caller + 1))
    await context.clock.run(driveSequence(context, queues(4, 6), { lanes: 4, endMs: forever }))
    for (const queue of [0, 1, 2, 3]) {
      const own = context.fates.filter(({ caller }) => caller === queue)
      expect(own.map(({ id }) => id)).toEqual([0, 1, 2, 3, 4, 5])
      expect(own.every(({ sentMs }, index) => index === 0 || sentMs === own[index - 1]?.endMs)).toBe(true)
    }
  })

  test('without queues is over immediately', async () => {
    const context = testContext(soon)
    await driveSequence(context, [], { lanes: 4, endMs: forever })
    expect(context.fates).toEqual([])
  })
})

describe('the rest of a sequence', () => {
  test('is dropped and counted at the end of the stage, including queues that never started', async () => {
    const context = testContext(soon)
    await context.clock.run(driveSequence(context, queues(3, 4), { lanes: 2, endMs: 25 }))
    const outcomes = context.fates.map(({ caller, id, dropped }) => [caller, id, dropped])
    expect(outcomes.filter(([, , dropped]) => dropped === null)).toHaveLength(6)
    expect(outcomes.filter(([, , dropped]) => dropped === 'stage-over')).toEqual([
      [0, 3, 'stage-over'],
      [2, 0, 'stage-over'],
      [2, 1, 'stage-over'],
      [2, 2, 'stage-over'],
      [2, 3, 'stage-over'],
      [1, 3, 'stage-over'],
    ])
  })

  test('is dropped as interrupted on a stop, after calls in flight have ended', async () => {
    const context = testContext(soon)
    const driven = driveSequence(context, queues(1, 3), { lanes: 1, endMs: forever })
    await context.clock.advanceTo(5)
    context.stop()
    await context.clock.run(driven)
    expect(context.fates.map(({ endMs, dropped }) => [endMs, dropped])).toEqual([
      [10, null],
      [null, 'interrupted'],
      [null, 'interrupted'],
    ])
  })
})
