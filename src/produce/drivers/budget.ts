/** The amount that a run may still spend. All amounts are integers of the same unit. */
export type Budget = {
  /** Reserves the maximum cost of an arrival before it is sent; false: the budget does not cover it. */
  readonly reserve: (call: string) => boolean
  /** Releases the reservation, after all requests of the arrival are charged. */
  readonly release: (call: string) => void
  /** null: the amount is unknown, and the maximum cost is charged. */
  readonly charge: (call: string, amount: bigint | null) => void
}

/** The sum of charges and reservations, in shared memory. All workers of a run use the same one. */
export type SharedBudget = BigInt64Array

export const createSharedBudget = (): SharedBudget => new BigInt64Array(new SharedArrayBuffer(8))

const maxAmount = 2n ** 63n - 1n

/**
 * A budget that spending never exceeds, if no arrival costs more than its maximum. This includes requests in flight and
 * all workers that share the sum. A call without a maximum cost is free.
 */
export function createBudget(limit: bigint, maxCosts: ReadonlyMap<string, bigint>, sum: SharedBudget): Budget {
  const maxCostOf = (call: string) => maxCosts.get(call) ?? 0n
  const add = (amount: bigint, highest: bigint): boolean => {
    for (;;) {
      const current = Atomics.load(sum, 0)
      if (current + amount > highest) return false
      if (Atomics.compareExchange(sum, 0, current, current + amount) === current) return true
    }
  }
  const highest = limit < maxAmount ? limit : maxAmount
  return {
    reserve: call => add(maxCostOf(call), highest),
    release: call => void add(-maxCostOf(call), maxAmount),
    charge: (call, amount) => {
      // A target may claim more than 64 bits hold. The budget is then exhausted for good.
      if (!add(amount ?? maxCostOf(call), maxAmount)) Atomics.store(sum, 0, maxAmount)
    },
  }
}
