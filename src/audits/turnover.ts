import type { Charge } from './charge.ts'

/** What a set of requests took from a balance, in sums. All amounts in pico-USD. */
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
}

export function addCharge(sum: Turnover, { charge }: { readonly charge: Charge | null }): Turnover {
  if (charge === null) return { ...sum, requests: sum.requests + 1, unpriced: sum.unpriced + 1 }
  const { sort, said, least, most } = charge
  const isCharged = sort === 'charged'
  const isReplay = sort === 'replay'
  return {
    requests: sum.requests + 1,
    refusals: sort === 'refused' ? sum.refusals + 1 : sum.refusals,
    least: sum.least + least,
    most: sum.most + most,
    charged: isCharged ? sum.charged + said : sum.charged,
    chargedRequests: isCharged ? sum.chargedRequests + 1 : sum.chargedRequests,
    replayed: isReplay ? sum.replayed + said : sum.replayed,
    replays: isReplay ? sum.replays + 1 : sum.replays,
    unpriced: sum.unpriced,
  }
}

/** What lies between two sums, the earlier of which is part of the later. */
export function since(earlier: Turnover, later: Turnover): Turnover {
  return {
    requests: later.requests - earlier.requests,
    refusals: later.refusals - earlier.refusals,
    least: later.least - earlier.least,
    most: later.most - earlier.most,
    charged: later.charged - earlier.charged,
    chargedRequests: later.chargedRequests - earlier.chargedRequests,
    replayed: later.replayed - earlier.replayed,
    replays: later.replays - earlier.replays,
    unpriced: later.unpriced - earlier.unpriced,
  }
}
