import { type AccountSpend, type AccountTerms, createAccountSpend, type Spend } from './account-spend.ts'

/** The money of a run. All amounts are integers of the same unit. */
export type Budget = {
  /** Reserves the maximum cost of an arrival before it is sent; null: the budget does not cover it. */
  readonly reserve: (call: string, account: string) => Reservation | null
  /** Releases the reservation, after all requests of the arrival are charged. */
  readonly release: (reservation: Reservation, nowMs: number) => void
  /** Counts what one request of the arrival has cost its account, and what its response shows of the balance. */
  readonly charge: (reservation: Reservation, account: string, spend: Spend) => void
  /** Whether more was spent than the limit. This needs a target that takes more than the maximum cost of a request. */
  readonly isExceeded: () => boolean
}

export type Reservation = {
  readonly call: string
  readonly account: string
  readonly amount: bigint
  /** What charges have not used yet. */
  left: bigint
}

/** The maximum cost of an arrival, and of each of its requests. */
export type MaxCost = { readonly arrival: bigint; readonly request: bigint }

export type BudgetTerms = AccountTerms & {
  readonly limit: bigint
  /** By call. A call without a maximum cost is free. */
  readonly maxCosts: ReadonlyMap<string, MaxCost>
}

const maxAmount = 2n ** 63n - 1n

/**
 * What was spent and is reserved, how much of it wallets have paid for credit, and how much of the budget is granted so far,
 * in shared memory. All workers of a run on one machine use the same one.
 */
export type SharedBudget = BigInt64Array

/**
 * `granted`: how much may be spent until `grant` adds to it. By default, all of the budget is granted. `paid`: what
 * wallets elsewhere may pay.
 */
export function createSharedBudget(granted: bigint = maxAmount, paid: bigint = 0n): SharedBudget {
  const shared = new BigInt64Array(new SharedArrayBuffer(24))
  Atomics.store(shared, 1, paid)
  Atomics.store(shared, 2, granted)
  return shared
}

/** Adds a part of the budget to what may be spent. */
export const grant = (shared: SharedBudget, amount: bigint): void => void Atomics.add(shared, 2, amount)

/** How much of what is granted is left. */
export const leftOf = (shared: SharedBudget): bigint => Atomics.load(shared, 2) - Atomics.load(shared, 0)

/** Counts a payment of a wallet; false: the wallets of the run would have paid more than `limit`. null: no limit. */
export function reservePayment(sum: SharedBudget, amount: bigint, limit: bigint | null): boolean {
  for (;;) {
    const paid = Atomics.load(sum, 1)
    if (limit !== null && paid + amount > limit) return false
    if (Atomics.compareExchange(sum, 1, paid, paid + amount) === paid) return true
  }
}

/** Takes back a payment that was never sent. */
export const releasePayment = (sum: SharedBudget, amount: bigint): void => void Atomics.sub(sum, 1, amount)

/** What a run has spent. After its end, it includes the reservations of requests whose charge is unknown. */
export const spentOf = (sum: SharedBudget): bigint => Atomics.load(sum, 0)

/**
 * A budget that spending never exceeds, if no request costs more than its maximum. This includes requests in flight and
 * all workers that share the sum. If a request costs more, that is the maximum of its call from then on.
 */
export function createBudget({ limit, maxCosts, ...terms }: BudgetTerms, sum: SharedBudget): Budget {
  const accounts = new Map<string, AccountSpend>()
  /** The highest costs seen, where they exceed the maximum. */
  const seen = new Map<string, bigint>()
  const highest = (): bigint => {
    const granted = Atomics.load(sum, 2)
    return limit < granted ? limit : granted
  }

  const accountOf = (name: string): AccountSpend => {
    const known = accounts.get(name) ?? createAccountSpend(terms)
    accounts.set(name, known)
    return known
  }
  const requestCost = (call: string): bigint => seen.get(call) ?? maxCosts.get(call)?.request ?? 0n
  const arrivalCost = (call: string): bigint => {
    const { arrival, request } = maxCosts.get(call) ?? { arrival: 0n, request: 0n }
    return arrival + (requestCost(call) - request)
  }
  const add = (amount: bigint, bound: bigint): boolean => {
    for (;;) {
      const current = Atomics.load(sum, 0)
      if (current + amount > bound) return false
      if (Atomics.compareExchange(sum, 0, current, current + amount) === current) return true
    }
  }
  /** Applies a change to some accounts, and adds to the sum how much more they may have spent now. */
  const update = (changed: readonly AccountSpend[], change: () => void): void => {
    const total = () => changed.reduce((spent, account) => spent + account.spent(), 0n)
    const before = total()
    change()
    // A target may claim more than 64 bits hold. The budget is then exhausted for good.
    if (!add(total() - before, maxAmount)) Atomics.store(sum, 0, maxAmount)
  }

  return {
    reserve: (call, name) => {
      const account = accountOf(name)
      const amount = arrivalCost(call)
      const before = account.spent()
      account.reserve(amount)
      if (add(account.spent() - before, highest())) return { call, account: name, amount, left: amount }
      account.cancel(amount)
      return null
    },
    release: ({ account: name, amount, left }, nowMs) => {
      const account = accountOf(name)
      update([account], () => account.release({ amount, left, nowMs }))
    },
    charge: (reservation, name, spend) => {
      const known = requestCost(reservation.call)
      if (spend.cost > known) seen.set(reservation.call, spend.cost)
      const cost = spend.isUnknown && spend.cost < known ? known : spend.cost
      const used = cost < reservation.left ? cost : reservation.left
      reservation.left -= used
      const [reserving, charged] = [accountOf(reservation.account), accountOf(name)]
      update(reserving === charged ? [charged] : [reserving, charged], () => {
        reserving.use(used)
        charged.charge(cost, spend)
      })
    },
    isExceeded: () => Atomics.load(sum, 0) > highest(),
  }
}
