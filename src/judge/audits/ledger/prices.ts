import { choicesOf, maxLookups } from '../../../contract/chat-options.ts'
import { type Contract, resourceOf } from '../../../contract/contract.ts'
import { probeOf } from '../../../contract/probes.ts'
import { pico } from '../../../lib/money.ts'
import {
  type Observation,
  type ObservationOf,
  type ObservedResponse,
  streamOf,
} from '../../../observation/observation.ts'
import { type ChatDescriptor, maxPromptTokens } from '../../../observation/requests/chat.ts'
import type { ProbeDescriptor } from '../../../observation/requests/probe.ts'
import { type RequestDescriptor, requestTraits } from '../../../observation/requests/request.ts'
import type { ResourceDescriptor } from '../../../observation/requests/resource.ts'
import type { RpcDescriptor } from '../../../observation/requests/rpc.ts'
import type { Pricing } from '../../../observation/requests/traits.ts'
import { is2xx, isReplayed, jsonObject } from '../../../observation/response.ts'
import { type TokenCounts, tokenCounts } from '../../checks/completion.ts'
import {
  completionTolerance,
  listPrice,
  priceListOf,
  priceOfCredits,
  statedBase,
  type TokenQuantities,
} from '../../checks/price-list.ts'
import { claimedCredits, creditsInFull, expectedCredits } from '../../checks/rpc-credits.ts'

/** The minimum and maximum decrease of a balance, in pico-USD. */
export type AmountRange = { readonly min: bigint; readonly max: bigint }

export const rangeAround = (amount: bigint, lastDigit: bigint): AmountRange => ({
  min: amount > lastDigit ? amount - lastDigit : 0n,
  max: amount + lastDigit,
})

/** What a success costs by our own price list. */
export type ExpectedCharge = {
  readonly usd: bigint
  readonly credits: bigint
  /** How far the claimed cost may be from `usd`. */
  readonly tolerance: bigint
  readonly priced: 'completion' | 'rpc'
}

/** What requests of one pricing cost. All amounts in pico-USD. */
type Price<Request extends RequestDescriptor> = {
  /** Where a response states its cost. */
  readonly statedIn: 'body' | 'header' | 'either'
  /** Twice the price of the largest response: a bound, not a forecast. null: it never costs anything. */
  readonly max: (request: Request, contract: Contract) => bigint | null
  /** null: the price list does not cover it. */
  readonly expected: (
    observation: ObservationOf<Request>,
    response: ObservedResponse,
    contract: Contract,
  ) => ExpectedCharge | null
  /** The bounds, and the amount without lookups, if the price list has only some of its prices. */
  readonly range?: (
    observation: ObservationOf<Request>,
    contract: Contract,
  ) => (AmountRange & { readonly said: bigint }) | null
  /** What a service holds of the balance while it does not know the cost; null, or left out: half of `max`. */
  readonly held?: (request: Request, contract: Contract) => bigint | null
}

type PricedRequest = {
  readonly tokens: ChatDescriptor
  readonly credits: RpcDescriptor
  readonly maximum: ResourceDescriptor
  readonly probe: ProbeDescriptor
  readonly nothing: RequestDescriptor
}

const unpriced = pico('1')

const prices: { readonly [By in Pricing]: Price<PricedRequest[By]> } = {
  tokens: {
    statedIn: 'body',
    max: (request, contract) => {
      const lookups = priceOfLookups(request, contract)
      const prompt = maxPromptTokens(request)
      const completion = request.maxCompletionTokens * choicesOf(request.options) * 2
      const tokens = listPrice(priceListOf(contract), request.model, { prompt, completion, cached: 0, written: 0 })
      return tokens === null || lookups === null ? unpriced : tokens + 2n * lookups
    },
    expected: (observation, _, contract) => {
      const { request } = observation
      if (maxLookups(request.options, contract) > 0) return null
      if (request.replay !== undefined && isReplayed(observation, contract)) return null
      const counts = countsOf(observation)
      const usd = counts && listPrice(priceListOf(contract), request.model, counts)
      if (usd === null) return null
      return { usd, credits: 0n, tolerance: completionTolerance(usd, contract), priced: 'completion' }
    },
    range: (observation, contract) => {
      const tokens = rangeOfTokens(observation, contract)
      const lookups = maxPriceOfLookups(observation.request, contract)
      if (tokens === null || lookups === null) return null
      const { min } = rangeAround(tokens.min, completionTolerance(tokens.min, contract))
      const { max } = rangeAround(tokens.max + lookups, completionTolerance(tokens.max, contract))
      return { min, max, said: tokens.max }
    },
  },
  credits: {
    statedIn: 'header',
    max: ({ network, items }, contract) => {
      const base = statedBase(contract, network)
      if (base === null) return unpriced
      return BigInt(items.length * base * contract.rpc.multipliers.large * 2) * priceListOf(contract).picoUsdPerCredit
    },
    expected: (observation, response, contract) => {
      if (isReplayed(observation, contract)) return null
      const bill = expectedCredits(observation, contract)
      if (bill === null) return null
      const claimed = claimedCredits(response, contract)
      // If the contract leaves several prices open, the claimed one is as valid as the others.
      const credits = bill.accepted.find(total => total === claimed) ?? bill.total
      return priceOfCredits(credits, contract)
    },
    held: (request, contract) => {
      const credits = creditsInFull(request, contract)
      return credits === null ? null : priceOfCredits(BigInt(credits), contract).usd
    },
  },
  maximum: {
    statedIn: 'either',
    max: ({ resource }, contract) => {
      const worst = resourceOf(contract, resource)?.worstUsd ?? null
      const max = worst === null ? unpriced : pico(worst)
      return max === 0n ? null : max
    },
    expected: () => null,
  },
  probe: {
    // A probe should be rejected. If it was not, it may have run as either kind.
    statedIn: 'either',
    // Rejected requests are not charged, so most probes cost nothing.
    max: ({ probe }, contract) =>
      BigInt(2 * (probeOf(probe).credits?.(contract) ?? 0)) * priceListOf(contract).picoUsdPerCredit,
    // A probe that may be accepted is one call. Only its response shows its tier.
    expected: (observation, response, contract) => {
      const { request } = observation
      if (isReplayed(observation, contract) || probeOf(request.probe).credits === undefined) return null
      const credits = claimedCredits(response, contract)
      return credits === null ? null : priceOfCredits(credits, contract)
    },
  },
  nothing: { statedIn: 'body', max: () => null, expected: () => null },
}

export const requestPrice = (request: RequestDescriptor): Price<RequestDescriptor> =>
  prices[requestTraits(request).pricing(request)] as Price<RequestDescriptor>

/** The cost of a success by our own price list; null if the price list does not cover the request. */
export function expectedCharge(observation: Observation, contract: Contract): ExpectedCharge | null {
  const { request, response, outcome } = observation
  if (outcome.kind !== 'answered' || response === null || !is2xx(response.status)) return null
  return requestPrice(request).expected(observation, response, contract)
}

/**
 * What the tokens of a completion may cost. Without a price of their own, tokens from a cache cost at most as much as
 * others, and tokens written to it cost at most twice as much, as in the public price lists.
 */
function rangeOfTokens(observation: ObservationOf<ChatDescriptor>, contract: Contract): AmountRange | null {
  const counts = countsOf(observation)
  if (counts === null) return null
  const { prompt, cached, written } = counts
  const usdOf = (tokens: TokenQuantities) => listPrice(priceListOf(contract), observation.request.model, tokens)
  const exact = usdOf(counts)
  const min = exact ?? usdOf({ ...counts, prompt: prompt - cached - written, cached: 0, written: 0 })
  const max = exact ?? usdOf({ ...counts, prompt: prompt + written, cached: 0, written: 0 })
  return min === null || max === null ? null : { min, max }
}

/** The tokens of a completion; null: it does not state them, or not consistently. */
export function countsOf(observation: Observation): TokenCounts | null {
  const { response } = observation
  const counts = response && tokenCounts(streamOf(observation)?.usage ?? jsonObject(response)?.usage)
  return counts?.wrong === null ? counts : null
}

/** Their maximum; null: the contract has no price. One that is only assumed of the target bounds nothing. */
function maxPriceOfLookups(request: ChatDescriptor, contract: Contract): bigint | null {
  const isAssumed = contract.chat.search.usdPerLookup !== null && priceListOf(contract).usdPerLookup === null
  return isAssumed ? BigInt(maxLookups(request.options, contract)) * unpriced : priceOfLookups(request, contract)
}

/** The price of all lookups that a completion may have made; null: it is not known. */
function priceOfLookups({ options }: ChatDescriptor, contract: Contract): bigint | null {
  const lookups = maxLookups(options, contract)
  const { usdPerLookup } = priceListOf(contract)
  if (lookups === 0) return 0n
  return usdPerLookup === null ? null : BigInt(lookups) * usdPerLookup
}
