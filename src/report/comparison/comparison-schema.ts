import { z } from 'zod'

const outcome = z.enum(['improved', 'unchanged', 'regressed', 'cannot-tell'])
const value = z.number().nullable()

const facts = z
  .object({
    id: z.string(),
    startedAt: z.string().meta({ description: 'ISO 8601, UTC.' }),
    target: z.string(),
    version: z.string(),
    seed: z.number(),
  })
  .meta({ id: 'ComparedRun' })

const effect = z
  .object({ kind: z.enum(['relative', 'difference']), value: z.number(), low: z.number(), high: z.number() })
  .meta({
    id: 'Effect',
    description: 'relative: run ÷ base − 1; difference: run − base. Each end is so with 95 % confidence.',
  })

const row = z.object({
  call: z.string(),
  stage: z.string(),
  measure: z.string(),
  unit: z.enum(['ms', 'count', 'ratio', 'per-second', 'credits', 'usd']),
  better: z.enum(['lower', 'higher']),
  verdict: outcome,
  base: value,
  run: value,
  effect: effect.nullable(),
  confidence: value.meta({ description: 'That it became worse, or better if it looks better: 0.5 to 1.' }),
  because: z.string().meta({ description: 'Why it cannot be told, else empty.' }),
})

/** The form of `comparison.json`, and of `comparison` in `report.json`. Members are only ever added. */
export const comparisonSchema = z
  .object({
    schema: z.literal(1),
    verdict: outcome,
    because: z.array(z.string()).min(1),
    scenario: z.string(),
    run: facts,
    baselines: z.array(facts),
    criteria: z.object({ minimalEffect: z.number(), noiseFloor: z.number() }),
    rows: z.array(row),
  })
  .meta({ id: 'Comparison', description: 'A run against its baselines.' })

/** For those who read comparisons with other programs. What a later version adds is no mistake. */
export const comparisonJsonSchema = (): unknown => z.toJSONSchema(comparisonSchema, { io: 'input' })
