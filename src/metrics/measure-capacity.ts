import { formatRate } from '../lib/format.ts'
import type { Threshold } from '../plan/plan.ts'
import type { CapacityResult } from './capacity-result.ts'
import type { Measured } from './measured.ts'

type Selected = Pick<Threshold, 'call' | 'stage'>

/**
 * Arrivals a second that a search has confirmed, those of one call by its share of the mix. Where not even the lowest
 * rate held it is 0: no rate that was tried is sustained. No value where the search came to nothing.
 */
export function measureCapacity(threshold: Selected, results: readonly CapacityResult[]): Measured {
  const { call, stage } = threshold
  const result = results.find(each => each.stage === stage)
  const subject = `capacity${call === null ? '' : ` of ${call}`}${stage === null ? '' : ` in ${stage}`}`
  const samples = result?.trials.reduce((sum, { arrivals }) => sum + arrivals, 0) ?? 0
  const base = { subject, samples, unit: 'per-second', grows: 'neither' } as const
  if (result === undefined) return { ...base, value: null, because: `${subject} has no value: nothing was searched` }
  const share = call === null ? 1 : (result.shares[call] ?? 0)
  const perSecond = result.status === 'below-lowest' ? 0 : result.perSecond
  if (perSecond === null) return { ...base, value: null, because: `${subject} was not found: ${result.because}` }
  return { ...base, value: perSecond * share }
}

/**
 * Up to where the capacity may lie, from the value of the threshold on; null where the value is the capacity itself. A
 * search that was bounded from above knows no more than that the capacity is not lower, and one that broke at once no more
 * than that it is lower than where it began.
 */
export function capacityUpTo({ call, stage }: Selected, results: readonly CapacityResult[]): number | null {
  const result = results.find(each => each.stage === stage)
  if (result?.status === 'not-reached') return Number.POSITIVE_INFINITY
  if (result?.status !== 'below-lowest') return null
  const share = call === null ? 1 : (result.shares[call] ?? 0)
  // It is less than that rate itself.
  return result.fromPerSecond * share * (1 - Number.EPSILON)
}

export const rangeDoubt = (upTo: number): string =>
  upTo === Number.POSITIVE_INFINITY ? 'no higher rate was tried' : `no rate below ${formatRate(upTo)} was tried`
