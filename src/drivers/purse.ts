/** What a run may still spend, by the name of what it spends on. All amounts are integers of one unit. */
export type Purse = {
  /** Puts the worst case of an arrival aside before it is sent; false when the purse does not hold it. */
  readonly reserve: (name: string) => boolean
  /** Gives back what was put aside, when all that came of the arrival has been spent. */
  readonly release: (name: string) => void
  /** null: it is not known how much, and so it counts as the worst case. */
  readonly spend: (name: string, amount: bigint | null) => void
}

/**
 * A purse with a limit that spending cannot exceed, whatever is under way, as long as no arrival costs more than its
 * worst case. Without a limit (null) it holds everything. A name without a worst case costs nothing.
 */
export function createPurse(limit: bigint | null, worst: ReadonlyMap<string, bigint>): Purse {
  let spent = 0n
  let reserved = 0n
  const worstOf = (name: string) => worst.get(name) ?? 0n
  return {
    reserve: name => {
      if (limit !== null && spent + reserved + worstOf(name) > limit) return false
      reserved += worstOf(name)
      return true
    },
    release: name => {
      reserved -= worstOf(name)
    },
    spend: (name, amount) => {
      spent += amount ?? worstOf(name)
    },
  }
}
