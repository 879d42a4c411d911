import { formatPico } from '../lib/money.ts'
import type { Turnover } from './turnover.ts'

/** A balance that others are reckoned from. */
export type Anchor = {
  readonly balance: bigint
  /** The requests whose charges were in it for sure, and those whose charges can have been. At a quiet point the same. */
  readonly certain: Turnover
  readonly possible: Turnover
  /** The most that requests from before it, which nobody answered, can still take. */
  readonly late: bigint
  readonly day: number | null
}

/** How much must have left a balance since an anchor, and how much can have, in pico-USD. */
export type Range = { readonly least: bigint; readonly most: bigint }

/** What was charged since the anchor; `least` and `most` are sums since the beginning, as those of the anchor are. */
export const rangeSince = ({ certain, possible, late }: Anchor, least: bigint, most: bigint): Range => ({
  least: least - possible.least,
  most: most - certain.most + late,
})

export const fits = (spent: bigint, { least, most }: Range, resolution: bigint): boolean =>
  spent >= least - resolution && spent <= most + resolution

/** By how much it is out of range; below zero when too little was spent. */
export const excessOf = (spent: bigint, { least, most }: Range): bigint => (spent > most ? spent - most : spent - least)

export const describeRange = ({ least, most }: Range): string =>
  least === most ? formatPico(most) : `${formatPico(least)} to ${formatPico(most)}`
