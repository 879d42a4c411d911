import { choicesOf, maxLookups } from '../../../contract/chat-options.ts'
import { type Contract, resourceOf } from '../../../contract/contract.ts'
import { probeOf } from '../../../contract/probes.ts'
import { toObject } from '../../../lib/json.ts'
import { memoizeLast } from '../../../lib/memoize.ts'
import { absDifference, formatPico, pico } from '../../../lib/money.ts'
import {
  failedBeforeSend,
  type Observation,
  type ObservedResponse,
  type ProbeDescriptor,
  type RequestDescriptor,
  streamOf,
} from '../../../observation/observation.ts'
import { is2xx, isFromGateway, isReplayed, jsonObject } from '../../../observation/response.ts'
import { statedAmounts, type TokenCounts, tokenCounts } from '../../checks/completion.ts'
import {
  completionTolerance,
  listPrice,
  priceListOf,
  priceOfCredits,
  statedBase,
  statedCost,
  type TokenQuantities,
} from '../../checks/price-list.ts'
import { claimedCredits, expectedCredits } from '../../checks/rpc-credits.ts'

/** The possible charges of one request. All amounts in pico-USD; a DIEM counts as a USD. */
export type ChargeBounds = {
  /**
   * listed: a success that states no cost, so it costs its list price · refused: rejected by the RPC proxy, so free ·
   * unknown: no complete response, so it may have been charged
   */
  readonly kind: 'charged' | 'listed' | 'replay' | 'refused' | 'free' | 'unknown'
  /** The minimum and maximum charge. */
  readonly min: bigint
  readonly max: bigint
  /** The claimed charge, or the list price. For a replay: the charge of the original, which must not be taken again. */
  readonly said: bigint
}

const free: ChargeBounds = { kind: 'free', min: 0n, max: 0n, said: 0n }
const refused: ChargeBounds = { ...free, kind: 'refused' }

const freeKinds: ReadonlySet<RequestDescriptor['kind']> = new Set([
  ...(['models', 'networks', 'rate-limits', 'rate-limit-logs'] as const),
  ...(['top-up', 'wallet-balance'] as const),
])

/** Whether a request never costs anything. A probe without a limit has no account that could be charged. */
export const isFree = (request: RequestDescriptor): boolean =>
  request.kind === 'probe' ? probeOf(request.probe).draws === null : freeKinds.has(request.kind)

/** The bounds of the charge; null if unknown, since a success states no cost, and the price list does not cover it. */
export const chargeOf = memoizeLast(readCharge)

function readCharge(observation: Observation, contract: Contract): ChargeBounds | null {
  const { request, response, outcome, retried } = observation
  if (isFree(request)) return free
  if (outcome.kind === 'dropped') return free
  if (outcome.kind === 'failed')
    return failedBeforeSend.includes(outcome.reason) ? free : upToMax(observation, contract)
  // After a gateway error, the service may still have run the request.
  if (response !== null && isFromGateway(response, contract)) return upToMax(observation, contract)

  const claim = claimOf(observation, contract)
  if (request.kind !== 'chat' && isReplayed(response))
    // The first attempt of a retried request may have been charged, and this is its replay.
    return { kind: 'replay', min: 0n, max: retried ? (claim?.max ?? 0n) : 0n, said: claim?.said ?? 0n }
  const isRefused = isProxyRejection(observation)
  if (claim !== null && !(isRefused && claim.said === 0n)) {
    const { min, max, said } = claim
    return { kind: 'charged', min, max, said }
  }
  // Resources do not state their cost, but the contract has their maximum.
  if (request.kind === 'resource') return is2xx(outcome.status) ? upToMax(observation, contract) : free
  if (is2xx(outcome.status)) return statesCost(observation, contract) ? null : listedCharge(observation, contract)
  return isRefused ? refused : free
}

/** Whether a response states a cost, even one that is no amount. */
const statesCost = ({ response }: Observation, contract: Contract): boolean =>
  response !== null &&
  ((costIn(response) ?? null) !== null || response.headers[priceListOf(contract).costHeader] !== undefined)

function listedCharge(observation: Observation, contract: Contract): ChargeBounds | null {
  const exact = expectedCharge(observation, contract)
  if (exact !== null) return { kind: 'listed', ...rangeAround(exact.usd, exact.tolerance), said: exact.usd }
  const tokens = rangeOfTokens(observation, contract)
  const lookups = priceOfLookups(observation, contract)
  if (tokens === null || lookups === null) return null
  const { min } = rangeAround(tokens.min, completionTolerance(tokens.min, contract))
  const { max } = rangeAround(tokens.max + lookups, completionTolerance(tokens.max, contract))
  return { kind: 'listed', min, max, said: tokens.max }
}

/**
 * What the tokens of a completion may cost. Without a price of their own, tokens from a cache are no dearer than others,
 * and tokens written to it cost at most twice as much, as in the public price lists.
 */
function rangeOfTokens(observation: Observation, contract: Contract): AmountRange | null {
  const { request } = observation
  const counts = countsOf(observation)
  if (request.kind !== 'chat' || counts === null) return null
  const { prompt, cached, written } = counts
  const priceOf = (tokens: TokenQuantities) => listPrice(priceListOf(contract), request.model, tokens)
  const exact = priceOf(counts)
  const min = exact ?? priceOf({ ...counts, prompt: prompt - cached - written, cached: 0, written: 0 })
  const max = exact ?? priceOf({ ...counts, prompt: prompt + written, cached: 0, written: 0 })
  return min === null || max === null ? null : { min, max }
}

/** The tokens of a completion; null: it does not state them, or not consistently. */
export function countsOf(observation: Observation): TokenCounts | null {
  const { response } = observation
  const counts = response && tokenCounts(streamOf(observation)?.usage ?? jsonObject(response)?.usage)
  return counts?.wrong === null ? counts : null
}

/** The price of all lookups that a completion may have made; null: it is not known. */
function priceOfLookups({ request }: Pick<Observation, 'request'>, contract: Contract): bigint | null {
  const lookups = request.kind === 'chat' ? maxLookups(request.options, contract) : 0
  const { usdPerLookup } = contract.chat.search
  if (lookups === 0) return 0n
  return usdPerLookup === null ? null : BigInt(lookups) * pico(usdPerLookup)
}

/** Whether a response was charged an amount that is known. */
export const isCharge = (charge: ChargeBounds | null): charge is ChargeBounds =>
  charge?.kind === 'charged' || charge?.kind === 'listed'

/** Whether the RPC proxy rejected a request as a whole. */
export const isProxyRejection = ({ request, outcome }: Observation): boolean =>
  outcome.kind === 'answered' &&
  outcome.status >= 400 &&
  outcome.status < 500 &&
  (request.kind === 'rpc' || (request.kind === 'probe' && probeOf(request.probe).draws === 'rpc'))

type ClaimedCharge = Pick<ChargeBounds, 'min' | 'max' | 'said'>

/** The claimed charge of a response with any status; null if it claims none. */
function claimOf(observation: Observation, contract: Contract): ClaimedCharge | null {
  const { request, response } = observation
  if (response === null) return null
  const inBody = request.kind === 'rpc' ? null : claimInBody(response)
  if (inBody !== null) return unrounded(inBody, observation, contract)
  // A probe should be rejected. If it was not, it may have run as either kind.
  return request.kind === 'chat' ? null : claimInHeader(response, contract)
}

/** A cost may be stated rounded, and it is open whether the balance uses the stated or the exact amount. */
function unrounded({ min, max, said }: ClaimedCharge, observation: Observation, contract: Contract): ClaimedCharge {
  const exact = expectedCharge(observation, contract)
  if (exact === null) {
    const wide = rangeAround(said, priceListOf(contract).balanceResolution)
    return { min: wide.min < min ? wide.min : min, max: wide.max > max ? wide.max : max, said }
  }
  if (absDifference(exact.usd, said) > exact.tolerance) return { min, max, said }
  return { min: exact.usd < min ? exact.usd : min, max: exact.usd > max ? exact.usd : max, said }
}

export function claimInBody(response: ObservedResponse): ClaimedCharge | null {
  const cost = responseCost(response)
  return cost && claimAround(cost.usd + cost.diem, cost.isExact ? 0n : 1n)
}

/** The cost that a completion states in each of the two currencies. */
function responseCost(response: ObservedResponse) {
  const cost = statedAmounts(costIn(response))
  return cost === null || cost.usd > maxClaim || cost.diem > maxClaim ? null : cost
}

/** The cost that a response states in its body, of any type. */
export const costIn = ({ body }: ObservedResponse): unknown =>
  body.kind === 'stream' ? body.stream.cost : body.kind === 'json' ? toObject(body.value)?.cost : null

/** More than this is no cost of a request but a fault. */
const maxClaim = pico('1000000')

/**
 * An RPC cost is shown rounded. It is open whether the balance uses the shown or the exact amount, so both are
 * possible. If our price list does not give the shown amount, any exact amount that rounds to it is possible.
 */
export function claimInHeader(response: ObservedResponse, contract: Contract): ClaimedCharge | null {
  const { costHeader, costResolution } = priceListOf(contract)
  const shown = response.headers[costHeader] ?? ''
  const said = statedCost(shown)
  const credits = claimedCredits(response, contract)
  if (said === null || said < 0n || said > maxClaim) return null
  const lastDigit = lastDigitOf(shown)
  if (credits === null) return claimAround(said, lastDigit)
  const exact = priceOfCredits(credits, contract).usd
  const isRounded = absDifference(exact, said) <= (lastDigit > costResolution ? lastDigit : costResolution)
  if (!isRounded) return claimAround(said, lastDigit)
  return exact < said ? { min: exact, max: said, said } : { min: said, max: exact, said }
}

/** A cost with fewer digits says too little to compare it with a balance. */
const coarsestCost = pico('0.000001')

/** The last digit of a decimal, in pico-USD. If zeros at the end are left out, the true one is smaller. */
function lastDigitOf(shown: string): bigint {
  const point = shown.indexOf('.')
  const decimals = point < 0 ? 0 : shown.trimEnd().length - point - 1
  const unit = 10n ** BigInt(Math.max(0, 12 - decimals))
  return unit < coarsestCost ? unit : coarsestCost
}

const claimAround = (said: bigint, lastDigit: bigint): ClaimedCharge => ({ ...rangeAround(said, lastDigit), said })

function upToMax(observation: Observation, contract: Contract): ChargeBounds {
  const max = maxCharge(observation, contract)
  return max === 0n && observation.request.kind === 'resource' ? free : { kind: 'unknown', min: 0n, max, said: 0n }
}

const unpriced = pico('1')

/**
 * Twice the list price of the longest completion, or of all items in the most expensive tier: a bound, not a forecast.
 */
function maxCharge({ request }: Observation, contract: Contract): bigint {
  if (request.kind === 'rpc') {
    const base = statedBase(contract, request.network)
    if (base === null) return unpriced
    return (
      BigInt(request.items.length * base * contract.rpc.multipliers.large * 2) * priceListOf(contract).picoUsdPerCredit
    )
  }
  // Rejected requests are not charged, so most probes cost nothing.
  if (request.kind === 'probe')
    return BigInt(2 * (probeOf(request.probe).credits?.(contract) ?? 0)) * priceListOf(contract).picoUsdPerCredit
  if (request.kind === 'resource') {
    const worst = resourceOf(contract, request.resource)?.worstUsd ?? null
    return worst === null ? unpriced : pico(worst)
  }
  if (request.kind !== 'chat') return 0n
  const lookups = priceOfLookups({ request }, contract)
  const prompt = request.promptTokens * 2 + 4_000
  const completion = request.maxCompletionTokens * choicesOf(request.options) * 2
  const tokens = listPrice(priceListOf(contract), request.model, { prompt, completion, cached: 0, written: 0 })
  return tokens === null || lookups === null ? unpriced : tokens + 2n * lookups
}

export type ExpectedCharge = {
  readonly usd: bigint
  readonly credits: bigint
  /** How far the claimed cost may be from `usd`. */
  readonly tolerance: bigint
  readonly priced: 'completion' | 'rpc'
}

/** The cost by our own price list; null if the price list does not cover the request. */
export function expectedCharge(observation: Observation, contract: Contract): ExpectedCharge | null {
  const { request, response, outcome } = observation
  if (outcome.kind !== 'answered' || response === null || !is2xx(response.status)) return null
  if (request.kind === 'rpc') {
    if (isReplayed(response)) return null
    const bill = expectedCredits(observation, contract)
    if (bill === null) return null
    const claimed = claimedCredits(response, contract)
    // If the contract leaves several prices open, the claimed one is as valid as the others.
    const credits = bill.accepted.find(total => total === claimed) ?? bill.total
    return priceOfCredits(credits, contract)
  }
  if (request.kind === 'probe') return expectedOfProbe(request, response, contract)
  if (request.kind !== 'chat' || maxLookups(request.options, contract) > 0) return null
  const counts = countsOf(observation)
  const usd = counts && listPrice(priceListOf(contract), request.model, counts)
  return usd === null ? null : { usd, credits: 0n, tolerance: completionTolerance(usd, contract), priced: 'completion' }
}

/** A probe that may be accepted is one call. Only its response shows its tier. */
function expectedOfProbe({ probe }: ProbeDescriptor, response: ObservedResponse, contract: Contract) {
  if (isReplayed(response) || probeOf(probe).credits === undefined) return null
  const credits = claimedCredits(response, contract)
  return credits === null ? null : priceOfCredits(credits, contract)
}

/** Current or earlier balances of an account, in pico-USD and pico-DIEM. */
export type Balances = { readonly usd: bigint; readonly diem: bigint }

/** The minimum and maximum decrease of a balance, in pico-USD. */
export type AmountRange = { readonly min: bigint; readonly max: bigint }

/** The claimed charge of one request in each currency. */
export type PaidByCurrency = { readonly usd: AmountRange; readonly diem: AmountRange }

/** Null if the response does not state the currency of its charge. Responses of the RPC proxy never do. */
export function paidByCurrency({ request, response }: Observation, charge: ChargeBounds | null): PaidByCurrency | null {
  if (charge === null || charge.kind !== 'charged' || request.kind === 'rpc' || response === null) return null
  const cost = responseCost(response)
  // Floating-point noise in the sum may come from either currency.
  const lastDigit = charge.max - charge.min
  return cost && { usd: rangeAround(cost.usd, lastDigit), diem: rangeAround(cost.diem, lastDigit) }
}

const rangeAround = (amount: bigint, lastDigit: bigint): AmountRange => ({
  min: amount > lastDigit ? amount - lastDigit : 0n,
  max: amount + lastDigit,
})

export const isWithin = (spent: bigint, { min, max }: AmountRange, resolution: bigint): boolean =>
  spent >= min - resolution && spent <= max + resolution

/** The distance from the range. Negative if too little was spent. */
export const excessOver = (spent: bigint, { min, max }: AmountRange): bigint =>
  spent > max ? spent - max : spent - min

export const formatRange = ({ min, max }: AmountRange): string =>
  min === max ? formatPico(max) : `${formatPico(min)} to ${formatPico(max)}`
