import type { Charge } from './charge.ts'
import type { Paid } from './paid.ts'
import { nothingAtAll, type Range } from './range.ts'

/** What a set of requests took from a balance, in sums. All amounts in pico-USD; a DIEM counts as a USD. */
export type Turnover = {
  readonly requests: number
  readonly least: bigint
  readonly most: bigint
  readonly charged: bigint
  readonly chargedRequests: number
  /** What the replays among them would have cost. */
  readonly replayed: bigint
  readonly replays: number
  /** Requests that the RPC proxy refused. */
  readonly refusals: number
  /** Requests that succeeded and do not say what they cost. */
  readonly unpriced: number
  /** What was said to be paid in each currency, and the most that was paid in one of them without a word in which. */
  readonly usd: Range
  readonly diem: Range
  readonly either: bigint
  /** What may still be taken long after it was given up, because nobody answered. */
  readonly late: bigint
}

export const nothing: Turnover = {
  requests: 0,
  least: 0n,
  most: 0n,
  charged: 0n,
  chargedRequests: 0,
  replayed: 0n,
  replays: 0,
  refusals: 0,
  unpriced: 0,
  usd: nothingAtAll,
  diem: nothingAtAll,
  either: 0n,
  late: 0n,
}

/** What one request took; `paid` is null where the answer does not say in which currency. */
export type Taken = { readonly charge: Charge | null; readonly paid: Paid | null }

export function addCharge(sum: Turnover, { charge, paid }: Taken): Turnover {
  if (charge === null) return { ...sum, requests: sum.requests + 1, unpriced: sum.unpriced + 1 }
  const { sort, said, least, most } = charge
  const isCharged = sort === 'charged'
  const isReplay = sort === 'replay'
  return {
    requests: sum.requests + 1,
    least: sum.least + least,
    most: sum.most + most,
    charged: isCharged ? sum.charged + said : sum.charged,
    chargedRequests: isCharged ? sum.chargedRequests + 1 : sum.chargedRequests,
    replayed: isReplay ? sum.replayed + said : sum.replayed,
    replays: isReplay ? sum.replays + 1 : sum.replays,
    refusals: sort === 'refused' ? sum.refusals + 1 : sum.refusals,
    unpriced: sum.unpriced,
    usd: paid === null ? sum.usd : both(sum.usd, paid.usd),
    diem: paid === null ? sum.diem : both(sum.diem, paid.diem),
    either: paid === null ? sum.either + most : sum.either,
    late: sort === 'unknown' ? sum.late + most : sum.late,
  }
}

/** What lies between two sums, the earlier of which is part of the later. */
export function since(earlier: Turnover, later: Turnover): Turnover {
  return {
    requests: later.requests - earlier.requests,
    least: later.least - earlier.least,
    most: later.most - earlier.most,
    charged: later.charged - earlier.charged,
    chargedRequests: later.chargedRequests - earlier.chargedRequests,
    replayed: later.replayed - earlier.replayed,
    replays: later.replays - earlier.replays,
    refusals: later.refusals - earlier.refusals,
    unpriced: later.unpriced - earlier.unpriced,
    usd: between(earlier.usd, later.usd),
    diem: between(earlier.diem, later.diem),
    either: later.either - earlier.either,
    late: later.late - earlier.late,
  }
}

const both = (a: Range, b: Range): Range => ({ least: a.least + b.least, most: a.most + b.most })

const between = (earlier: Range, later: Range): Range => ({
  least: later.least - earlier.least,
  most: later.most - earlier.most,
})
