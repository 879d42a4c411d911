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

export type AccountTerms = {
  /** A balance includes every charge this long after the end of its request. */
  readonly settleMs: number
  /** The part of a decrease that may come from rounding. */
  readonly resolution: bigint
}

/** The money of one caller: what its requests cost, and what its balance shows. */
export type AccountSpend = {
  /** The maximum that the account has spent, if every request in flight costs its maximum. */
  readonly spent: () => bigint
  readonly reserve: (amount: bigint) => void
  /** Withdraws the reservation of an arrival that was not sent. */
  readonly cancel: (amount: bigint) => void
  /** A charge replaces this part of a reservation. */
  readonly use: (amount: bigint) => void
  /** The arrival has ended, and its requests are charged. `left` is the part of its reservation that they did not use. */
  readonly release: (arrival: { readonly amount: bigint; readonly left: bigint; readonly nowMs: number }) => void
  readonly charge: (cost: bigint, spend: Spend) => void
}

/** A request without a response may be charged this long after it was given up. */
const maxChargeDelayMs = 600_000
/** Reservations that end within this time are kept as one sum. */
const bucketMs = 100

/**
 * Two sides bound what an account has spent, and the larger one counts.
 * - By the responses: all costs, and the reservations of requests in flight.
 * - By the balance: its decrease, and the maximum cost of all requests that a shown balance does not certainly include.
 * For an honest target, the second side never exceeds the maximum cost of everything sent.
 */
export function createAccountSpend({ settleMs, resolution }: AccountTerms): AccountSpend {
  let costs = 0n
  let reserved = 0n
  /** The maximum cost of all arrivals sent, and of those that the latest balance certainly includes. */
  let sent = 0n
  let settled = 0n
  /** The maximum cost of ended requests that were never answered and whose arrival has not ended. */
  let unanswered = 0n
  const unsettled = createUnsettled()
  /** The balances from which decreases count, and what was spent until then; null: none was shown yet. */
  let opening: { readonly balances: Balances; readonly spent: bigint } | null = null
  /** What the balances prove about everything sent: at most `sent + margin` was spent. */
  let margin = 0n
  let latestSentMs = Number.NEGATIVE_INFINITY

  function show({ sentMs, balances }: Spend): void {
    // A response to an earlier request may show an earlier balance.
    if (sentMs < latestSentMs || balances.every(balance => balance === null)) return
    const exact = opening === null ? 0n : decrease(opening.balances, balances)
    if (exact === null) return
    latestSentMs = sentMs
    settled += unsettled.takeUntil(sentMs)
    if (opening === null || exact < 0n) {
      opening = { balances, spent: opening === null ? costs : max(costs, settled + margin) }
      margin = opening.spent - settled
      return
    }
    const spent = opening.spent + max(exact - resolution, 0n)
    // If more than the maximum cost was taken, earlier balances are no longer proof.
    if (spent > sent + margin || spent - settled < margin) margin = spent - settled
  }

  return {
    spent: () => max(costs + reserved, opening === null ? 0n : sent + margin),
    reserve: amount => {
      reserved += amount
      sent += amount
    },
    cancel: amount => {
      reserved -= amount
      sent -= amount
    },
    use: amount => {
      reserved -= amount
    },
    release: ({ amount, left, nowMs }) => {
      reserved -= left
      const late = unanswered < amount ? unanswered : amount
      unanswered -= late
      // The first balance may include the requests that ended before it, or not.
      if (opening === null) settled += amount
      else {
        unsettled.add(amount - late, nowMs + settleMs)
        unsettled.add(late, nowMs + settleMs + maxChargeDelayMs)
      }
    },
    charge: (cost, spend) => {
      costs += cost
      if (spend.isUnanswered) unanswered += cost
      show(spend)
    },
  }
}

type Balances = readonly (bigint | null)[]

/** How much the balances have decreased together; null if a balance of the first response is missing in the second. */
function decrease(earlier: Balances, later: Balances): bigint | null {
  let sum = 0n
  for (const [index, balance] of earlier.entries()) {
    const now = later[index] ?? null
    if (balance === null) continue
    if (now === null) return null
    sum += balance - now
  }
  return sum
}

const max = (a: bigint, b: bigint): bigint => (a > b ? a : b)

/** Amounts that a balance may not include yet, by the time from which it does. */
function createUnsettled(): {
  readonly add: (amount: bigint, fromMs: number) => void
  /** Removes and returns the sum of all amounts that a balance of this time includes. */
  readonly takeUntil: (nowMs: number) => bigint
} {
  const sums = new Map<number, bigint>()
  return {
    add: (amount, fromMs) => {
      const bucket = Math.ceil(fromMs / bucketMs)
      if (amount > 0n) sums.set(bucket, (sums.get(bucket) ?? 0n) + amount)
    },
    takeUntil: nowMs => {
      let taken = 0n
      for (const [bucket, amount] of sums) {
        if (bucket * bucketMs > nowMs) continue
        taken += amount
        sums.delete(bucket)
      }
      return taken
    },
  }
}
