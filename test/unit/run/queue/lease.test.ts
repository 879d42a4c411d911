import { describe, expect, test } from 'vitest'
import { createBudget, leftOf } from '../../../../src/produce/drivers/budget.ts'
import { createLease } from '../../../../src/run/queue/lease.ts'
import { manualClock } from '../../../support/manual-clock.ts'

/** A budget in Redis that `shards` shards share, as the script divides it. */
function pool(limit: bigint, shards: number) {
  let leased = 0n
  return {
    leased: () => leased,
    lease: async (least: bigint) => {
      const left = limit - leased
      const share = left / BigInt(2 * shards)
      const wanted = share > least ? share : least
      const part = wanted < left ? wanted : left
      leased += part
      return part
    },
    giveBack: async (amount: bigint) => {
      leased -= amount
    },
  }
}

const spendAll = (budget: Parameters<typeof leftOf>[0], limit: bigint): bigint => {
  const terms = { limit, maxCosts: new Map([['call', { arrival: 10n, request: 10n }]]), settleMs: 0, resolution: 0n }
  const own = createBudget(terms, budget)
  let spent = 0n
  for (let next = own.reserve('call', 'a'); next !== null; next = own.reserve('call', 'a')) {
    own.charge(next, 'a', { sentMs: 0, cost: 10n, isUnknown: false, isUnanswered: false, balances: [null] })
    own.release(next, 0)
    spent += 10n
  }
  return spent
}

describe('the leases of a budget', () => {
  test('let no shard spend more than it has taken, and all of them no more than the budget', async () => {
    const redis = pool(1_000n, 2)
    const clock = manualClock()
    const leases = [0, 1].map(() => createLease(redis, { limit: 1_000n, least: 10n, paidElsewhere: 0n }, clock))
    for (const lease of leases) await lease.begin()
    let spent = 0n
    for (let round = 0; round < 200; round++) {
      for (const { budget } of leases) spent += spendAll(budget, 1_000n)
      await clock.advanceTo(clock.nowMs() + 20)
      expect(spent).toBeLessThanOrEqual(redis.leased())
    }
    expect(redis.leased()).toBe(1_000n)
    // A shard cannot spend what is left of its parts if it is less than a call.
    expect(spent).toBeGreaterThan(1_000n - 2n * 10n)
    for (const lease of leases) await lease.end()
  })

  test('give back what is left, and only then', async () => {
    const redis = pool(1_000n, 2)
    const lease = createLease(redis, { limit: 1_000n, least: 10n, paidElsewhere: 0n }, manualClock())
    await lease.begin()
    expect(redis.leased()).toBe(250n)
    expect(leftOf(lease.budget)).toBe(250n)
    await lease.end()
    expect(redis.leased()).toBe(0n)
  })

  test('take no more while enough is left', async () => {
    const redis = pool(1_000n, 2)
    const clock = manualClock()
    const lease = createLease(redis, { limit: 1_000n, least: 10n, paidElsewhere: 0n }, clock)
    await lease.begin()
    await clock.advanceTo(10_000)
    expect(redis.leased()).toBe(250n)
    await lease.end()
  })

  test('bound nothing if the run has no budget', async () => {
    const redis = pool(0n, 2)
    const lease = createLease(redis, { limit: null, least: 10n, paidElsewhere: 0n }, manualClock())
    await lease.begin()
    expect(leftOf(lease.budget)).toBeGreaterThan(10n ** 18n)
    await lease.end()
    expect(redis.leased()).toBe(0n)
  })
})
