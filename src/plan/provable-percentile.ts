const percentiles = [99.9, 99, 95, 90, 50] as const

/**
 * How many samples bound the percentile from above with 95 % confidence: the chance that all n of them are below the
 * true percentile is qⁿ, which is at most 5 % from n = ln 0.05 / ln q on. Below the median it is the smallest sample that
 * has to be below the percentile, and the same holds the other way round.
 */
export function samplesToProve(percent: number): number {
  return Math.ceil(Math.log(0.05) / Math.log(Math.max(percent, 100 - percent) / 100))
}

/** The highest of 50, 90, 95, 99 and 99.9 that so many samples can bound; null: none of them. */
export function provablePercentile(samples: number): number | null {
  return percentiles.find(percent => samples >= samplesToProve(percent)) ?? null
}
