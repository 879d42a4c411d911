import type { Observation } from '../observation/observation.ts'
import type { Range } from './anchor.ts'
import { type Charge, statedCost } from './charge.ts'

export type Balances = { readonly usd: bigint; readonly diem: bigint }

/** What one request took of each currency, and of both together, where a DIEM counts as a USD. */
export type Parts = {
  readonly usd: Range
  readonly diem: Range
  readonly both: Range
  /** What may still be taken long after it was given up, because nobody answered. */
  readonly late: bigint
}

/** The same of a set of requests. */
export type Taken = Parts & { readonly requests: number; readonly unpriced: number }

const none: Range = { least: 0n, most: 0n }
const free: Parts = { usd: none, diem: none, both: none, late: 0n }

export const nothing: Taken = { ...free, requests: 0, unpriced: 0 }

/** Null where an answer does not say what it cost. Of a call of the RPC proxy nobody says in what it was paid. */
export function partsOf({ asked, answer }: Observation, charge: Charge | null): Parts | null {
  if (charge === null) return null
  const { sort, least, most } = charge
  if (most === 0n) return free
  const both = { least, most }
  const open = { least: 0n, most }
  const cost = sort === 'charged' && asked.kind !== 'rpc' && answer !== null ? statedCost(answer) : null
  if (cost === null) return { usd: open, diem: open, both, late: sort === 'unknown' ? most : 0n }
  // The noise of a double in the sum of both may be in either.
  const grain = most - least
  return { usd: around(cost.usd, grain), diem: around(cost.diem, grain), both, late: 0n }
}

export function plus(sum: Taken, parts: Parts | null): Taken {
  const requests = sum.requests + 1
  if (parts === null) return { ...sum, requests, unpriced: sum.unpriced + 1 }
  if (parts === free) return { ...sum, requests }
  return {
    usd: added(sum.usd, parts.usd),
    diem: added(sum.diem, parts.diem),
    both: added(sum.both, parts.both),
    late: sum.late + parts.late,
    requests,
    unpriced: sum.unpriced,
  }
}

/** What lies between two sums, the earlier of which is part of the later, and what can have come late from before. */
export function since(earlier: Taken, later: Taken): Taken {
  const between = (a: Range, b: Range): Range => ({ least: b.least - a.least, most: b.most - a.most + earlier.late })
  return {
    usd: between(earlier.usd, later.usd),
    diem: between(earlier.diem, later.diem),
    both: between(earlier.both, later.both),
    late: earlier.late,
    requests: later.requests - earlier.requests,
    unpriced: later.unpriced - earlier.unpriced,
  }
}

const added = (a: Range, b: Range): Range => ({ least: a.least + b.least, most: a.most + b.most })

const around = (amount: bigint, grain: bigint): Range => ({
  least: amount > grain ? amount - grain : 0n,
  most: amount + grain,
})
