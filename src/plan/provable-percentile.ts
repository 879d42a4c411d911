import type { SearchTerms, Trial } from './search-terms.ts'

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

/** With fewer arrivals nothing could be told from chance. */
const minTrialArrivals = 20

/** How many arrivals a trial of a rate has. */
export function trialArrivals(terms: SearchTerms, purpose: Trial['purpose'], perSecond: number): number {
  const rarest = Math.min(...Object.values(terms.shares))
  // How many of a mix are of one call is up to chance, so there are some more.
  const { confirmSamples: needed } = terms
  const proof = rarest === 1 ? needed : Math.ceil((needed + 3 * Math.sqrt(needed)) / rarest)
  const fewest = purpose === 'confirm' ? proof : minTrialArrivals
  const forMs = purpose === 'confirm' ? terms.confirmMs : terms.trialMs
  return Math.max(fewest, Math.ceil(Number(((perSecond * forMs) / 1000).toPrecision(12))))
}
