import type { Range } from './range.ts'
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

/** What was charged since the anchor; `least` and `most` are sums since the beginning, as those of the anchor are. */
export const rangeSince = ({ certain, possible, late }: Anchor, least: bigint, most: bigint): Range => ({
  least: least - possible.least,
  most: most - certain.most + late,
})
