/**
 * The money of the workers of one machine, in shared memory: integers of one unit. `used`: what was spent, is reserved, or
 * was given back, so that it cannot be reserved here. `paid`: what wallets have paid for credit. `granted`: how much of the
 * budget these workers may use. `wanted`: the largest amount that an arrival could not reserve since the last look.
 * `final`: 1 if the last part is granted.
 */
export type SharedBudget = BigInt64Array

const slot = { used: 0, paid: 1, granted: 2, givenBack: 3, wanted: 4, final: 5 } as const

const maxAmount = 2n ** 63n - 1n

/** A budget that is granted in full. `paid`: what wallets elsewhere may pay. */
export function createSharedBudget(paid: bigint = 0n): SharedBudget {
  const shared = createLeasedBudget(paid)
  grant(shared, maxAmount)
  setFinal(shared)
  return shared
}

/** A budget of which no part is granted yet. `paid`: what wallets elsewhere may pay. */
export function createLeasedBudget(paid: bigint): SharedBudget {
  const shared = new BigInt64Array(new SharedArrayBuffer(8 * Object.keys(slot).length))
  Atomics.store(shared, slot.paid, paid)
  return shared
}

/** Adds a part of the budget to what may be used. */
export const grant = (shared: SharedBudget, amount: bigint): void => void Atomics.add(shared, slot.granted, amount)

/** The last part is granted. */
export const setFinal = (shared: SharedBudget): void => void Atomics.store(shared, slot.final, 1n)

export const isFinalBudget = (shared: SharedBudget): boolean => Atomics.load(shared, slot.final) === 1n

/** How much of what is granted is left; negative if the target charged more than was reserved. */
export const leftOf = (shared: SharedBudget): bigint =>
  Atomics.load(shared, slot.granted) - Atomics.load(shared, slot.used)

/** What a run has spent. After its end, it includes the reservations of requests whose charge is unknown. */
export const spentOf = (shared: SharedBudget): bigint =>
  Atomics.load(shared, slot.used) - Atomics.load(shared, slot.givenBack)

/** Adds to what is used, unless that would exceed `limit` or what is granted. Returns whether it did. */
export function reserveSpend(shared: SharedBudget, amount: bigint, limit: bigint): boolean {
  // What was given back may have been granted again.
  const allowed = limit + Atomics.load(shared, slot.givenBack)
  const granted = Atomics.load(shared, slot.granted)
  return addUpTo(shared, slot.used, amount, allowed < granted ? allowed : granted)
}

/** Adds to what is used, without a limit. */
export function addSpend(shared: SharedBudget, amount: bigint): void {
  // A target may claim more than 64 bits hold. The budget is then exhausted for good.
  if (!addUpTo(shared, slot.used, amount, maxAmount)) Atomics.store(shared, slot.used, maxAmount)
}

/** Notes an amount that could not be reserved. */
export function noteWanted(shared: SharedBudget, amount: bigint): void {
  if (Atomics.load(shared, slot.wanted) < amount) Atomics.store(shared, slot.wanted, amount)
}

/** The largest amount that an arrival could not reserve since the last call; 0: there was none. */
export const takeWanted = (shared: SharedBudget): bigint => Atomics.exchange(shared, slot.wanted, 0n)

/** Gives back all that is left, so that it cannot be used here any more. Returns the sum of all that was given back. */
export function giveBackLeft(shared: SharedBudget): bigint {
  for (;;) {
    const used = Atomics.load(shared, slot.used)
    const left = Atomics.load(shared, slot.granted) - used
    if (left <= 0n) return Atomics.load(shared, slot.givenBack)
    // Counted first, so that what is given back never looks as if it was spent.
    Atomics.add(shared, slot.givenBack, left)
    if (Atomics.compareExchange(shared, slot.used, used, used + left) === used)
      return Atomics.load(shared, slot.givenBack)
    Atomics.sub(shared, slot.givenBack, left)
  }
}

/** Counts a payment of a wallet; false: the wallets of the run would have paid more than `limit`. null: no limit. */
export const reservePayment = (shared: SharedBudget, amount: bigint, limit: bigint | null): boolean =>
  addUpTo(shared, slot.paid, amount, limit)

/** Takes back a payment that was never sent. */
export const releasePayment = (shared: SharedBudget, amount: bigint): void =>
  void Atomics.sub(shared, slot.paid, amount)

/** Adds to a sum, unless it would exceed `bound`. Returns whether it did. null: no bound. */
function addUpTo(shared: SharedBudget, at: number, amount: bigint, bound: bigint | null): boolean {
  for (;;) {
    const sum = Atomics.load(shared, at)
    if (bound !== null && sum + amount > bound) return false
    if (Atomics.compareExchange(shared, at, sum, sum + amount) === sum) return true
  }
}
