import { type Clock, sleepUntil } from '../../lib/clock.ts'
import { type AccountSpend, type AccountTerms, createAccountSpend, type Spend } from './account-spend.ts'
import {
  addSpend,
  isFinalBudget,
  leftOf,
  noteWanted,
  reserveSpend,
  type SharedBudget,
  spentOf,
} from './shared-budget.ts'

/** The money of a run. All amounts are integers of the same unit. */
export type Budget = {
  /**
   * Reserves the maximum cost of an arrival before it is sent; null: what is granted of the budget does not cover it.
   * Notes the amount, so that a worker whose budget is granted in parts gets a further part.
   */
  readonly reserve: (call: string, account: string) => Reservation | null
  /** Whether the last part of the budget is granted. */
  readonly isFinal: () => boolean
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

/**
 * A budget that spending never exceeds, if no request costs more than its maximum. This includes requests in flight and
 * all workers that share its memory. If a request costs more, that is the maximum of its call from then on.
 */
export function createBudget({ limit, maxCosts, ...terms }: BudgetTerms, shared: SharedBudget): Budget {
  const accounts = new Map<string, AccountSpend>()
  /** The highest costs seen, where they exceed the maximum. */
  const seen = new Map<string, bigint>()

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
  /** Applies a change to some accounts, and adds how much more they may have spent now. */
  const update = (changed: readonly AccountSpend[], change: () => void): void => {
    const total = () => changed.reduce((spent, account) => spent + account.spent(), 0n)
    const before = total()
    change()
    addSpend(shared, total() - before)
  }

  return {
    reserve: (call, name) => {
      const account = accountOf(name)
      const amount = arrivalCost(call)
      const before = account.spent()
      account.reserve(amount)
      if (reserveSpend(shared, account.spent() - before, limit)) return { call, account: name, amount, left: amount }
      account.cancel(amount)
      noteWanted(shared, amount)
      return null
    },
    isFinal: () => isFinalBudget(shared),
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
    isExceeded: () => spentOf(shared) > limit || (isFinalBudget(shared) && leftOf(shared) < 0n),
  }
}

/** How often an arrival that waits for a further part of the budget tries again. */
const retryMs = 5

/** Reserves as soon as enough of the budget is granted; null: it never will be, or `signal` is aborted. */
export async function reserveWhenGranted(
  budget: Budget,
  call: string,
  account: string,
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
): Promise<Reservation | null> {
  for (;;) {
    // Read before, since the last part may be granted in between.
    const isLast = budget.isFinal() || signal.aborted
    const reservation = budget.reserve(call, account)
    if (reservation !== null || isLast) return reservation
    await sleepUntil(clock, clock.nowMs() + retryMs, signal)
  }
}
