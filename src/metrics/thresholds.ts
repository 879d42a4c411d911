import type { Operator, Threshold } from '../plan/plan.ts'
import { latenessDoubt } from './lateness-doubt.ts'
import { type Measured, measure, type Totals } from './measure.ts'
import type { Metrics } from './metrics.ts'

export type Status = 'pass' | 'fail' | 'inconclusive'

export type ThresholdResult = {
  readonly expression: string
  /** In the unit of the measure; null where none can be stated. */
  readonly value: number | null
  readonly verdict: Status
  readonly because: string
  readonly why: string
}

export function judgeThresholds(
  thresholds: readonly Threshold[],
  metrics: Metrics,
  totals: Totals,
): readonly ThresholdResult[] {
  return thresholds.map(threshold => judge(threshold, metrics, totals))
}

function judge(threshold: Threshold, metrics: Metrics, totals: Totals): ThresholdResult {
  const { expression, why, operator, bound } = threshold
  const measured = measure(threshold, metrics, totals)
  const required = `${operator} ${measured.show(bound)}`
  if (measured.value === null) {
    const because = `${measured.because} (required ${required}; n = ${measured.samples})`
    return { expression, why, value: null, verdict: 'inconclusive', because }
  }

  const { value } = measured
  const holds = compare(value, operator, bound)
  const sentence = `${measured.subject} was ${measured.show(value)}, ${holds ? '' : 'not '}${required} (n = ${measured.samples})`
  const doubt = latenessDoubt(threshold, metrics) ?? cutShortDoubt(threshold, measured, totals)
  if (doubt !== null) return { expression, why, value, verdict: 'inconclusive', because: `${sentence}, but ${doubt}` }
  return { expression, why, value, verdict: holds ? 'pass' : 'fail', because: sentence }
}

/**
 * A run that did not end by itself has done less than it was to do, and it cancelled requests on its own account. Then
 * what became of requests proves nothing, and of what only ever grows just that which more of it cannot undo.
 */
function cutShortDoubt({ operator, bound }: Threshold, measured: Measured, totals: Totals): string | null {
  if (totals.complete || measured.value === null || measured.grows === 'neither') return null
  const settled = compare(measured.value, operator, bound) === compare(Number.POSITIVE_INFINITY, operator, bound)
  if (measured.grows === 'only' && settled && measured.value >= bound) return null
  return 'the run did not end by itself'
}

function compare(value: number, operator: Operator, bound: number): boolean {
  switch (operator) {
    case '<':
      return value < bound
    case '<=':
      return value <= bound
    case '>':
      return value > bound
    case '>=':
      return value >= bound
    case '==':
      return value === bound
    case '!=':
      return value !== bound
  }
}
