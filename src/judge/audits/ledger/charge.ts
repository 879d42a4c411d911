import { choicesOf, maxLookups } from '../../../contract/chat-options.ts'
import { type Contract, resourceOf } from '../../../contract/contract.ts'
import { probeOf } from '../../../contract/probes.ts'
import { toObject } from '../../../lib/json.ts'
import { memoizeLast } from '../../../lib/memoize-last.ts'
import { absDifference, formatPico, pico } from '../../../lib/money.ts'
import {
  failedBeforeSend,
  type Observation,
  type ObservedResponse,
  type ProbeDescriptor,
  streamOf,
} from '../../../observation/observation.ts'
import { isFromGateway, isReplayed, jsonObject } from '../../../observation/response.ts'
import { statedAmounts, tokenCounts } from '../../checks/completion.ts'
import { completionTolerance, listPrice, priceListOf, priceOfCredits, statedCost } from '../../checks/price-list.ts'
import { claimedCredits, expectedCredits } from '../../checks/rpc-credits.ts'
import type { ClauseReporter } from '../../findings/findings.ts'
import type { SumBounds } from '../overlap-bounds.ts'

/** The possible charges of one request. All amounts in pico-USD; a DIEM counts as a USD. */
export type ChargeBounds = {
  /**
   * refused: rejected by the RPC proxy, so free · unknown: no complete response, so it may have been charged
   */
  readonly kind: 'charged' | 'replay' | 'refused' | 'free' | 'unknown'
  /** The minimum and maximum charge. */
  readonly min: bigint
  readonly max: bigint
  /** The claimed charge. For a replay: the charge of the original, which must not be taken again. */
  readonly said: bigint
}

const free: ChargeBounds = { kind: 'free', min: 0n, max: 0n, said: 0n }
const refused: ChargeBounds = { ...free, kind: 'refused' }

/** The bounds of the charge; null if unknown, since a success does not state its cost. */
export const chargeOf = memoizeLast(readCharge)

function readCharge(observation: Observation, contract: Contract): ChargeBounds | null {
  const { request, response, outcome, retried } = observation
  if (request.kind === 'models' || request.kind === 'networks') return free
  if (request.kind === 'rate-limits' || request.kind === 'rate-limit-logs') return free
  if (request.kind === 'top-up' || request.kind === 'wallet-balance') return free
  // A probe without a limit has no account that could be charged.
  if (request.kind === 'probe' && probeOf(request.probe).draws === null) return free
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
  if (request.kind === 'resource') return outcome.status === 200 ? upToMax(observation, contract) : free
  if (outcome.status === 200) return null
  return isRefused ? refused : free
}

/** Whether the RPC proxy rejected a request as a whole. */
export const isProxyRejection = ({ request, outcome }: Observation): boolean =>
  outcome.kind === 'answered' &&
  outcome.status >= 400 &&
  outcome.status < 500 &&
  (request.kind === 'rpc' || (request.kind === 'probe' && probeOf(request.probe).draws === 'rpc'))

type ClaimedCharge = Pick<ChargeBounds, 'min' | 'max' | 'said'>

/** The claimed charge of a response with any status; null if it claims none. */
function claimOf({ request, response }: Observation, contract: Contract): ClaimedCharge | null {
  if (response === null) return null
  const inBody = request.kind === 'rpc' ? null : claimInBody(response)
  // A probe should be rejected. If it was not, it may have run as either kind.
  return inBody ?? (request.kind === 'chat' ? null : claimInHeader(response, contract))
}

export function claimInBody(response: ObservedResponse): ClaimedCharge | null {
  const cost = responseCost(response)
  return cost && claimAround(cost.usd + cost.diem, cost.isExact ? 0n : 1n)
}

/** The cost that a completion states in each of the two currencies. */
function responseCost({ body }: ObservedResponse) {
  const stated = body.kind === 'stream' ? body.stream.cost : body.kind === 'json' ? toObject(body.value)?.cost : null
  const cost = statedAmounts(stated)
  return cost === null || cost.usd > maxClaim || cost.diem > maxClaim ? null : cost
}

/** More than this is no cost of a request but a fault. */
const maxClaim = pico('1000000')

/**
 * An RPC cost is shown rounded. It is open whether the balance uses the shown or the exact amount, so both are
 * possible. If our price list does not give the shown amount, any exact amount that rounds to it is possible.
 */
export function claimInHeader(response: ObservedResponse, contract: Contract): ClaimedCharge | null {
  const { costHeader, costResolution } = priceListOf(contract)
  const said = statedCost(response.headers[costHeader] ?? '')
  const credits = claimedCredits(response, contract)
  if (said === null || said < 0n || said > maxClaim) return null
  if (credits === null) return claimAround(said, 0n)
  const exact = priceOfCredits(credits, contract).usd
  if (absDifference(exact, said) > costResolution) return claimAround(said, costResolution)
  return exact < said ? { min: exact, max: said, said } : { min: said, max: exact, said }
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
    const base = contract.rpc.networks[request.network]?.baseCredits
    if (base === undefined || base === null) return unpriced
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
  const lookups = maxLookups(request.options, contract)
  const { usdPerLookup } = contract.chat.search
  if (lookups > 0 && usdPerLookup === null) return unpriced
  const prompt = request.promptTokens * 2 + 4_000
  const completion = request.maxCompletionTokens * choicesOf(request.options) * 2
  const tokens = listPrice(priceListOf(contract), request.model, { prompt, completion, cached: 0, written: 0 })
  return tokens === null ? unpriced : tokens + BigInt(lookups * 2) * pico(usdPerLookup ?? '0')
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
  if (outcome.kind !== 'answered' || response?.status !== 200) return null
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
  const counts = tokenCounts(streamOf(observation)?.usage ?? jsonObject(response)?.usage)
  if (counts === null || counts.wrong !== null) return null
  const usd = listPrice(priceListOf(contract), request.model, counts)
  if (usd === null) return null
  return { usd, credits: 0n, tolerance: completionTolerance(usd, contract), priced: 'completion' }
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

const zeroRange: AmountRange = { min: 0n, max: 0n }

/** The total charges of a set of requests. All amounts in pico-USD; a DIEM counts as a USD. */
export type ChargeTotals = {
  readonly requests: number
  readonly min: bigint
  readonly max: bigint
  readonly charged: bigint
  readonly chargedRequests: number
  /** The cost of the replays among them, had they been charged. */
  readonly replayed: bigint
  readonly replays: number
  /** Requests that the RPC proxy rejected. */
  readonly refusals: number
  /** Successful requests that do not state their cost. */
  readonly unpriced: number
  /** The claimed payments by currency, and how much of `max` they are. The rest was paid in an unstated currency. */
  readonly usd: AmountRange
  readonly diem: AmountRange
  readonly stated: bigint
  /** The maximum that requests without a response may still charge, long after they were cancelled. */
  readonly late: bigint
  /** What payments of a wallet have added to its credit. */
  readonly credit: AmountRange
}

export const zeroTotals: ChargeTotals = {
  requests: 0,
  min: 0n,
  max: 0n,
  charged: 0n,
  chargedRequests: 0,
  replayed: 0n,
  replays: 0,
  refusals: 0,
  unpriced: 0,
  usd: zeroRange,
  diem: zeroRange,
  stated: 0n,
  late: 0n,
  credit: zeroRange,
}

/**
 * The charge of one request. `paid` is null if the response does not state the currency, and `credit` unless it paid for
 * credit.
 */
export type ChargedRequest = {
  readonly charge: ChargeBounds | null
  readonly paid: PaidByCurrency | null
  readonly credit: AmountRange | null
}

/** Most calls have the charge of the one before. It is stored once. */
export function createKeptCharge(): (request: ChargedRequest) => ChargedRequest {
  let last: ChargedRequest = { charge: null, paid: null, credit: null }
  return ({ charge, paid, credit }) => {
    const isPlain = paid === null && last.paid === null && credit === null && last.credit === null
    if (!isPlain || !isSameCharge(charge, last.charge)) last = { charge, paid, credit }
    return last
  }
}

const isSameCharge = (a: ChargeBounds | null, b: ChargeBounds | null): boolean =>
  a === b || (a !== null && b !== null && a.kind === b.kind && a.min === b.min && a.max === b.max && a.said === b.said)

export function addToTotals(sum: ChargeTotals, { charge, paid, credit }: ChargedRequest): ChargeTotals {
  if (charge === null) return { ...sum, requests: sum.requests + 1, unpriced: sum.unpriced + 1 }
  const { kind, said, min, max } = charge
  const isCharged = kind === 'charged'
  const isReplay = kind === 'replay'
  return {
    requests: sum.requests + 1,
    min: sum.min + min,
    max: sum.max + max,
    charged: isCharged ? sum.charged + said : sum.charged,
    chargedRequests: isCharged ? sum.chargedRequests + 1 : sum.chargedRequests,
    replayed: isReplay ? sum.replayed + said : sum.replayed,
    replays: isReplay ? sum.replays + 1 : sum.replays,
    refusals: kind === 'refused' ? sum.refusals + 1 : sum.refusals,
    unpriced: sum.unpriced,
    usd: paid === null ? sum.usd : addRanges(sum.usd, paid.usd),
    diem: paid === null ? sum.diem : addRanges(sum.diem, paid.diem),
    stated: paid === null ? sum.stated : sum.stated + max,
    late: kind === 'unknown' ? sum.late + max : sum.late,
    credit: credit === null ? sum.credit : addRanges(sum.credit, credit),
  }
}

/** The difference of two cumulative totals. The later one includes the earlier one. */
export function totalsBetween(earlier: ChargeTotals, later: ChargeTotals): ChargeTotals {
  return {
    requests: later.requests - earlier.requests,
    min: later.min - earlier.min,
    max: later.max - earlier.max,
    charged: later.charged - earlier.charged,
    chargedRequests: later.chargedRequests - earlier.chargedRequests,
    replayed: later.replayed - earlier.replayed,
    replays: later.replays - earlier.replays,
    refusals: later.refusals - earlier.refusals,
    unpriced: later.unpriced - earlier.unpriced,
    usd: rangeBetween(earlier.usd, later.usd),
    diem: rangeBetween(earlier.diem, later.diem),
    stated: later.stated - earlier.stated,
    late: later.late - earlier.late,
    credit: rangeBetween(earlier.credit, later.credit),
  }
}

const addRanges = (a: AmountRange, b: AmountRange): AmountRange => ({ min: a.min + b.min, max: a.max + b.max })

const rangeBetween = (earlier: AmountRange, later: AmountRange): AmountRange => ({
  min: later.min - earlier.min,
  max: later.max - earlier.max,
})

export const isWithin = (spent: bigint, { min, max }: AmountRange, resolution: bigint): boolean =>
  spent >= min - resolution && spent <= max + resolution

/** The distance from the range. Negative if too little was spent. */
export const excessOver = (spent: bigint, { min, max }: AmountRange): bigint =>
  spent > max ? spent - max : spent - min

export const formatRange = ({ min, max }: AmountRange): string =>
  min === max ? formatPico(max) : `${formatPico(min)} to ${formatPico(max)}`

/** One request, as the two balances of its account see it. */
export type CurrencyEntry = {
  readonly id: number
  /** The balances before the request, as its response states them; null if one is missing. */
  readonly balances: Balances | null
  /** The day on the target's clock; null if it is uncertain. */
  readonly day: number | null
}

/** A request that did not overlap others, so its displayed balances include all earlier requests. */
type CurrencyCheckpoint = { readonly balances: Balances; readonly taken: ChargeTotals; readonly day: number | null }

/**
 * Checks that each currency decreased by the claimed payments in it. Judged for requests that did not overlap others,
 * and only if the sum of both is correct: other findings report missing or doubly taken money.
 */
export function createCurrencies(
  lastDigit: () => bigint,
  reporter: ClauseReporter<'ledger'>,
): (entry: CurrencyEntry, view: SumBounds<ChargeTotals>) => void {
  let checkpoint: CurrencyCheckpoint | null = null

  return ({ id, balances, day }, { certain, before, possible }) => {
    const resolution = lastDigit()
    const isAlone = certain.requests === before.requests && possible.requests === before.requests + 1
    if (!isAlone || balances === null) return
    const earlier = checkpoint
    checkpoint = { balances, taken: before, day }
    // At midnight an account receives its daily credits.
    if (earlier === null || day === null || earlier.day !== day) return
    const taken = totalsBetween(earlier.taken, before)
    const { late } = earlier.taken
    const spent = { usd: earlier.balances.usd - balances.usd, diem: earlier.balances.diem - balances.diem }
    const both = { min: taken.min, max: taken.max + late }
    if (taken.unpriced > 0 || !isWithin(spent.usd + spent.diem, both, 2n * resolution)) return
    const inEither = taken.max - taken.stated + late
    const [usd, diem] = [widened(taken.usd, inEither), widened(taken.diem, inEither)]
    const isRight = isWithin(spent.usd, usd, resolution) && isWithin(spent.diem, diem, resolution)
    // RPC calls do not state their currency.
    if (isRight && usd.min + diem.min === 0n) return
    if (isRight) return reporter.pass('billing.currency')
    const left = `${formatPico(spent.usd)} USD and ${formatPico(spent.diem)} DIEM left the balances`
    const said = `${formatPico(usd.min)} USD and ${formatPico(diem.min)} DIEM were claimed`
    reporter.fail('billing.currency', `${left}, but ${said}`, [id])
  }
}

const widened = ({ min, max }: AmountRange, by: bigint): AmountRange => ({ min, max: max + by })
