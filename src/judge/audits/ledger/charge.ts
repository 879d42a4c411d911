import type { Contract } from '../../../contract/contract.ts'
import { toObject } from '../../../lib/json.ts'
import { memoizeLast } from '../../../lib/memoize.ts'
import { absDifference, formatPico, pico } from '../../../lib/money.ts'
import { failedBeforeSend, type Observation, type ObservedResponse } from '../../../observation/observation.ts'
import { type RequestDescriptor, requestTraits } from '../../../observation/requests/request.ts'
import { is2xx, isFromGateway, isReplayed } from '../../../observation/response.ts'
import { statedAmounts } from '../../checks/completion.ts'
import { priceListOf, priceOfCredits, statedCost } from '../../checks/price-list.ts'
import { claimedCredits } from '../../checks/rpc-credits.ts'
import { type AmountRange, expectedCharge, rangeAround, requestPrice } from './prices.ts'

/** The possible charges of one request. All amounts in pico-USD; a DIEM counts as a USD. */
export type ChargeBounds = {
  /**
   * listed: a success that states no cost, so it costs its list price · refused: rejected by the RPC proxy, so free ·
   * unknown: no complete response, so it may have been charged · left: the client left a completion, whose charge the
   * profile decides
   */
  readonly kind: 'charged' | 'listed' | 'replay' | 'refused' | 'free' | 'unknown' | 'left'
  /** The minimum and maximum charge. */
  readonly min: bigint
  readonly max: bigint
  /** The claimed charge, or the list price. For a replay: the charge of the original, which must not be taken again. */
  readonly said: bigint
  /** What a service that charges too much for a hang-up may take for it. */
  readonly most?: bigint
}

const free: ChargeBounds = { kind: 'free', min: 0n, max: 0n, said: 0n }
const refused: ChargeBounds = { ...free, kind: 'refused' }

/** Whether a request never costs anything. */
export const isFree = (request: RequestDescriptor): boolean => requestTraits(request).pricing(request) === 'nothing'

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
  const status = outcome.kind === 'answered' ? outcome.status : (response?.status ?? null)
  // The audit of hang-ups knows more.
  if (outcome.kind === 'left' && (status === null || is2xx(status))) return upToMax(observation, contract)

  const claim = claimOf(observation, contract)
  const { pricing: by, replay } = requestTraits(request)
  const pricing = by(request)
  if ((pricing !== 'tokens' || replay(request) !== null) && isReplayed(observation, contract))
    // The first attempt of a retried request may have been charged, and this is its replay.
    return { kind: 'replay', min: 0n, max: retried ? (claim?.max ?? 0n) : 0n, said: claim?.said ?? 0n }
  const isRefused = isProxyRejection(observation, contract)
  if (claim !== null && !(isRefused && claim.said === 0n)) {
    const { min, max, said } = claim
    return { kind: 'charged', min, max, said }
  }
  // Resources do not state their cost, but the contract has their maximum.
  if (pricing === 'maximum') return is2xx(status) ? upToMax(observation, contract) : free
  if (is2xx(status)) return statesCost(observation, contract) ? null : listedCharge(observation, contract)
  return isRefused ? refused : free
}

/** Whether a response states a cost, even one that cannot be read as an amount. */
const statesCost = ({ response }: Observation, contract: Contract): boolean =>
  response !== null &&
  ((costIn(response) ?? null) !== null || response.headers[priceListOf(contract).costHeader] !== undefined)

function listedCharge(observation: Observation, contract: Contract): ChargeBounds | null {
  const exact = expectedCharge(observation, contract)
  if (exact !== null) return { kind: 'listed', ...rangeAround(exact.usd, exact.tolerance), said: exact.usd }
  const range = requestPrice(observation.request).range?.(observation, contract) ?? null
  return range && { kind: 'listed', ...range }
}

/** Whether a response was charged an amount that is known. */
export const isCharge = (charge: ChargeBounds | null): charge is ChargeBounds =>
  charge?.kind === 'charged' || charge?.kind === 'listed'

/** Whether the RPC proxy rejected a request as a whole. */
export const isProxyRejection = ({ request, outcome }: Observation, contract: Contract): boolean =>
  outcome.kind === 'answered' &&
  outcome.status >= 400 &&
  outcome.status < 500 &&
  requestTraits(request).service(request, contract) === 'rpc'

type ClaimedCharge = Pick<ChargeBounds, 'min' | 'max' | 'said'>

/** The claimed charge of a response with any status; null if it claims none. */
function claimOf(observation: Observation, contract: Contract): ClaimedCharge | null {
  const { request, response } = observation
  if (response === null) return null
  const { statedIn: usual } = requestPrice(request)
  const statedIn = usual === 'body' && contract.billing.costHeader !== null ? 'either' : usual
  const inBody = statedIn === 'header' ? null : claimInBody(response)
  if (inBody !== null) return unrounded(inBody, observation, contract)
  return statedIn === 'body' ? null : claimInHeader(response, contract)
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

/**
 * How much more than its charge a service may hold of the balance while a request runs, since it does not know the cost
 * yet. Whether a balance in a response includes what is held is open.
 */
export function heldBeyond(request: RequestDescriptor, charge: ChargeBounds | null, contract: Contract): bigint {
  if (charge === null || charge.kind === 'replay') return 0n
  const price = requestPrice(request)
  const held = price.held?.(request, contract) ?? (price.max(request, contract) ?? 0n) / 2n
  return held > charge.max ? held - charge.max : 0n
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

/** A larger cost of one request is a fault. */
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

function upToMax({ request }: Observation, contract: Contract): ChargeBounds {
  const max = requestPrice(request).max(request, contract)
  return max === null ? free : { kind: 'unknown', min: 0n, max, said: 0n }
}

/** Current or earlier balances of an account, in pico-USD and pico-DIEM. */
export type Balances = { readonly usd: bigint; readonly diem: bigint }

/** The claimed charge of one request in each currency. */
export type PaidByCurrency = { readonly usd: AmountRange; readonly diem: AmountRange }

/** Null if the response does not state the currency of its charge. Responses of the RPC proxy never do. */
export function paidByCurrency({ request, response }: Observation, charge: ChargeBounds | null): PaidByCurrency | null {
  if (charge?.kind !== 'charged' || response === null || requestPrice(request).statedIn === 'header') return null
  const cost = responseCost(response)
  // Floating-point noise in the sum may come from either currency.
  const lastDigit = charge.max - charge.min
  return cost && { usd: rangeAround(cost.usd, lastDigit), diem: rangeAround(cost.diem, lastDigit) }
}

export const isWithin = (spent: bigint, { min, max }: AmountRange, resolution: bigint): boolean =>
  spent >= min - resolution && spent <= max + resolution

/** The distance from the range. Negative if too little was spent. */
export const excessOver = (spent: bigint, { min, max }: AmountRange): bigint =>
  spent > max ? spent - max : spent - min

export const describeSpent = (spent: bigint, range: AmountRange, requests: number): string =>
  `${formatPico(spent)} USD left the balance over ${requests} requests that cost ${formatRange(range)}`

export const formatRange = ({ min, max }: AmountRange): string =>
  min === max ? formatPico(max) : `${formatPico(min)} to ${formatPico(max)}`
