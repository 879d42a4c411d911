/** What a run may still spend. All amounts are integers of one unit. */
export type Purse = {
  /** Puts the worst case of an arrival aside before it is sent; false when the purse does not hold it. */
  readonly reserve: (worst: bigint) => boolean
  /** Gives back what was put aside, when all that came of the arrival has been spent. */
  readonly release: (worst: bigint) => void
  readonly spend: (amount: bigint) => void
}

/**
 * A purse with a limit that spending cannot exceed, whatever is under way, as long as no arrival costs more than its
 * worst case. Without a limit (null) it holds everything.
 */
export function createPurse(limit: bigint | null): Purse {
  let spent = 0n
  let reserved = 0n
  return {
    reserve: worst => {
      if (limit !== null && spent + reserved + worst > limit) return false
      reserved += worst
      return true
    },
    release: worst => {
      reserved -= worst
    },
    spend: amount => {
      spent += amount
    },
  }
}
