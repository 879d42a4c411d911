/** A request that nobody answered may be done, and charged, so long after it was given up. */
const latestMs = 600_000
const bucketMs = 1_000

/** What requests without an answer can still take from a balance. Keeps a sum for each second, not each request. */
export function createLateCharges(): {
  /** Instants are added in ascending order, more or less. */
  readonly add: (most: bigint, givenUpMs: number) => void
  readonly at: (instantMs: number) => bigint
} {
  let buckets: { readonly untilMs: number; most: bigint }[] = []
  return {
    add: (most, givenUpMs) => {
      const untilMs = Math.ceil(givenUpMs / bucketMs) * bucketMs + latestMs
      const last = buckets.at(-1)
      if (last !== undefined && last.untilMs >= untilMs) last.most += most
      else buckets.push({ untilMs, most })
    },
    at: instantMs => {
      if (buckets[0] !== undefined && buckets[0].untilMs < instantMs)
        buckets = buckets.filter(({ untilMs }) => untilMs >= instantMs)
      return buckets.reduce((sum, { most }) => sum + most, 0n)
    },
  }
}
