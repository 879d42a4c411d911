import { choicesOf, maxLookups } from '../contract/chat-options.ts'
import { type Contract, type Model, methodTier, resourceOf } from '../contract/contract.ts'
import { probeOf } from '../contract/probes.ts'
import { promisesAny } from '../contract/promises.ts'
import { formatPico, pico } from '../lib/money.ts'
import { estimatedPromptTokens } from '../scenario/tier-rate.ts'
import { type Call, meanOf, type RpcCall } from './plan.ts'

/**
 * Expected credits of one arrival. Replays and conflicts cost nothing. A request of another caller costs as much as the
 * original, and so does a repetition after its key has expired.
 */
export function creditsPerArrival(call: Call, contract: Contract): number {
  if (call.kind === 'rpc') return creditsOf(call, contract)
  if (call.kind === 'probe') return probeOf(call.probe).credits?.(contract) ?? 0
  if (call.kind !== 'replay') return 0
  const isLate = call.repeatAfterMs !== null && call.repeatAfterMs >= contract.idempotency.ttlMs
  return creditsOf(call.of, contract) * (1 + call.otherCallerRatio + (isLate ? 1 : 0))
}

function creditsOf({ network, methods, batchSize, failing }: RpcCall, contract: Contract): number {
  const { networks, multipliers, errorItemCredits, singleErrorIsDiscounted } = contract.rpc
  const base = networks[network]?.baseCredits ?? 0
  const mean = meanOf(methods, method => {
    const tier = methodTier(contract, network, method)
    return tier === null ? 0 : base * multipliers[tier]
  })
  if (batchSize !== null) return (batchSize - failing) * mean + failing * errorItemCredits
  // If the price of a failing single call is not documented, the forecast assumes the higher one.
  return (1 - failing) * mean + failing * (singleErrorIsDiscounted === true ? errorItemCredits : mean)
}

/**
 * The maximum cost of one arrival in pico-USD: the longest completion, and the most expensive method for every item. Null
 * if a price is unknown.
 */
export function maxPicoUsd(call: Call, contract: Contract): bigint | null {
  if (isPriceless(call, contract)) return null
  if (call.kind === 'chat') {
    const price = contract.models.find(({ id }) => id === call.model)?.usdPerMillion ?? null
    if (price === null) return null
    const prompt = costOf(estimatedPromptTokens(call.promptTokens), maxPromptPrice(price), 1_000_000n)
    const completion = costOf(call.maxCompletionTokens * choicesOf(call.options), pico(price.output), 1_000_000n)
    const lookups = lookupsPicoUsd(call, 1, contract)
    return lookups === null ? null : prompt + completion + lookups
  }
  if (call.kind === 'resource') return resourcePicoUsd(call.resource, contract)
  const { networks, multipliers, usdPerCredit } = contract.rpc
  if (call.kind === 'probe') return costOf(creditsPerArrival(call, contract), pico(usdPerCredit), 1n)
  const { rpc, times } =
    call.kind === 'replay'
      ? { rpc: call.of, times: 1 + (call.otherCallerRatio > 0 ? 1 : 0) + (call.repeatAfterMs === null ? 0 : 1) }
      : { rpc: call, times: 1 }
  if (rpc.kind !== 'rpc') return 0n
  const maxMultiplier = Math.max(
    ...rpc.methods.map(([method]) => multipliers[methodTier(contract, rpc.network, method) ?? 'large']),
  )
  const credits = (networks[rpc.network]?.baseCredits ?? 0) * maxMultiplier * (rpc.batchSize ?? 1)
  return costOf(credits * times, pico(usdPerCredit), 1n)
}

/** Whether the target promises no price for such a call, so that no amount is known. */
function isPriceless({ kind }: Call, contract: Contract): boolean {
  if (kind === 'chat') return !promisesAny(contract, ['chat.cost*', 'billing.*'])
  if (kind === 'rpc' || kind === 'replay') return !promisesAny(contract, ['rpc.credits.*', 'rpc.cost.*', 'billing.*'])
  return false
}

/** Tokens written to a cache may cost more than others. */
function maxPromptPrice({ input, cacheWrite }: NonNullable<Model['usdPerMillion']>): bigint {
  const [plain, written] = [pico(input), pico(cacheWrite ?? '0')]
  return written > plain ? written : plain
}

function resourcePicoUsd(name: string, contract: Contract): bigint | null {
  const usd = resourceOf(contract, name)?.worstUsd ?? null
  return usd === null ? null : pico(usd)
}

/** The maximum cost of searching and scraping; null if its price is unknown. */
function lookupsPicoUsd(call: Extract<Call, { kind: 'chat' }>, arrivals: number, contract: Contract): bigint | null {
  const lookups = arrivals * maxLookups(call.options, contract)
  const { usdPerLookup } = contract.chat.search
  if (lookups === 0) return 0n
  return usdPerLookup === null ? null : costOf(lookups, pico(usdPerLookup), 1n)
}

/** Arrivals of each call; expectations, so they may be fractions. */
type CallCounts = readonly { readonly call: Call; readonly arrivals: number }[]

/** Dollars if every completion has its maximum length, rounded up; null if a price is unknown. */
export function maxUsd(counts: CallCounts, contract: Contract): string | null {
  let picoUsd = 0n
  for (const { call, arrivals } of counts) {
    if (isPriceless(call, contract)) return null
    if (call.kind === 'chat') {
      const price = contract.models.find(({ id }) => id === call.model)?.usdPerMillion ?? null
      const lookups = lookupsPicoUsd(call, arrivals, contract)
      if (price === null || lookups === null) return null
      picoUsd += lookups
      picoUsd += costOf(arrivals * estimatedPromptTokens(call.promptTokens), pico(price.input), 1_000_000n)
      picoUsd += costOf(arrivals * call.maxCompletionTokens * choicesOf(call.options), pico(price.output), 1_000_000n)
    } else if (call.kind === 'resource') {
      const price = resourcePicoUsd(call.resource, contract)
      if (price === null) return null
      picoUsd += costOf(arrivals, price, 1n)
    } else {
      picoUsd += costOf(arrivals * creditsPerArrival(call, contract), pico(contract.rpc.usdPerCredit), 1n)
    }
  }
  return formatPico(picoUsd)
}

/** `units` may be a fraction; the price is per `per` units. Rounded up. */
function costOf(units: number, picoUsdPrice: bigint, per: bigint): bigint {
  return (roundUp(units) * picoUsdPrice + per - 1n) / per
}

/** Rounds up, but ignores floating-point error: 210.00000000000003 is 210. */
const roundUp = (units: number): bigint => BigInt(Math.ceil(Number(units.toPrecision(12))))
