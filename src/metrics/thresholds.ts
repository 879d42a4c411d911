import { formatExact, type Unit } from '../lib/format.ts'
import type { Operator, Threshold } from '../plan/plan.ts'
import { deafnessDoubt, latenessDoubt } from './harness-doubt.ts'
import { measure, type Totals } from './measure.ts'
import { capacityUpTo, rangeDoubt } from './measure-capacity.ts'
import type { Measured } from './measured.ts'
import type { Metrics } from './metrics.ts'

export type Status = 'pass' | 'fail' | 'inconclusive'

export type ThresholdResult = {
  readonly expression: string
  /** null where none can be stated. */
  readonly value: number | null
  readonly operator: Operator
  readonly bound: number
  /** Of the value and of the bound; a ratio of 1 is 100 %. */
  readonly unit: Unit
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
  const { value, unit, subject, samples } = measured
  const result = (verdict: Status, because: string): ThresholdResult => {
    return { expression, value, operator, bound, unit, verdict, because, why }
  }
  const required = `${operator} ${formatExact(bound, unit)}`
  if (value === null) return result('inconclusive', `${measured.because} (required ${required}; n = ${samples})`)

  const holds = compare(value, operator, bound)
  const sentence = `${subject} was ${formatExact(value, unit)}, ${holds ? '' : 'not '}${required} (n = ${samples})`
  const doubt =
    latenessDoubt(threshold, metrics) ??
    deafnessDoubt(threshold, totals.eventLoopDelayMs) ??
    cutShortDoubt(threshold, measured, totals) ??
    capacityDoubt(threshold, value, totals)
  if (doubt !== null) return result('inconclusive', `${sentence}, but ${doubt}`)
  return result(holds ? 'pass' : 'fail', sentence)
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

/** A capacity that is known to lie in a range proves only what is the same at both of its ends. */
function capacityDoubt(threshold: Threshold, value: number, { capacity }: Totals): string | null {
  const { measure, operator, bound } = threshold
  const upTo = measure.kind === 'capacity' ? capacityUpTo(threshold, capacity) : null
  if (upTo === null || compare(value, operator, bound) === compare(upTo, operator, bound)) return null
  return rangeDoubt(upTo)
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
