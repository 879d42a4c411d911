import { z } from 'zod'
import type { DeepReadonly } from '../../lib/json.ts'
import { publishedSchema } from '../../lib/schemas.ts'
import type { Verdict } from '../results.ts'

const changeVerdict = z.enum(['improved', 'unchanged', 'regressed', 'cannot-tell'])
/** The verdict on one number, or on a whole run, against the baselines. */
export type ChangeVerdict = z.infer<typeof changeVerdict>

/** The verdict on a run by its comparison alone. */
export const outcomeStatus: Readonly<Record<ChangeVerdict, Verdict>> = {
  improved: 'pass',
  unchanged: 'pass',
  regressed: 'fail',
  'cannot-tell': 'inconclusive',
}

const criteria = z.object({
  /** The smallest change that matters, as a ratio: 0.05 is 5 %. For shares: a fifth of it, as a difference. */
  minEffect: z.number(),
  /** The run-to-run noise of times and rates to assume at least, as the standard deviation of one run. */
  noiseFloor: z.number(),
})
/** The criteria of a comparison. */
export type Criteria = DeepReadonly<z.infer<typeof criteria>>

export const defaultCriteria: Criteria = { minEffect: 0.05, noiseFloor: 0.02 }

const value = z.number().nullable()

const runInfo = z
  .object({
    id: z.string(),
    startedAt: z.string().meta({ description: 'ISO 8601, UTC.' }),
    target: z.string(),
    version: z.string(),
    seed: z.number(),
  })
  .meta({ id: 'ComparedRun' })
export type ComparedRunInfo = DeepReadonly<z.infer<typeof runInfo>>

const effect = z
  .object({ kind: z.enum(['relative', 'difference']), value: z.number(), low: z.number(), high: z.number() })
  .meta({
    id: 'Effect',
    description: 'relative: run ÷ base − 1; difference: run − base. low and high each hold with 95 % confidence.',
  })
export type Effect = DeepReadonly<z.infer<typeof effect>>

const row = z.object({
  call: z.string(),
  stage: z.string(),
  /** Such as `latency p95` or `goodput`. */
  measure: z.string(),
  unit: z.enum(['ms', 'count', 'ratio', 'per-second', 'credits', 'usd']),
  better: z.enum(['lower', 'higher']),
  verdict: changeVerdict,
  /** The geometric mean of the baselines; for shares, the mean. null: no value. */
  base: value,
  run: value,
  effect: effect.nullable(),
  /** null: no test was made. */
  confidence: value.meta({
    description: 'The probability that it became worse, or better if it looks better: 0.5 to 1.',
  }),
  reason: z.string().meta({ description: 'Why the comparison cannot tell; else empty.' }),
})
/** One number of a call in a stage, in the run and in its baselines. */
export type ComparedRow = DeepReadonly<z.infer<typeof row>>

/** The schema of `comparison.json`, and of `comparison` in `report.json`. It only gains members. */
export const comparisonSchema = z
  .object({
    schema: z.literal(1),
    verdict: changeVerdict,
    /** Sentences. */
    reasons: z.array(z.string()).min(1),
    scenario: z.string(),
    run: runInfo,
    /** Without the runs that were left out. */
    baselines: z.array(runInfo),
    criteria,
    rows: z.array(row),
  })
  .meta({ id: 'Comparison', description: 'A run against its baselines.' })
export type Comparison = DeepReadonly<z.infer<typeof comparisonSchema>>

/** For other programs. It allows members that later versions add. */
export const comparisonJsonSchema = (): object =>
  publishedSchema('docs/comparison.schema.json', 'Turnpike comparison', comparisonSchema)
