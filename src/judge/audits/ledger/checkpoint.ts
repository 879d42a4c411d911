import { isWithin } from './charge.ts'
import type { AmountRange } from './prices.ts'
import type { ChargedRequest, ChargeTotals } from './totals.ts'

/** A balance from which later balances are computed. */
export type BalanceCheckpoint = {
  readonly balance: bigint
  /** Charges that the balance certainly includes, and charges that it may include. Equal if the balance is settled. */
  readonly certain: ChargeTotals
  readonly possible: ChargeTotals
  /** The maximum that earlier requests without a response can still charge. */
  readonly unanswered: bigint
  readonly day: number | null
}

/**
 * What left the balance since the checkpoint, up to a balance that certainly includes some cumulative charges and credits,
 * and possibly others, but not those of `own`. Credits never leave it again.
 */
export function spentSince(
  from: BalanceCheckpoint,
  certain: ChargeTotals,
  possible: ChargeTotals,
  own: Pick<ChargedRequest, 'charge' | 'credit'> | null,
): AmountRange {
  const certainCredit = certain.credit.min - from.possible.credit.max
  const possibleCredit = possible.credit.max - (own?.credit?.max ?? 0n) - from.certain.credit.min
  return {
    min: certain.min - from.possible.min - possibleCredit,
    max:
      possible.max -
      (own?.charge?.max ?? 0n) -
      from.certain.max +
      from.unanswered -
      (certainCredit > 0n ? certainCredit : 0n),
  }
}

/**
 * The meaning of a balance shown to a request that did not overlap others. fits: it is fully explained · own-charge:
 * the request's own charge is already deducted · either: the same, or an earlier equal charge was taken twice · stale:
 * the last charge is missing, because it was lost or because the balance is old · fault: anything else
 */
type BalanceDiagnosis = 'fits' | 'own-charge' | 'either' | 'stale' | 'fault'

type SettledBalance = {
  /** The decrease since the checkpoint, and the explained part of it. */
  readonly spent: bigint
  readonly range: AmountRange
  readonly resolution: bigint
  readonly own: bigint
  /** The charges since the checkpoint, at least the last few, in order; and whether the list is complete. */
  readonly charges: readonly bigint[]
  readonly areAllKnown: boolean
}

export function diagnoseBalance({
  spent,
  range,
  resolution,
  own,
  charges,
  areAllKnown,
}: SettledBalance): BalanceDiagnosis {
  if (isWithin(spent, range, resolution)) return 'fits'
  const last = charges.at(-1) ?? 0n
  if (last > 0n && isWithin(spent + last, range, resolution)) return 'stale'
  if (own === 0n || !isWithin(spent - own, range, resolution)) return 'fault'
  return areAllKnown && !charges.includes(own) ? 'own-charge' : 'either'
}

/** A balance that was out of bounds: either the charges or the displayed balance may be wrong. */
export type PendingMismatch = {
  /** The requests since the checkpoint. */
  readonly requestIds: readonly number[]
  /** The decrease since the checkpoint, and the explained part of it. */
  readonly spent: bigint
  readonly range: AmountRange
  /** The last charge, if it is the missing amount. */
  readonly missing: bigint | null
  /** What the service may have held of the balance for other requests in progress. */
  readonly held: bigint
  /** How many of the requests the client left. */
  readonly left: number
}

/** Whether a balance may only lack what was held of it. Whether a response shows the balance without that is open. */
export const mayBeHeld = ({ spent, range, held }: PendingMismatch): boolean =>
  spent > range.max && spent <= range.max + held

/** A request without a response may still run and be charged for this long after it was cancelled. */
const maxChargeDelayMs = 600_000
const bucketMs = 1_000

/** The possible later charges of requests without a response. Stores a sum per second, not each request. */
export function createUnansweredCharges(): {
  /** Times are added in roughly ascending order. */
  readonly add: (max: bigint, givenUpMs: number) => void
  readonly at: (instantMs: number) => bigint
} {
  let buckets: { readonly untilMs: number; max: bigint }[] = []
  return {
    add: (max, givenUpMs) => {
      const untilMs = Math.ceil(givenUpMs / bucketMs) * bucketMs + maxChargeDelayMs
      const last = buckets.at(-1)
      if (last !== undefined && last.untilMs >= untilMs) last.max += max
      else buckets.push({ untilMs, max })
    },
    at: instantMs => {
      if (buckets[0] !== undefined && buckets[0].untilMs < instantMs)
        buckets = buckets.filter(({ untilMs }) => untilMs >= instantMs)
      return buckets.reduce((sum, { max }) => sum + max, 0n)
    },
  }
}
