import type { Contract } from '../../../contract/contract.ts'
import { balanceRemainingHeader } from '../../../contract/headers.ts'
import { promisesAny } from '../../../contract/promises.ts'
import { nearestPico, pico } from '../../../lib/money.ts'
import { failedBeforeSend, type Observation, type ObservedResponse } from '../../../observation/observation.ts'
import { isUndecided, recordedOutcome } from '../../../observation/payments.ts'
import { requestTraits } from '../../../observation/requests/request.ts'
import type { TopUpDescriptor } from '../../../observation/requests/wallets.ts'
import { isTopUp, refusalOf } from '../../../observation/requests/wallets.ts'
import { is2xx, isFromGateway, isReplayed } from '../../../observation/response.ts'
import { priceListOf, priceOfCredits } from '../../checks/price-list.ts'
import { claimedCredits } from '../../checks/rpc-credits.ts'
import { claimInBody, claimInHeader, costIn, isFree } from './charge.ts'
import { countsOf, expectedCharge } from './prices.ts'

/** What one request has cost its caller, for the budget. All amounts in pico-USD; a DIEM counts as a USD. */
export type RequestSpend = {
  readonly sentMs: number
  /** The larger of the claimed cost and the cost by our price list. */
  readonly cost: bigint
  /** Whether it may have cost more: no readable cost is stated, or there is no complete response. */
  readonly isUnknown: boolean
  /** Whether it may still be charged, since there is no complete response. */
  readonly isUnanswered: boolean
  /** The balances in USD and in DIEM, and what remains of the balance; null: not shown. */
  readonly balances: readonly (bigint | null)[]
}

const noBalances: RequestSpend['balances'] = [null, null, null]

/**
 * What a request has cost, or null if it was never sent. Unlike the ledger, it assumes the worst: nothing that a target
 * says can make a request cheaper than its tokens or credits by the price list.
 */
export function spendOf(observation: Observation, contract: Contract, isShared: boolean): RequestSpend | null {
  const { request, outcome, response, sentMs } = observation
  if (sentMs === null || outcome.kind === 'dropped') return null
  if (outcome.kind === 'failed' && failedBeforeSend.includes(outcome.reason)) return null
  if (isTopUp(request)) return spendOfPayment(request, observation, sentMs, contract)
  const isUnanswered = outcome.kind === 'failed' || (response !== null && isFromGateway(response, contract))
  const claimed = response === null ? none : claimedBy(response, observation, contract)
  const computed = expectedCharge(observation, contract)?.usd ?? null
  const cost = computed !== null && computed > claimed.amount ? computed : claimed.amount
  const isSold = response !== null && is2xx(response.status) && !isFree(observation.request)
  const isConfirmed = claimed.isStated && (computed !== null || !isUsageUnreadable(observation, contract))
  return {
    sentMs,
    cost,
    isUnknown: isUnanswered || claimed.isAbsurd || (isSold && !isConfirmed),
    isUnanswered,
    // Others may take from a shared balance.
    balances: isShared || response === null ? noBalances : balancesIn(response, observation, contract),
  }
}

/**
 * A payment costs its amount, unless it was refused. One that must be refused costs it even then, because its
 * receiver could still take the money. One that is sent again was counted before.
 */
function spendOfPayment(
  { payment }: TopUpDescriptor,
  { outcome }: Observation,
  sentMs: number,
  contract: Contract,
): RequestSpend {
  const status = outcome.kind === 'answered' ? outcome.status : 0
  const isRefused = payment !== null && refusalOf(payment, contract) === null && status >= 400 && !isUndecided(status)
  const cost = payment === null || payment.isAgain || isRefused ? 0n : pico(payment.usd)
  return { sentMs, cost, isUnknown: false, isUnanswered: false, balances: noBalances }
}

/** `isAbsurd`: it states a negative amount, or something that cannot be read as one. */
type Claim = { readonly amount: bigint; readonly isStated: boolean; readonly isAbsurd: boolean }

const none: Claim = { amount: 0n, isStated: false, isAbsurd: false }

/** The highest claim of a response, wherever it is. */
function claimedBy(response: ObservedResponse, observation: Observation, contract: Contract): Claim {
  // A replay may show the cost of the first request, which was counted then.
  const { request } = observation
  if (requestTraits(request).isRepetition(request) && isReplayed(observation, contract))
    return { ...none, isStated: true }
  const inBody = claimInBody(response)
  const inHeader = claimInHeader(response, contract)
  const credits = claimedCredits(response, contract)
  const byCredits = credits === null ? 0n : priceOfCredits(credits, contract).usd
  const amount = [inBody?.max ?? 0n, inHeader?.max ?? 0n, byCredits].reduce((a, b) => (a > b ? a : b))
  const { costHeader, creditsHeader } = priceListOf(contract)
  const isUnread = (value: unknown, header: string) => value === null && (response.headers[header] ?? '') !== ''
  const isAbsurd =
    (inBody === null && (costIn(response) ?? null) !== null) ||
    isUnread(inHeader, costHeader) ||
    isUnread(credits, creditsHeader)
  return { amount, isStated: inBody !== null || inHeader !== null, isAbsurd }
}

/** Whether a completion states a cost, but no counts of tokens that could confirm it, although it must. */
const isUsageUnreadable = (observation: Observation, contract: Contract): boolean =>
  requestTraits(observation.request).pricing(observation.request) === 'tokens' &&
  promisesAny(contract, ['chat.usage']) &&
  countsOf(observation) === null

/** The balances of the caller. A response without credentials, or to other ones, is about another account. */
function balancesIn(
  response: ObservedResponse,
  { request }: Observation,
  contract: Contract,
): RequestSpend['balances'] {
  const identity = requestTraits(request).identity(request)
  if ((identity !== 'caller' && identity !== 'payment') || response.status === 401) return noBalances
  const { usdHeader, diemHeader } = priceListOf(contract)
  const amountIn = (header: string) => nearestPico(response.headers[header] ?? '')
  const [usd, diem] = [amountIn(usdHeader), amountIn(diemHeader)]
  // What remains is the same money again.
  return usd === null && diem === null ? [null, null, amountIn(balanceRemainingHeader)] : [usd, diem, null]
}

/**
 * `spendOf` for the requests of a run. A payment counts once, with the first of its requests that may have been settled:
 * of several at once, any of them may be the one that counts.
 */
export function createSpendOf(
  contract: Contract,
  isShared: boolean,
): (observation: Observation) => RequestSpend | null {
  const counted = new Set<string>()
  return observation => {
    const { request } = observation
    if (!isTopUp(request) || request.payment === null) return spendOf(observation, contract, isShared)
    const payment = { ...request.payment, isAgain: counted.has(request.payment.id) }
    const spend = spendOf({ ...observation, request: { ...request, payment } }, contract, isShared)
    if (spend === null || payment.isAgain) return spend
    const cost = spend.cost === 0n && mayBeSettled(observation, contract) ? pico(payment.usd) : spend.cost
    if (cost > 0n) counted.add(payment.id)
    return { ...spend, cost }
  }
}

/** Whether a refusal says that a settlement was tried, or that the payment was settled before. */
function mayBeSettled({ response }: Observation, { wallets }: Contract): boolean {
  return response !== null && recordedOutcome(response, wallets) !== 'refused'
}
