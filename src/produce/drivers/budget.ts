import { type Account, createAccount } from './account.ts'

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

/** What one request has cost, as far as its response and the price list tell. */
export type Spend = {
  readonly sentMs: number
  /** The larger of the claimed and the computed cost. */
  readonly cost: bigint
  /** Whether it may have cost more. Then at least its maximum cost is counted. */
  readonly isUnknown: boolean
  /** Whether the target may charge the request long after its end, because it never responded. */
  readonly isUnanswered: boolean
  /** The balances that the response shows, in an order that stays the same; null: it does not show this one. */
  readonly balances: readonly (bigint | null)[]
}

/** The maximum cost of an arrival, and of each of its requests. */
export type MaxCost = { readonly arrival: bigint; readonly request: bigint }

export type BudgetTerms = {
  readonly limit: bigint
  /** By call. A call without a maximum cost is free. */
  readonly maxCosts: ReadonlyMap<string, MaxCost>
  /** A balance includes every charge this long after the end of its request. */
  readonly settleMs: number
  /** The part of a decrease that may come from rounding. */
  readonly resolution: bigint
}

/** What was spent and is reserved, in shared memory. All workers of a run use the same one. */
export type SharedBudget = BigInt64Array

export const createSharedBudget = (): SharedBudget => new BigInt64Array(new SharedArrayBuffer(8))

/** What a run has spent. After its end, it includes the reservations of requests whose charge is unknown. */
export const spentOf = (sum: SharedBudget): bigint => Atomics.load(sum, 0)

const maxAmount = 2n ** 63n - 1n

/**
 * A budget that spending never exceeds, if no request costs more than its maximum. This includes requests in flight and
 * all workers that share the sum. If a request costs more, that is the maximum of its call from then on.
 */
export function createBudget({ limit, maxCosts, ...terms }: BudgetTerms, sum: SharedBudget): Budget {
  const accounts = new Map<string, Account>()
  /** The highest costs seen, where they exceed the maximum. */
  const seen = new Map<string, bigint>()
  const highest = limit < maxAmount ? limit : maxAmount

  const accountOf = (name: string): Account => {
    const known = accounts.get(name) ?? createAccount(terms)
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
  const update = (changed: readonly Account[], change: () => void): void => {
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
      if (add(account.spent() - before, highest)) return { call, account: name, amount, left: amount }
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
    isExceeded: () => Atomics.load(sum, 0) > highest,
  }
}
