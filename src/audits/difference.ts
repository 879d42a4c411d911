import { absDifference } from '../lib/money.ts'
import type { Charge } from './charge.ts'
import type { DiscrepancyKind } from './results.ts'
import type { Turnover } from './turnover.ts'

/** What is known of the requests that a difference arose from. */
export type Suspects = {
  readonly turnover: Turnover
  /** The last few of their charges: one of them may be the difference. */
  readonly lastCharges: readonly Charge[]
  /** The smallest difference that can be seen. */
  readonly resolution: bigint
}

/**
 * The most telling name for an exact difference. `excess` is below zero when too little left the balance. Where a charge
 * taken twice and a replay that was charged look the same, it is the former: a replay repeats a charge, too.
 */
export function nameDifference(excess: bigint, suspects: Suspects): DiscrepancyKind {
  const { requests, charged, chargedRequests, replayed, replays } = suspects.turnover
  const isCharge = is(charged) || isOneOf('charged')

  if (requests === 0) return 'phantom'
  if (excess < 0n) return chargedRequests === 1 && !isCharge ? 'wrong-amount' : 'unbilled'
  if (replays > 0 && (chargedRequests === 0 || (!isCharge && (is(replayed) || isOneOf('replay')))))
    return 'replay-billed'
  if (isCharge) return 'billed-twice'
  if (chargedRequests === 0) return 'billed-for-failure'
  return chargedRequests === 1 && replays === 0 ? 'wrong-amount' : 'balance-drift'

  function is(amount: bigint): boolean {
    return amount > 0n && absDifference(excess < 0n ? -excess : excess, amount) <= toleranceOf(suspects)
  }
  function isOneOf(sort: Charge['sort']): boolean {
    return suspects.lastCharges.some(charge => charge.sort === sort && is(charge.said))
  }
}

/** Whether replays alone may account for a difference: no more was taken than what they would have cost. */
export const mayBeReplays = (excess: bigint, suspects: Suspects): boolean =>
  excess > 0n && excess <= suspects.turnover.replayed + toleranceOf(suspects)

const toleranceOf = ({ turnover, resolution }: Suspects): bigint => resolution + turnover.most - turnover.least
