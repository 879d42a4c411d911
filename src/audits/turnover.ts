import { distance } from '../lib/money.ts'
import type { Charge } from './charge.ts'
import type { DiscrepancyKind } from './results.ts'

/** What a set of requests took from a balance, in sums. All amounts in pico-USD. */
export type Turnover = {
  readonly requests: number
  readonly least: bigint
  readonly most: bigint
  readonly charged: bigint
  readonly chargedRequests: number
  /** What the replays among them would have cost. */
  readonly replayed: bigint
  /** Whether one of them does not say what it cost. */
  readonly unknown: boolean
  /** Single charges and single replays, the last few: one of them may be the difference. */
  readonly lastCharges: readonly bigint[]
  readonly lastReplays: readonly bigint[]
  readonly lastSeqs: readonly number[]
}

export const nothing: Turnover = {
  requests: 0,
  least: 0n,
  most: 0n,
  charged: 0n,
  chargedRequests: 0,
  replayed: 0n,
  unknown: false,
  lastCharges: [],
  lastReplays: [],
  lastSeqs: [],
}

const kept = 8

export function addCharge(
  sum: Turnover,
  { seq, charge }: { readonly seq: number; readonly charge: Charge | null },
): Turnover {
  const { sort, said, least, most } = charge ?? { sort: 'unknown', said: 0n, least: 0n, most: 0n }
  const isCharged = sort === 'charged'
  const isReplay = sort === 'replay'
  return {
    requests: sum.requests + 1,
    least: sum.least + least,
    most: sum.most + most,
    charged: sum.charged + (isCharged ? said : 0n),
    chargedRequests: sum.chargedRequests + (isCharged ? 1 : 0),
    replayed: sum.replayed + (isReplay ? said : 0n),
    unknown: sum.unknown || charge === null,
    lastCharges: isCharged ? [...sum.lastCharges, said].slice(-kept) : sum.lastCharges,
    lastReplays: isReplay ? [...sum.lastReplays, said].slice(-kept) : sum.lastReplays,
    lastSeqs: [...sum.lastSeqs, seq].slice(-kept),
  }
}

/** The most telling name for a difference, from what was requested. `excess` is below zero when too little left. */
export function nameDifference(excess: bigint, turnover: Turnover, resolution: bigint): DiscrepancyKind {
  const { requests, charged, chargedRequests, replayed, lastCharges, lastReplays } = turnover
  const is = (amount: bigint) => amount > 0n && distance(excess, amount) <= resolution
  if (requests === 0) return 'phantom'
  if (is(replayed) || lastReplays.some(is)) return 'replay-billed'
  if (excess < 0n) return 'unbilled'
  if (is(charged) || lastCharges.some(is)) return 'billed-twice'
  if (excess <= replayed) return 'replay-billed'
  if (chargedRequests === 0) return 'billed-for-failure'
  return chargedRequests === 1 ? 'wrong-amount' : 'balance-drift'
}
