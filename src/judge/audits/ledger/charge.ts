import { choicesOf, mostLookups } from '../../../contract/chat-options.ts'
import { type Contract, resourceOf } from '../../../contract/contract.ts'
import { probeOf } from '../../../contract/probes.ts'
import { toObject } from '../../../lib/json.ts'
import { memoizeLast } from '../../../lib/memoize-last.ts'
import { absDifference, formatPico, parsePico, pico } from '../../../lib/money.ts'
import {
  failedBeforeSend,
  type Observation,
  type ObservedResponse,
  type ProbeDescriptor,
  streamOf,
} from '../../../observation/observation.ts'
import { isFromGateway, isReplayed, jsonObject } from '../../../observation/response.ts'
import { claimedPicoUsd, tokenCounts } from '../../checks/completion.ts'
import type { Say } from '../../checks/findings.ts'
import { listPrice, priceListOf } from '../../checks/price-list.ts'
import { claimedCredits, expectedCredits } from '../../checks/rpc-credits.ts'
import type { SumBounds } from '../overlap-bounds.ts'

/** What one request took from a balance, as far as is known. All amounts in pico-USD; a DIEM counts as a USD. */
export type ChargeBounds = {
  /**
   * refused: by the RPC proxy, and so for free · unknown: no complete answer came, so that it may have been charged
   */
  readonly kind: 'charged' | 'replay' | 'refused' | 'free' | 'unknown'
  /** The least and the most that it took. */
  readonly min: bigint
  readonly max: bigint
  /** What the answer says, or what it would have said: of a replay, the charge that must not be taken again. */
  readonly said: bigint
}

const free: ChargeBounds = { kind: 'free', min: 0n, max: 0n, said: 0n }
const refused: ChargeBounds = { ...free, kind: 'refused' }

/** Null where it is unknown: a success that does not state its cost. */
export const chargeOf = memoizeLast(readCharge)

function readCharge(observation: Observation, contract: Contract): ChargeBounds | null {
  const { request, response, outcome } = observation
  if (request.kind === 'models' || request.kind === 'networks') return free
  if (request.kind === 'rate-limits' || request.kind === 'rate-limit-logs') return free
  // A probe that draws on no limit carries no identity, so no account can be charged for it.
  if (request.kind === 'probe' && probeOf(request.probe).draws === null) return free
  if (outcome.kind === 'dropped') return free
  if (outcome.kind === 'failed')
    return failedBeforeSend.includes(outcome.reason) ? free : upToMax(observation, contract)
  // When a gateway gave up, the service behind it may have done its work.
  if (response !== null && isFromGateway(response, contract)) return upToMax(observation, contract)

  const claim = claimOf(observation, contract)
  if (request.kind !== 'chat' && isReplayed(response))
    return { kind: 'replay', min: 0n, max: 0n, said: claim?.said ?? 0n }
  const isRefused = isProxyRejection(observation)
  if (claim !== null && !(isRefused && claim.said === 0n)) return { kind: 'charged', ...claim }
  // Nothing says what a resource cost, but its contract says at most how much.
  if (request.kind === 'resource') return outcome.status === 200 ? upToMax(observation, contract) : free
  if (outcome.status === 200) return null
  return isRefused ? refused : free
}

/** Whether the RPC proxy refused a request as a whole. */
export const isProxyRejection = ({ request, outcome }: Observation): boolean =>
  outcome.kind === 'answered' &&
  outcome.status >= 400 &&
  outcome.status < 500 &&
  (request.kind === 'rpc' || (request.kind === 'probe' && probeOf(request.probe).draws === 'rpc'))

type ClaimedCharge = Pick<ChargeBounds, 'min' | 'max' | 'said'>

/** What the answer says that it cost, whatever its status; null where it does not say. */
function claimOf({ request, response }: Observation, contract: Contract): ClaimedCharge | null {
  if (response === null) return null
  const inBody = request.kind === 'rpc' ? null : claimInBody(response)
  // A probe must be refused; one that was not may have run as either kind.
  return inBody ?? (request.kind === 'chat' ? null : claimInHeader(response, contract))
}

function claimInBody(response: ObservedResponse): ClaimedCharge | null {
  const cost = responseCost(response)
  return cost && claimAround(cost.usd + cost.diem, cost.isExact ? 0n : 1n)
}

/** The cost that a completion states, in each of the two currencies. */
function responseCost({ body }: ObservedResponse) {
  const stated = body.kind === 'stream' ? body.stream.cost : body.kind === 'json' ? toObject(body.value)?.cost : null
  const { usd, diem } = toObject(stated) ?? {}
  if (typeof usd !== 'number' || typeof diem !== 'number' || usd < 0 || diem < 0) return null
  // The last digits of a double may be noise.
  const isExact = parsePico(usd) !== null && parsePico(diem) !== null
  return { usd: claimedPicoUsd(usd), diem: claimedPicoUsd(diem), isExact }
}

/**
 * An RPC cost is shown rounded; whether the balance takes the shown amount or the exact one is open, so both are
 * possible. Where our price list does not give the shown amount, the exact one is only known to round to it.
 */
function claimInHeader(response: ObservedResponse, contract: Contract): ClaimedCharge | null {
  const { costHeader, costGrain, picoUsdPerCredit } = priceListOf(contract)
  const said = parsePico(response.headers[costHeader] ?? '')
  const credits = claimedCredits(response, contract)
  if (said === null || credits === null) return said === null ? null : claimAround(said, 0n)
  const exact = credits * picoUsdPerCredit
  if (absDifference(exact, said) > costGrain) return claimAround(said, costGrain)
  return exact < said ? { min: exact, max: said, said } : { min: said, max: exact, said }
}

const claimAround = (said: bigint, grain: bigint): ClaimedCharge => ({ ...rangeAround(said, grain), said })

function upToMax(observation: Observation, contract: Contract): ChargeBounds {
  const max = maxCharge(observation, contract)
  return max === 0n && observation.request.kind === 'resource' ? free : { kind: 'unknown', min: 0n, max, said: 0n }
}

const unpriced = pico('1')

/** Twice the list price of the longest completion, or of every item in the most expensive tier: a bound, not a forecast. */
function maxCharge({ request }: Observation, contract: Contract): bigint {
  if (request.kind === 'rpc') {
    const base = contract.rpc.networks[request.network]?.baseCredits
    if (base === undefined) return unpriced
    return (
      BigInt(request.items.length * base * contract.rpc.multipliers.large * 2) * priceListOf(contract).picoUsdPerCredit
    )
  }
  // What is refused is not charged, so that most probes cost nothing.
  if (request.kind === 'probe')
    return BigInt(2 * (probeOf(request.probe).credits?.(contract) ?? 0)) * priceListOf(contract).picoUsdPerCredit
  if (request.kind === 'resource') {
    const worst = resourceOf(contract, request.resource)?.worstUsd ?? null
    return worst === null ? unpriced : pico(worst)
  }
  if (request.kind !== 'chat') return 0n
  const lookups = mostLookups(request.options, contract)
  const { usdPerLookup } = contract.chat.search
  if (lookups > 0 && usdPerLookup === null) return unpriced
  const prompt = request.promptTokens * 2 + 4_000
  const completion = request.maxCompletionTokens * choicesOf(request.options) * 2
  const tokens = listPrice(priceListOf(contract), request.model, { prompt, completion, cached: 0, written: 0 })
  return tokens === null ? unpriced : tokens + BigInt(lookups * 2) * pico(usdPerLookup ?? '0')
}

/** What the request costs by our own price list; null where the price list does not say. */
export function expectedCharge(
  observation: Observation,
  contract: Contract,
): { readonly usd: bigint; readonly credits: bigint } | null {
  const { request, response, outcome } = observation
  if (outcome.kind !== 'answered' || response?.status !== 200) return null
  if (request.kind === 'rpc') {
    if (isReplayed(response)) return null
    const bill = expectedCredits(observation, contract)
    if (bill === null) return null
    const claimed = claimedCredits(response, contract)
    // Of the prices that the contract leaves open, the one that was taken is as right as any.
    const credits = bill.accepted.find(total => total === claimed) ?? bill.total
    return { usd: credits * priceListOf(contract).picoUsdPerCredit, credits }
  }
  if (request.kind === 'probe') return expectedOfProbe(request, response, contract)
  if (request.kind !== 'chat' || mostLookups(request.options, contract) > 0) return null
  const counts = tokenCounts(streamOf(observation)?.usage ?? jsonObject(response)?.usage)
  if (counts === null || counts.wrong !== null) return null
  const usd = listPrice(priceListOf(contract), request.model, counts)
  return usd === null ? null : { usd, credits: 0n }
}

/** A probe that may be answered is one call; which tier it is in, only its answer says. */
function expectedOfProbe({ probe }: ProbeDescriptor, response: ObservedResponse, contract: Contract) {
  if (isReplayed(response) || probeOf(probe).credits === undefined) return null
  const credits = claimedCredits(response, contract)
  return credits === null ? null : { usd: credits * priceListOf(contract).picoUsdPerCredit, credits }
}

/** What an account has, or had before a request, in pico-USD and pico-DIEM. */
export type Balances = { readonly usd: bigint; readonly diem: bigint }

/** How much must have left a balance, and how much can have, in pico-USD. */
export type AmountRange = { readonly min: bigint; readonly max: bigint }

/** What one request is said to have taken of each currency. */
export type PaidByCurrency = { readonly usd: AmountRange; readonly diem: AmountRange }

/** Null where the answer does not say in which currency its charge was paid, as no answer of the RPC proxy does. */
export function paidByCurrency({ request, response }: Observation, charge: ChargeBounds | null): PaidByCurrency | null {
  if (charge === null || charge.kind !== 'charged' || request.kind === 'rpc' || response === null) return null
  const cost = responseCost(response)
  // The noise of a double in the sum of both may be in either.
  const grain = charge.max - charge.min
  return cost && { usd: rangeAround(cost.usd, grain), diem: rangeAround(cost.diem, grain) }
}

const rangeAround = (amount: bigint, grain: bigint): AmountRange => ({
  min: amount > grain ? amount - grain : 0n,
  max: amount + grain,
})

const zeroRange: AmountRange = { min: 0n, max: 0n }

/** What a set of requests took from a balance, in sums. All amounts in pico-USD; a DIEM counts as a USD. */
export type ChargeTotals = {
  readonly requests: number
  readonly min: bigint
  readonly max: bigint
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
  readonly usd: AmountRange
  readonly diem: AmountRange
  readonly either: bigint
  /** What requests without an answer may still take, long after they were given up. */
  readonly late: bigint
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
  either: 0n,
  late: 0n,
}

/** What one request took; `paid` is null where the answer does not say in which currency. */
export type ChargedRequest = { readonly charge: ChargeBounds | null; readonly paid: PaidByCurrency | null }

export function addToTotals(sum: ChargeTotals, { charge, paid }: ChargedRequest): ChargeTotals {
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
    either: paid === null ? sum.either + max : sum.either,
    late: kind === 'unknown' ? sum.late + max : sum.late,
  }
}

/** What lies between two sums, the earlier of which is part of the later. */
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
    either: later.either - earlier.either,
    late: later.late - earlier.late,
  }
}

const addRanges = (a: AmountRange, b: AmountRange): AmountRange => ({ min: a.min + b.min, max: a.max + b.max })

const rangeBetween = (earlier: AmountRange, later: AmountRange): AmountRange => ({
  min: later.min - earlier.min,
  max: later.max - earlier.max,
})

export const isWithin = (spent: bigint, { min, max }: AmountRange, resolution: bigint): boolean =>
  spent >= min - resolution && spent <= max + resolution

/** By how much it is out of range; below zero when too little was spent. */
export const excessOver = (spent: bigint, { min, max }: AmountRange): bigint =>
  spent > max ? spent - max : spent - min

export const formatRange = ({ min, max }: AmountRange): string =>
  min === max ? formatPico(max) : `${formatPico(min)} to ${formatPico(max)}`

/** One request, as the two balances of its account see it. */
export type CurrencyEntry = {
  readonly id: number
  /** What the answer said the caller had before the request; null: not both of them. */
  readonly balances: Balances | null
  /** The day, by the clock of the target; null: the one or the other. */
  readonly day: number | null
}

/** A request that was alone, so that all that was sent before it is in the balances that it shows. */
type CurrencyCheckpoint = { readonly balances: Balances; readonly taken: ChargeTotals; readonly day: number | null }

/**
 * Whether each currency lost what answers say was paid in it. Judged where a request was alone, and only where the sum
 * of both is right: that money is missing, or left twice, is told elsewhere.
 */
export function createCurrencies(
  resolution: bigint,
  say: Say<'ledger'>,
): (entry: CurrencyEntry, view: SumBounds<ChargeTotals>) => void {
  let checkpoint: CurrencyCheckpoint | null = null

  return ({ id, balances, day }, { certain, before, possible }) => {
    const isAlone = certain.requests === before.requests && possible.requests === before.requests + 1
    if (!isAlone || balances === null) return
    const earlier = checkpoint
    checkpoint = { balances, taken: before, day }
    // At midnight an account is given the credits of the day.
    if (earlier === null || day === null || earlier.day !== day) return
    const taken = totalsBetween(earlier.taken, before)
    const { late } = earlier.taken
    const spent = { usd: earlier.balances.usd - balances.usd, diem: earlier.balances.diem - balances.diem }
    const both = { min: taken.min, max: taken.max + late }
    if (taken.unpriced > 0 || !isWithin(spent.usd + spent.diem, both, 2n * resolution)) return
    const inEither = taken.either + late
    const [usd, diem] = [widened(taken.usd, inEither), widened(taken.diem, inEither)]
    const isRight = isWithin(spent.usd, usd, resolution) && isWithin(spent.diem, diem, resolution)
    // Of a call of the RPC proxy nobody says in what it was paid.
    if (isRight && usd.min + diem.min === 0n) return
    if (isRight) return say.kept('billing.currency')
    const left = `${formatPico(spent.usd)} USD and ${formatPico(spent.diem)} DIEM left the balances`
    const said = `${formatPico(usd.min)} USD and ${formatPico(diem.min)} DIEM were said to be paid`
    say.broken('billing.currency', `${left}, but ${said}`, [id])
  }
}

const widened = ({ min, max }: AmountRange, by: bigint): AmountRange => ({ min, max: max + by })
