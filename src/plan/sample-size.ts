import { limitName } from '../contract/limits.ts'
import { type Call, type Forecast, type SearchTerms, type StagePlan, type Trial, traitsOf } from './plan.ts'

const percentiles = [99.9, 99, 95, 90, 50] as const

/**
 * How many samples bound a percentile with 95 % confidence. All n samples are below the true percentile q with
 * probability qⁿ, which is at most 5 % from n = ln 0.05 / ln q on. Below the median the same holds with 1 − q, for the
 * smallest sample.
 */
export function samplesToProve(percent: number): number {
  return Math.ceil(Math.log(0.05) / Math.log(Math.max(percent, 100 - percent) / 100))
}

/** The highest of 50, 90, 95, 99 and 99.9 that this many samples can bound; null for none. */
export function provablePercentile(samples: number): number | null {
  return percentiles.find(percent => samples >= samplesToProve(percent)) ?? null
}

/** The ratio of requests of a call that its limits admit, if every minute of the stage is like its busiest. */
export function admittedRatio({ name }: StagePlan, call: Call, limits: Forecast['limits']): number {
  const scopes = traitsOf(call).limits.map(({ scope }) => limitName(scope))
  const rows = limits.filter(row => row.stage === name && scopes.includes(row.scope))
  return rows.reduce((min, { perMinute, limit }) => Math.min(min, perMinute > limit ? limit / perMinute : 1), 1)
}

/** Fewer arrivals would be too random. */
const minArrivals = 20

/** The number of arrivals of a trial at a rate. */
export function trialArrivals(terms: SearchTerms, purpose: Trial['purpose'], perSecond: number): number {
  const rarest = Math.min(...Object.values(terms.mix))
  // How often a mix draws its rarest call is random, so three standard deviations are added.
  const { confirmSamples: needed } = terms
  const proof = rarest === 1 ? needed : Math.ceil((needed + 3 * Math.sqrt(needed)) / rarest)
  const min = purpose === 'confirm' ? proof : minArrivals
  const forMs = purpose === 'confirm' ? terms.confirmMs : terms.trialMs
  return Math.max(min, Math.ceil(Number(((perSecond * forMs) / 1000).toPrecision(12))))
}
