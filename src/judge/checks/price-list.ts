import { type Contract, type MethodTier, type Model, methodTier } from '../../contract/contract.ts'
import { moneyHeadersOf } from '../../contract/headers.ts'
import { isAssumed } from '../../contract/sources.ts'
import { memoizeByObject, memoizeLast } from '../../lib/memoize.ts'
import { nearestPico, pico } from '../../lib/money.ts'

/** The prices of the contract, as integers. */
type PriceList = {
  readonly picoUsdPerCredit: bigint
  /** The last digit of an RPC cost, in pico-USD. */
  readonly costResolution: bigint
  /** The smallest difference that a balance shows, in pico-USD. */
  readonly balanceResolution: bigint
  /** By model: pico-USD for a million tokens. A model without a known price is missing. */
  readonly tokenPrices: ReadonlyMap<string, TokenPrices>
  readonly models: ReadonlySet<string>
  /** The price of a search or a scraped page; null: not known. */
  readonly usdPerLookup: bigint | null
  /** What a completion costs beside its tokens; null: nothing. */
  readonly usdPerRequest: bigint | null
  /** The base credits of networks. */
  readonly bases: ReadonlyMap<string, number>
  /** Methods whose tier is not stated. */
  readonly assumedMethods: ReadonlySet<string>
  readonly creditsHeader: string
  readonly costHeader: string
  readonly usdHeader: string
  readonly diemHeader: string
}

type TokenPrices = {
  readonly input: bigint
  readonly output: bigint
  /** Prices of tokens read from a cache and of tokens written to one; null if unknown. */
  readonly cacheInput: bigint | null
  readonly cacheWrite: bigint | null
}

/** The base credits of a network, as far as the target or the profile states them; null if neither does. */
export function statedBase(contract: Contract, network: string): number | null {
  const { bases } = priceListOf(contract)
  return bases.get(network) ?? null
}

/** The tier of a method on a network, as far as the profile states it; null if it does not. */
export function statedTier(contract: Contract, network: string, method: string): MethodTier | null {
  const tier = methodTier(contract, network, method)
  return tier === null || priceListOf(contract).assumedMethods.has(method) ? null : tier
}

export const priceListOf = memoizeByObject(makePriceList)

/** The amount of a stated cost. Several judges read it, and the next response often states the same. */
export const statedCost = memoizeLast((text: string) => nearestPico(text))

function makePriceList(contract: Contract): PriceList {
  const { chat, rpc, billing, models } = contract
  const headers = moneyHeadersOf(contract)
  const bases = Object.entries(rpc.networks).flatMap(([slug, { baseCredits }]) =>
    baseCredits === null || isAssumed(contract, `rpc.networks.${slug}.baseCredits`)
      ? []
      : [[slug, baseCredits] as const],
  )
  const assumedMethods = Object.entries(rpc.methods).flatMap(([family, methods]) =>
    Object.keys(methods).filter(method => isAssumed(contract, `rpc.methods.${family}.${method}`)),
  )
  const tokenPrices = models.flatMap(({ id, usdPerMillion }) =>
    usdPerMillion === null ? [] : [[id, pricesOf(usdPerMillion)] as const],
  )
  return {
    picoUsdPerCredit: pico(rpc.usdPerCredit),
    costResolution: 10n ** BigInt(12 - rpc.costDecimals),
    balanceResolution: pico(billing.balanceResolutionUsd),
    tokenPrices: new Map(tokenPrices),
    models: new Set(models.map(({ id }) => id)),
    bases: new Map(bases),
    assumedMethods: new Set(assumedMethods),
    creditsHeader: headers.rpcCredits,
    costHeader: billing.costHeader?.toLowerCase() ?? headers.rpcCostUsd,
    usdPerLookup:
      chat.search.usdPerLookup === null || isAssumed(contract, 'chat.search.usdPerLookup')
        ? null
        : pico(chat.search.usdPerLookup),
    usdPerRequest: billing.usdPerRequest === null ? null : pico(billing.usdPerRequest),
    usdHeader: headers.usdBalance,
    diemHeader: headers.diemBalance,
  }
}

/** `amount` × a relative tolerance, such as 0.005. */
const toleranceOf = (amount: bigint, tolerance: number): bigint =>
  (amount * BigInt(Math.round(tolerance * 1e9))) / 1_000_000_000n

/** How far the cost of a completion may be from its list price: it may be rounded to the last digit of a balance. */
export const completionTolerance = (listPrice: bigint, contract: Contract): bigint =>
  toleranceOf(listPrice, contract.chat.costTolerance) + priceListOf(contract).balanceResolution

/** The price of RPC credits, and how far a stated cost may be from it. The next response often claims the same. */
export const priceOfCredits = memoizeLast((credits: bigint, contract: Contract) => {
  const { picoUsdPerCredit, costResolution } = priceListOf(contract)
  const usd = credits * picoUsdPerCredit
  return {
    usd,
    credits,
    tolerance: toleranceOf(usd, contract.rpc.priceTolerance) + costResolution,
    priced: 'rpc',
  } as const
})

const pricesOf = ({ input, output, cacheInput, cacheWrite }: NonNullable<Model['usdPerMillion']>): TokenPrices => ({
  input: pico(input),
  output: pico(output),
  cacheInput: cacheInput === null ? null : pico(cacheInput),
  cacheWrite: cacheWrite === null ? null : pico(cacheWrite),
})

export type TokenQuantities = {
  readonly prompt: number
  readonly completion: number
  /** Prompt tokens read from a cache, and prompt tokens written to one. */
  readonly cached: number
  readonly written: number
}

/** The list price of a completion in pico-USD; null if a price is unknown. */
export function listPrice(priceList: PriceList, model: string, tokens: TokenQuantities): bigint | null {
  const ofTokens = priceOfTokens(priceList, model, tokens)
  const { usdPerRequest } = priceList
  // A request may have the only price.
  if (ofTokens === null) return priceList.tokenPrices.has(model) ? null : usdPerRequest
  return ofTokens + (usdPerRequest ?? 0n)
}

function priceOfTokens(priceList: PriceList, model: string, tokens: TokenQuantities): bigint | null {
  const price = priceList.tokenPrices.get(model)
  if (price === undefined) return null
  const { prompt, completion, cached, written } = tokens
  const plain = BigInt(prompt - cached - written) * price.input + BigInt(completion) * price.output
  if (cached === 0 && written === 0) return plain / 1_000_000n
  if ((cached > 0 && price.cacheInput === null) || (written > 0 && price.cacheWrite === null)) return null
  const cacheCost = BigInt(cached) * (price.cacheInput ?? 0n) + BigInt(written) * (price.cacheWrite ?? 0n)
  return (plain + cacheCost) / 1_000_000n
}
