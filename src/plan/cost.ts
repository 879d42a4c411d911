import type { Contract } from '../contract/contract.ts'
import { documentedContract } from '../contract/documented.ts'
import { formatPico } from '../lib/money.ts'
import { type Call, type Plan, traitsOf } from './plan.ts'

/** Arrivals of each call; expectations, so they may be fractions. */
type CallCounts = readonly { readonly call: Call; readonly arrivals: number }[]

/** Dollars if every completion has its maximum length, rounded up; null if a price is unknown. */
export function maxUsd(counts: CallCounts, contract: Contract): string | null {
  let picoUsd = 0n
  for (const { call, arrivals } of counts) {
    const cost = traitsOf(call).cost.arrivals(arrivals, contract)
    if (cost === null) return null
    picoUsd += cost
  }
  return formatPico(picoUsd)
}

/** The names of the calls whose price is unknown. */
export const unpricedIn = (calls: Plan['calls'], contract: Contract): readonly string[] =>
  Object.entries(calls).flatMap(([name, call]) => (maxUsd([{ call, arrivals: 1 }], contract) === null ? [name] : []))

/**
 * What to reserve for an arrival and for each of its requests, in pico-USD: the maximum, even for requests that should be
 * free, since a broken service may charge each of them. A request that costs more raises the reservations of its call.
 */
export function reservedPicoUsd(
  call: Call,
  contract: Contract,
): { readonly arrival: bigint; readonly request: bigint } {
  const { cost } = traitsOf(call)
  const request = cost.maxRequest(withAllPrices(contract)) ?? 0n
  return { arrival: request * BigInt(cost.maxCharged), request }
}

/** An unknown price of a model, a resource or a search becomes the highest price of the reference service. */
function withAllPrices(contract: Contract): Contract {
  const models = contract.models.map(model => ({ ...model, usdPerMillion: model.usdPerMillion ?? assumedPrice }))
  const resources = Object.fromEntries(
    Object.entries(contract.resources).map(
      ([name, resource]) => [name, { ...resource, worstUsd: resource.worstUsd ?? assumedWorstUsd }] as const,
    ),
  )
  const { search } = contract.chat
  const usdPerLookup = search.usdPerLookup ?? documentedContract.chat.search.usdPerLookup
  return { ...contract, models, resources, chat: { ...contract.chat, search: { ...search, usdPerLookup } } }
}

const assumedWorstUsd = '5'
const assumedPrice = { input: '0.90', output: '4.50', cacheInput: null, cacheWrite: '1.20' } as const
