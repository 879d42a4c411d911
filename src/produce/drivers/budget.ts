/** What a run may still spend, by the name of a call. All amounts are integers of one unit. */
export type Budget = {
  /** Reserves the maximum cost of an arrival before it is sent; false: the budget does not cover it. */
  readonly reserve: (call: string) => boolean
  /** Gives the reservation back, when all that came of the arrival has been charged. */
  readonly release: (call: string) => void
  /** null: the amount is not known, and the maximum cost is charged. */
  readonly charge: (call: string, amount: bigint | null) => void
}

/** The sum of charges and reservations. All workers of a run use the same one, in shared memory. */
export type SharedBudget = BigInt64Array

export const createSharedBudget = (): SharedBudget => new BigInt64Array(new SharedArrayBuffer(8))

const maxAmount = 2n ** 63n - 1n

/**
 * A budget that spending never exceeds, whatever is in flight and whichever workers share its sum, if no arrival costs
 * more than its maximum. A call without a maximum costs nothing.
 */
export function createBudget(limit: bigint, maxCosts: ReadonlyMap<string, bigint>, sum: SharedBudget): Budget {
  const maxCostOf = (call: string) => maxCosts.get(call) ?? 0n
  const add = (amount: bigint, highest: bigint): boolean => {
    for (;;) {
      const held = Atomics.load(sum, 0)
      if (held + amount > highest) return false
      if (Atomics.compareExchange(sum, 0, held, held + amount) === held) return true
    }
  }
  const highest = limit < maxAmount ? limit : maxAmount
  return {
    reserve: call => add(maxCostOf(call), highest),
    release: call => void add(-maxCostOf(call), maxAmount),
    charge: (call, amount) => {
      // A target may claim more than any number that fits; then nothing is left for good.
      if (!add(amount ?? maxCostOf(call), maxAmount)) Atomics.store(sum, 0, maxAmount)
    },
  }
}
