import { describe, expect, test } from 'vitest'
import { createBudget, reserveWhenGranted } from '../../../../src/produce/budget/budget.ts'
import { leftOf, type SharedBudget } from '../../../../src/produce/budget/shared-budget.ts'
import { type ManualClock, manualClock } from '../../../../src/prove/manual-clock.ts'
import { createLease } from '../../../../src/run/queue/lease.ts'
import type { LeaseReply, LeaseRequest } from '../../../../src/run/queue/run-state.ts'

const limit = 1_000n
const least = 10n
const terms = { limit, least, paidElsewhere: 0n }

/** Redis, with one answer for each request of a shard; a real one is in `test/real`. */
function pool(answer: (shard: number, request: LeaseRequest) => Partial<LeaseReply>) {
  const requests: LeaseRequest[] = []
  let granted = 0n
  return {
    requests,
    lease: async (shard: number, request: LeaseRequest): Promise<LeaseReply> => {
      requests.push(request)
      const reply = { granted, asks: 0, isOlderAsk: false, isFinal: false, ...answer(shard, request) }
      granted = reply.granted
      return reply
    },
  }
}

const costOf = (cost: bigint) => new Map([['call', { arrival: cost, request: cost }]])
const budgetIn = (shared: SharedBudget, cost: bigint) =>
  createBudget({ limit, maxCosts: costOf(cost), settleMs: 0, resolution: 0n }, shared)
const never = new AbortController().signal

/** What an arrival gets that costs at most `cost` and waits for it. */
async function wait(shared: SharedBudget, cost: bigint, clock: ManualClock) {
  return await clock.run(reserveWhenGranted(budgetIn(shared, cost), 'call', 'a', { clock, signal: never }))
}

describe('the lease of a shard', () => {
  test('begins with a part in advance, and takes no more while enough is left', async () => {
    const redis = pool(() => ({ granted: 250n }))
    const clock = manualClock()
    const lease = createLease(redis, { shard: 0, ...terms }, clock)
    await lease.begin()
    await clock.advanceTo(10_000)
    expect(leftOf(lease.budget)).toBe(250n)
    expect(redis.requests.filter(({ isSpare }) => isSpare)).toHaveLength(1)
    await lease.end()
  })

  test('asks for what an arrival lacks, and lets it go as soon as it is granted', async () => {
    const redis = pool((_, { lacking }) => ({ granted: lacking === 150n ? 400n : 250n }))
    const clock = manualClock()
    const lease = createLease(redis, { shard: 0, ...terms }, clock)
    await lease.begin()
    expect(await wait(lease.budget, 400n, clock)).not.toBeNull()
    expect(clock.nowMs()).toBeLessThan(100)
    expect(leftOf(lease.budget)).toBe(0n)
    await lease.end()
  })

  test('refuses an arrival only when Redis says that nothing more can be granted', async () => {
    const answers = { isFinal: false }
    const redis = pool(() => ({ granted: 250n, asks: 1, ...answers }))
    const clock = manualClock()
    const lease = createLease(redis, { shard: 0, ...terms }, clock)
    await lease.begin()
    const waiting = reserveWhenGranted(budgetIn(lease.budget, 400n), 'call', 'a', { clock, signal: never })
    let ended = false
    void waiting.then(() => (ended = true))
    await clock.advanceTo(5_000)
    expect(ended).toBe(false)
    answers.isFinal = true
    expect(await clock.run(waiting)).toBeNull()
    await lease.end()
  })

  test('gives back what it does not use when another shard asks, and then says so', async () => {
    const answers = { asks: 0, isOlderAsk: false }
    const redis = pool(() => ({ granted: 250n, ...answers }))
    const clock = manualClock()
    const lease = createLease(redis, { shard: 0, ...terms }, clock)
    await lease.begin()
    const reservation = budgetIn(lease.budget, 60n).reserve('call', 'a')
    Object.assign(answers, { asks: 3, isOlderAsk: true })
    await clock.advanceTo(1_000)
    expect(reservation).not.toBeNull()
    expect(leftOf(lease.budget)).toBe(0n)
    const answered = redis.requests.filter(each => each.answered === 3)
    expect(answered.map(({ givenBack }) => givenBack)).toEqual(Array(answered.length).fill(190n))
    expect(answered.length).toBeGreaterThan(0)
    await lease.end()
  })

  test('gives back the rest at its end', async () => {
    const redis = pool(() => ({ granted: 250n }))
    const lease = createLease(redis, { shard: 0, ...terms }, manualClock())
    await lease.begin()
    await lease.end()
    expect(redis.requests.at(-1)).toMatchObject({ givenBack: 250n, answered: null })
  })

  test('bounds nothing if the run has no budget', async () => {
    const redis = pool(() => ({}))
    const lease = createLease(redis, { shard: 0, ...terms, limit: null }, manualClock())
    await lease.begin()
    expect(leftOf(lease.budget)).toBeGreaterThan(10n ** 18n)
    await lease.end()
    expect(redis.requests).toEqual([])
  })
})
