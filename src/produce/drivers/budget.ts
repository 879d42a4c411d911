import { type Clock, sleepUntil } from '../../lib/clock.ts'
import { type AccountSpend, type AccountTerms, createAccountSpend, type Spend } from './account-spend.ts'

/** The money of a run. All amounts are integers of the same unit. */
export type Budget = {
  /**
   * Reserves the maximum cost of an arrival before it is sent; null: what is granted of the budget does not cover it.
   * Notes the amount, so that a worker whose budget is granted in parts gets a further part.
   */
  readonly reserve: (call: string, account: string) => Reservation | null
  /** Whether nothing will be granted beyond what is granted now. */
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

const maxAmount = 2n ** 63n - 1n

/**
 * The budget of the workers of one machine, in shared memory. `used`: what was spent, is reserved, or was given back, so
 * that it cannot be reserved here. `paid`: what wallets have paid for credit. `granted`: how much of the budget these
 * workers may use, in sum. `wanted`: the largest amount that an arrival could not reserve since the last look. `final`: 1 if nothing more
 * will be granted.
 */
export type SharedBudget = BigInt64Array

const slot = { used: 0, paid: 1, granted: 2, givenBack: 3, wanted: 4, final: 5 } as const

/** All of the budget is granted. `paid`: what wallets elsewhere may pay. */
export function createSharedBudget(paid: bigint = 0n): SharedBudget {
  const shared = createLeasedBudget(paid)
  grant(shared, maxAmount)
  setFinal(shared)
  return shared
}

/** Nothing is granted yet. `paid`: what wallets elsewhere may pay. */
export function createLeasedBudget(paid: bigint): SharedBudget {
  const shared = new BigInt64Array(new SharedArrayBuffer(8 * Object.keys(slot).length))
  Atomics.store(shared, slot.paid, paid)
  return shared
}

/** Adds a part of the budget to what may be used. */
export const grant = (shared: SharedBudget, amount: bigint): void => void Atomics.add(shared, slot.granted, amount)

/** Nothing more will be granted. */
export const setFinal = (shared: SharedBudget): void => void Atomics.store(shared, slot.final, 1n)

/** How much of what is granted is left; negative if the target charged more than was reserved. */
export const leftOf = (shared: SharedBudget): bigint =>
  Atomics.load(shared, slot.granted) - Atomics.load(shared, slot.used)

/** The largest amount that an arrival could not reserve since the last call; 0: there was none. */
export const takeWanted = (shared: SharedBudget): bigint => Atomics.exchange(shared, slot.wanted, 0n)

/** Gives back all that is left, so that it cannot be used here any more. Returns what was given back in sum. */
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
export function reservePayment(sum: SharedBudget, amount: bigint, limit: bigint | null): boolean {
  for (;;) {
    const paid = Atomics.load(sum, slot.paid)
    if (limit !== null && paid + amount > limit) return false
    if (Atomics.compareExchange(sum, slot.paid, paid, paid + amount) === paid) return true
  }
}

/** Takes back a payment that was never sent. */
export const releasePayment = (sum: SharedBudget, amount: bigint): void => void Atomics.sub(sum, slot.paid, amount)

/** What a run has spent. After its end, it includes the reservations of requests whose charge is unknown. */
export const spentOf = (sum: SharedBudget): bigint => Atomics.load(sum, slot.used) - Atomics.load(sum, slot.givenBack)

/**
 * A budget that spending never exceeds, if no request costs more than its maximum. This includes requests in flight and
 * all workers that share the sum. If a request costs more, that is the maximum of its call from then on.
 */
export function createBudget({ limit, maxCosts, ...terms }: BudgetTerms, sum: SharedBudget): Budget {
  const accounts = new Map<string, AccountSpend>()
  /** The highest costs seen, where they exceed the maximum. */
  const seen = new Map<string, bigint>()
  const isFinal = (): boolean => Atomics.load(sum, slot.final) === 1n
  /** The highest value of what is used. What was given back may have been granted again. */
  const highest = (): bigint => {
    const [allowed, granted] = [limit + Atomics.load(sum, slot.givenBack), Atomics.load(sum, slot.granted)]
    return allowed < granted ? allowed : granted
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
      const current = Atomics.load(sum, slot.used)
      if (current + amount > bound) return false
      if (Atomics.compareExchange(sum, slot.used, current, current + amount) === current) return true
    }
  }
  /** Applies a change to some accounts, and adds to the sum how much more they may have spent now. */
  const update = (changed: readonly AccountSpend[], change: () => void): void => {
    const total = () => changed.reduce((spent, account) => spent + account.spent(), 0n)
    const before = total()
    change()
    // A target may claim more than 64 bits hold. The budget is then exhausted for good.
    if (!add(total() - before, maxAmount)) Atomics.store(sum, slot.used, maxAmount)
  }

  return {
    reserve: (call, name) => {
      const account = accountOf(name)
      const amount = arrivalCost(call)
      const before = account.spent()
      account.reserve(amount)
      if (add(account.spent() - before, highest())) return { call, account: name, amount, left: amount }
      account.cancel(amount)
      if (Atomics.load(sum, slot.wanted) < amount) Atomics.store(sum, slot.wanted, amount)
      return null
    },
    isFinal,
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
    isExceeded: () => spentOf(sum) > limit || (isFinal() && leftOf(sum) < 0n),
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
