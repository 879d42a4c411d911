import type { Plan, Threshold } from './plan.ts'
import { samplesToProve } from './provable-percentile.ts'

/** Why the samples that a plan expects cannot prove a threshold; null when they can. */
export function unprovable({ forecast }: Plan, { measure, call, stage }: Threshold): string | null {
  if (measure.kind !== 'timing' || measure.of.kind !== 'percentile') return null
  const expected = forecast.calls
    .filter(row => (call === null || row.call === call) && (stage === null || row.stage === stage))
    .reduce((sum, { requests }) => sum + requests, 0)
  const needed = samplesToProve(measure.of.percent)
  return expected >= needed ? null : `it takes ${needed} samples, and ${expected} are expected`
}
