/** A request without a response may still run and be charged for this long after it was cancelled. */
const maxChargeDelayMs = 600_000
const bucketMs = 1_000

/** The possible later charges of requests without a response. Stores a sum per second, not each request. */
export function createUnansweredCharges(): {
  /** Times are added in roughly ascending order. */
  readonly add: (max: bigint, givenUpMs: number) => void
  readonly at: (instantMs: number) => bigint
} {
  let buckets: { readonly untilMs: number; max: bigint }[] = []
  return {
    add: (max, givenUpMs) => {
      const untilMs = Math.ceil(givenUpMs / bucketMs) * bucketMs + maxChargeDelayMs
      const last = buckets.at(-1)
      if (last !== undefined && last.untilMs >= untilMs) last.max += max
      else buckets.push({ untilMs, max })
    },
    at: instantMs => {
      if (buckets[0] !== undefined && buckets[0].untilMs < instantMs)
        buckets = buckets.filter(({ untilMs }) => untilMs >= instantMs)
      return buckets.reduce((sum, { max }) => sum + max, 0n)
    },
  }
}
