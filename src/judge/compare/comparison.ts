import { z } from 'zod'
import type { DeepReadonly } from '../../lib/json.ts'
import type { Status } from '../thresholds.ts'

const changeVerdict = z.enum(['improved', 'unchanged', 'regressed', 'cannot-tell'])
/** What a comparison says of one number, or of a whole run, against its baselines. */
export type ChangeVerdict = z.infer<typeof changeVerdict>

/** The verdict on a run that a comparison alone would give. */
export const outcomeStatus: Readonly<Record<ChangeVerdict, Status>> = {
  improved: 'pass',
  unchanged: 'pass',
  regressed: 'fail',
  'cannot-tell': 'inconclusive',
}

const criteria = z.object({
  /** A smaller change does not matter, as a ratio: 0.05 is 5 %. Of ratios between 0 and 1, a fifth of it, as a difference. */
  minEffect: z.number(),
  /** How much times and rates of the same thing vary from run to run, at least: the standard deviation of one run. */
  noiseFloor: z.number(),
})
/** What a comparison goes by. */
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
    description: 'relative: run ÷ base − 1; difference: run − base. Each end is so with 95 % confidence.',
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
  /** The geometric mean of the baselines, or the mean of ratios; null: it has no such value. */
  base: value,
  run: value,
  effect: effect.nullable(),
  /** null: no test was made. */
  confidence: value.meta({ description: 'That it became worse, or better if it looks better: 0.5 to 1.' }),
  reason: z.string().meta({ description: 'Why it cannot be told, else empty.' }),
})
/** One number of a call in a stage, in the run and in its baselines. */
export type ComparedRow = DeepReadonly<z.infer<typeof row>>

/** The form of `comparison.json`, and of `comparison` in `report.json`. Members are only ever added. */
export const comparisonSchema = z
  .object({
    schema: z.literal(1),
    verdict: changeVerdict,
    /** Why, in sentences. */
    reasons: z.array(z.string()).min(1),
    scenario: z.string(),
    run: runInfo,
    /** Those that were used. */
    baselines: z.array(runInfo),
    criteria,
    rows: z.array(row),
  })
  .meta({ id: 'Comparison', description: 'A run against its baselines.' })
export type Comparison = DeepReadonly<z.infer<typeof comparisonSchema>>

/** For those who read comparisons with other programs. What a later version adds is no mistake. */
export const comparisonJsonSchema = (): unknown => z.toJSONSchema(comparisonSchema, { io: 'input' })
