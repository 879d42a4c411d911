import { describe, expect, test } from 'vitest'
import type { Arrival } from '../../../../src/produce/arrivals/arrivals.ts'
import { driveSequence, type SequenceStep } from '../../../../src/produce/drivers/sequence.ts'
import { arrivalAt, soon, type TestContext, testContext } from './test-context.ts'

/**
 * Queues of arrivals. The caller of an arrival is its queue, and its id its position. `losses`: how often each step is
 * lost before it is done.
 */
const queues = (
  { fire }: Pick<TestContext, 'fire'>,
  count: number,
  length: number,
  losses = 0,
): readonly (readonly SequenceStep[])[] =>
  Array.from({ length: count }, (_, queue) =>
    Array.from({ length }, (__, seq) => {
      let left = losses
      return {
        make: (dueMs: number) => arrivalAt(dueMs, seq, queue),
        waitUntilMs: () => null,
        send: (arrival: Arrival) => fire(arrival).then(() => (left-- > 0 ? ('lost' as const) : ('done' as const))),
      }
    }),
  )

const forever = Number.POSITIVE_INFINITY

describe('a sequence', () => {
  test('sends a queue in order and one at a time', async () => {
    const context = testContext(sentMs => sentMs + 25)
    await context.clock.run(driveSequence(context, queues(context, 1, 4), { lanes: 1, endMs: forever }))
    expect(context.fates.map(({ id, sentMs }) => [id, sentMs])).toEqual([
      [0, 0],
      [1, 25],
      [2, 50],
      [3, 75],
    ])
  })

  test('has each call due when the previous one has ended, so waiting is not lateness', async () => {
    const context = testContext(soon)
    await context.clock.run(driveSequence(context, queues(context, 3, 5), { lanes: 2, endMs: forever }))
    expect(context.fates.every(({ dueMs, sentMs }) => dueMs === sentMs)).toBe(true)
  })

  test('sends as many queues in parallel as there are lanes, and then the others', async () => {
    const context = testContext(soon)
    await context.clock.run(driveSequence(context, queues(context, 5, 1), { lanes: 2, endMs: forever }))
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
    await context.clock.run(driveSequence(context, queues(context, 4, 6), { lanes: 4, endMs: forever }))
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

describe('a step whose connection broke', () => {
  test('is sent again, due when the first attempt has ended, and before the next step', async () => {
    const context = testContext(soon)
    await context.clock.run(driveSequence(context, queues(context, 1, 2, 1), { lanes: 1, endMs: forever }))
    expect(context.fates.map(({ id, dueMs, sentMs }) => [id, dueMs, sentMs])).toEqual([
      [0, 0, 0],
      [0, 10, 10],
      [1, 20, 20],
      [1, 30, 30],
    ])
  })

  test('is sent at most three times; then the next step follows', async () => {
    const context = testContext(soon)
    await context.clock.run(driveSequence(context, queues(context, 1, 2, 9), { lanes: 1, endMs: forever }))
    expect(context.fates.map(({ id }) => id)).toEqual([0, 0, 0, 1, 1, 1])
  })

  test('is not sent again after the end of the stage or after a stop, and is not a drop then', async () => {
    const context = testContext(soon)
    await context.clock.run(driveSequence(context, queues(context, 1, 1, 9), { lanes: 1, endMs: 15 }))
    expect(context.fates.map(({ dropped }) => dropped)).toEqual([null, null])
    const stopped = testContext(soon)
    const driven = driveSequence(stopped, queues(stopped, 1, 1, 9), { lanes: 1, endMs: forever })
    await stopped.clock.advanceTo(5)
    stopped.stop()
    await stopped.clock.run(driven)
    expect(stopped.fates.map(({ dropped }) => dropped)).toEqual([null])
  })
})

describe('the rest of a sequence', () => {
  test('is dropped and counted at the end of the stage, including queues that never started', async () => {
    const context = testContext(soon)
    await context.clock.run(driveSequence(context, queues(context, 3, 4), { lanes: 2, endMs: 25 }))
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
    const driven = driveSequence(context, queues(context, 1, 3), { lanes: 1, endMs: forever })
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
