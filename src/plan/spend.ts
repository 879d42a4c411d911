import { choicesOf, mostLookups } from '../contract/chat-options.ts'
import { type Contract, type Model, methodTier, resourceOf } from '../contract/contract.ts'
import { probeOf } from '../contract/probes.ts'
import { formatPico, pico } from '../lib/money.ts'
import { countedPromptTokens } from '../scenario/tier-rate.ts'
import type { CallPlan, RpcPlan } from './plan.ts'

/**
 * Expected credits of one arrival. Replays and conflicts cost nothing; a foreign request is a call of its own, and so is
 * one that comes again when its key has expired.
 */
export function creditsPerArrival(call: CallPlan, contract: Contract): number {
  if (call.kind === 'rpc') return creditsOf(call, contract)
  if (call.kind === 'probe') return probeOf(call.probe).credits?.(contract) ?? 0
  if (call.kind !== 'replay') return 0
  const isLate = call.againAfterMs !== null && call.againAfterMs >= contract.idempotency.ttlMs
  return creditsOf(call.of, contract) * (1 + call.foreign + (isLate ? 1 : 0))
}

function creditsOf({ network, methods, batchSize, failing }: RpcPlan, contract: Contract): number {
  const { networks, multipliers, errorItemCredits, singleErrorIsDiscounted } = contract.rpc
  const base = networks[network]?.baseCredits ?? 0
  const total = methods.reduce((sum, [, weight]) => sum + weight, 0)
  const mean = methods.reduce((sum, [method, weight]) => {
    const tier = methodTier(contract, network, method)
    return sum + (tier === null ? 0 : base * multipliers[tier] * weight) / total
  }, 0)
  if (batchSize !== null) return (batchSize - failing) * mean + failing * errorItemCredits
  // Where it is open what a single failing call costs, the forecast takes the higher price.
  return (1 - failing) * mean + failing * (singleErrorIsDiscounted === true ? errorItemCredits : mean)
}

/**
 * The most that one arrival can cost, in pico-USD: the longest completion, and every item by its dearest method. Null
 * when a price is not known.
 */
export function worstPicoUsd(call: CallPlan, contract: Contract): bigint | null {
  if (call.kind === 'chat') {
    const price = contract.models.find(({ id }) => id === call.model)?.usdPerMillion ?? null
    if (price === null) return null
    const prompt = costOf(countedPromptTokens(call.promptTokens), dearestPrompt(price), 1_000_000n)
    const completion = costOf(call.maxCompletionTokens * choicesOf(call.options), pico(price.output), 1_000_000n)
    const lookups = lookupsPicoUsd(call, 1, contract)
    return lookups === null ? null : prompt + completion + lookups
  }
  if (call.kind === 'resource') return resourcePicoUsd(call.resource, contract)
  const { networks, multipliers, usdPerCredit } = contract.rpc
  if (call.kind === 'probe') return costOf(creditsPerArrival(call, contract), pico(usdPerCredit), 1n)
  const { rpc, times } =
    call.kind === 'replay'
      ? { rpc: call.of, times: 1 + (call.foreign > 0 ? 1 : 0) + (call.againAfterMs === null ? 0 : 1) }
      : { rpc: call, times: 1 }
  if (rpc.kind !== 'rpc') return 0n
  const dearest = Math.max(
    ...rpc.methods.map(([method]) => multipliers[methodTier(contract, rpc.network, method) ?? 'large']),
  )
  const credits = (networks[rpc.network]?.baseCredits ?? 0) * dearest * (rpc.batchSize ?? 1)
  return costOf(credits * times, pico(usdPerCredit), 1n)
}

/** What is written to a cache may cost more than what is not. */
function dearestPrompt({ input, cacheWrite }: NonNullable<Model['usdPerMillion']>): bigint {
  const [plain, written] = [pico(input), pico(cacheWrite ?? '0')]
  return written > plain ? written : plain
}

function resourcePicoUsd(name: string, contract: Contract): bigint | null {
  const worst = resourceOf(contract, name)?.worstUsd ?? null
  return worst === null ? null : pico(worst)
}

/** What is searched and scraped at most; null when its price is not known. */
function lookupsPicoUsd(
  call: Extract<CallPlan, { kind: 'chat' }>,
  arrivals: number,
  contract: Contract,
): bigint | null {
  const lookups = arrivals * mostLookups(call.options, contract)
  const { usdPerLookup } = contract.chat.search
  if (lookups === 0) return 0n
  return usdPerLookup === null ? null : costOf(lookups, pico(usdPerLookup), 1n)
}

/** So many arrivals of each call. */
export type Sent = readonly { readonly call: CallPlan; readonly arrivals: number }[]

/** Dollars when every completion is as long as it may be, rounded up; null when a price is not known. */
export function worstUsd(sent: Sent, contract: Contract): string | null {
  let picoUsd = 0n
  for (const { call, arrivals } of sent) {
    if (call.kind === 'chat') {
      const price = contract.models.find(({ id }) => id === call.model)?.usdPerMillion ?? null
      const lookups = lookupsPicoUsd(call, arrivals, contract)
      if (price === null || lookups === null) return null
      picoUsd += lookups
      picoUsd += costOf(arrivals * countedPromptTokens(call.promptTokens), pico(price.input), 1_000_000n)
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

/** Units are expectations and may be fractions, prices may not. */
function costOf(units: number, picoUsdPrice: bigint, per: bigint): bigint {
  return (wholeUp(units) * picoUsdPrice + per - 1n) / per
}

/** Rounded up, but not over the last digits of a sum of fractions: 210.00000000000003 is 210. */
const wholeUp = (units: number): bigint => BigInt(Math.ceil(Number(units.toPrecision(12))))
