import type { Observation } from '../observation/observation.ts'
import { type Charge, statedCost } from './charge.ts'
import type { Range } from './range.ts'

/** What an account has, or had before a request, in pico-USD and pico-DIEM. */
export type Balances = { readonly usd: bigint; readonly diem: bigint }

/** What one request is said to have taken of each currency. */
export type Paid = { readonly usd: Range; readonly diem: Range }

/** Null where the answer does not say in which currency its charge was paid, as no answer of the RPC proxy does. */
export function paidOf({ asked, answer }: Observation, charge: Charge | null): Paid | null {
  if (charge === null || charge.sort !== 'charged' || asked.kind === 'rpc' || answer === null) return null
  const cost = statedCost(answer)
  // The noise of a double in the sum of both may be in either.
  const grain = charge.most - charge.least
  return cost && { usd: around(cost.usd, grain), diem: around(cost.diem, grain) }
}

const around = (amount: bigint, grain: bigint): Range => ({
  least: amount > grain ? amount - grain : 0n,
  most: amount + grain,
})
