import { createMetrics } from '../../../src/judge/metrics/request-stats.ts'
import {
  evaluateThresholds,
  type JudgedTotal,
  type JudgedTotals,
  type RunTotals,
} from '../../../src/judge/thresholds.ts'
import { formatPico } from '../../../src/lib/money.ts'
import type { Observation } from '../../../src/observation/observation.ts'
import type { Measure, Threshold, Timing } from '../../../src/plan/plan.ts'
import { aPlan, aStage } from './metrics/fixtures.ts'

type Changes = Partial<Omit<RunTotals, 'judged'>> & {
  readonly violations?: number
  readonly discrepancies?: number
  readonly unexpected429?: number
  readonly undecided?: Readonly<Partial<Record<string, JudgedTotal['undecided']>>>
  readonly basis?: Readonly<Partial<Record<keyof JudgedTotals, string>>>
  readonly blocks?: Readonly<Record<string, number>>
  readonly credits?: bigint | number
  readonly picoUsd?: bigint
}

export function totalsWith({
  violations = 0,
  discrepancies = 0,
  unexpected429 = 0,
  undecided = {},
  basis = {},
  blocks = { block: 3, after: 1 },
  credits = 0n,
  picoUsd = 0n,
  ...changes
}: Changes): RunTotals {
  const total = (word: keyof JudgedTotals, countIn: JudgedTotal['countIn']): JudgedTotal => ({
    countIn,
    undecided: undecided[word] ?? null,
    basis: basis[word] ?? null,
  })
  const inStage = (stage: string | null) =>
    Object.entries(blocks).reduce((sum, [name, count]) => ((stage ?? name) === name ? sum + count : sum), 0)
  return {
    judged: {
      violations: total('violations', () => violations),
      discrepancies: total('discrepancies', () => discrepancies),
      'unexpected-429': total('unexpected-429', () => unexpected429),
      blocked: total('blocked', inStage),
      credits: total('credits', () => Number(credits)),
      spend: total('spend', () => Number(formatPico(picoUsd))),
    },
    capacity: [],
    unrecordedStallMs: null,
    complete: true,
    elapsedMs: 10_000,
    ...changes,
  }
}

export const totals = totalsWith({})

export const judged = (threshold: Threshold, observations: readonly Observation[], changes: Changes = {}) => {
  const metrics = createMetrics(aPlan({ stages: [aStage('steady', 10_000), aStage('(opening)', 1000)] }))
  for (const observation of observations) metrics.add(observation)
  const [result] = evaluateThresholds([threshold], metrics, totalsWith(changes))
  if (result === undefined) throw new Error('a threshold without a result')
  return result
}

export const times = (n: number, o: Observation) => Array.from({ length: n }, () => o)
export const p = (percent: number, timing: Timing): Measure => ({
  kind: 'timing',
  timing,
  of: { kind: 'percentile', percent },
})
export const count = (
  kind: 'count' | 'ratio' | 'per-second',
  of: 'sent' | 'answered' | 'good' | 'failed' | 'dropped',
): Measure => ({
  kind,
  count: { kind: of },
})
