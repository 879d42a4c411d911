/** What a run may still spend, by the name of what it spends on. All amounts are integers of one unit. */
export type Purse = {
  /** Puts the worst case of an arrival aside before it is sent; false when the purse does not hold it. */
  readonly reserve: (name: string) => boolean
  /** Gives back what was put aside, when all that came of the arrival has been spent. */
  readonly release: (name: string) => void
  /** null: it is not known how much, and so it counts as the worst case. */
  readonly spend: (name: string, amount: bigint | null) => void
}

/** What was spent and what is put aside, in one sum. All workers of a run have the same one, in memory that they share. */
export type PurseSum = BigInt64Array

export const newPurseSum = (): PurseSum => new BigInt64Array(new SharedArrayBuffer(8))

const most = 2n ** 63n - 1n

/**
 * A purse with a limit that spending cannot exceed, whatever is under way and whoever shares its sum, as long as no
 * arrival costs more than its worst case. Without a limit (null) it holds everything, and nobody counts. A name without
 * a worst case costs nothing.
 */
export function createPurse(limit: bigint | null, worst: ReadonlyMap<string, bigint>, sum = newPurseSum()): Purse {
  const worstOf = (name: string) => worst.get(name) ?? 0n
  if (limit === null) return { reserve: () => true, release: () => {}, spend: () => {} }
  const add = (amount: bigint, highest: bigint): boolean => {
    for (;;) {
      const held = Atomics.load(sum, 0)
      if (held + amount > highest) return false
      if (Atomics.compareExchange(sum, 0, held, held + amount) === held) return true
    }
  }
  const highest = limit < most ? limit : most
  return {
    reserve: name => add(worstOf(name), highest),
    release: name => void add(-worstOf(name), most),
    spend: (name, amount) => {
      // What a target claims may be beyond any number that fits; then the purse is empty for good.
      if (!add(amount ?? worstOf(name), most)) Atomics.store(sum, 0, most)
    },
  }
}
