import { ownBalance, withPointedValue } from '../contract/billing/billing-terms.ts'
import type { Contract } from '../contract/contract.ts'
import { moneyHeadersOf } from '../contract/headers.ts'
import { formatPico, nearestPico } from '../lib/money.ts'
import { type Account, remainingPicoUsd } from './account.ts'
import { jsonReply, type Reply, type RequestState } from './message.ts'

/** The credits of an account as the profile counts them. */
const counted = (leftPicoUsd: bigint, openingPicoUsd: bigint, { balance }: Contract['billing']): bigint =>
  balance.counts === 'spent' ? openingPicoUsd - leftPicoUsd : leftPicoUsd

/** The endpoint of the profile for the credits of a caller. */
export const creditBalance =
  ({ billing }: Contract, openingPicoUsd: bigint) =>
  (state: RequestState, { picoUsd }: Account): Reply =>
    jsonReply(state, withPointedValue(billing.balance.pointer, formatPico(counted(picoUsd, openingPicoUsd, billing))))

/**
 * Replies with the credits and the cost where the profile has them. The service, and its lies, know those of the document:
 * so each lie about a balance or a cost is told there. `isChargedLater`: whether the charge of the request falls due later.
 */
export function createCreditHeaders(
  contract: Contract,
  openingPicoUsd: bigint,
): (reply: Reply, state: RequestState, isChargedLater: boolean) => Reply {
  const { billing } = contract
  const { place } = ownBalance(billing)
  const { costHeader } = billing
  const { usdBalance, diemBalance, rpcCostUsd } = moneyHeadersOf(contract)
  if (place === null && costHeader === null) return reply => reply
  const moved = new Set([
    ...(place === null ? [] : [usdBalance, diemBalance]),
    ...(costHeader === null ? [] : [rpcCostUsd]),
  ])
  return (reply, { account, headers: honest }, isChargedLater) => {
    const headers: Record<string, string> = Object.fromEntries(
      Object.entries(reply.headers).filter(([name]) => !moved.has(name)),
    )
    const shown = nearestPico(reply.headers[usdBalance] ?? '')
    const before = nearestPico(honest[usdBalance] ?? '')
    if (account !== null && place?.header && shown !== null && before !== null) {
      const charge = place.when === 'before' ? 0n : before - remainingPicoUsd(account, isChargedLater)
      const left = shown - charge
      headers[place.header.toLowerCase()] = formatPico(counted(left, openingPicoUsd, billing))
    }
    const cost = reply.headers[rpcCostUsd]
    if (costHeader !== null && cost !== undefined) headers[costHeader.toLowerCase()] = cost
    return { ...reply, headers }
  }
}
