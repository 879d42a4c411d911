import { z } from 'zod'
import { comparisonSchema } from '../compare/comparison.ts'
import { capacity } from './capacity-schema.ts'
import { decimal, millis, percentiles, tally } from './figures-schema.ts'
import { series } from './series-schema.ts'

const status = z.enum(['pass', 'fail', 'inconclusive'])
const evidence = z
  .object({
    seq: tally,
    caller: z.string(),
    stage: z.string(),
    call: z.string(),
    request: z
      .object({
        method: z.string(),
        path: z.string(),
        headers: z.record(z.string(), z.string()),
        body: z.string().nullable(),
        curl: z.string().nullable().meta({ description: 'Sends the request again, with the key in TURNPIKE_KEY.' }),
      })
      .nullable(),
    outcome: z.string(),
    headers: z.record(z.string(), z.string()),
    body: z.string(),
    dueMs: z.number(),
    sentMs: millis,
    headersMs: millis,
    endMs: millis,
  })
  .meta({ id: 'Evidence', description: 'One request and what came back. Instants are milliseconds since the start.' })

const example = z
  .object({ seqs: z.array(tally), because: z.string(), evidence: z.array(evidence) })
  .meta({ id: 'Example' })

const run = z.object({
  id: z.string(),
  scenario: z.string(),
  question: z.string().nullable(),
  seed: z.number(),
  version: z.string(),
  target: z.string(),
  profile: z.string(),
  startedAt: z.string().meta({ description: 'ISO 8601, UTC.' }),
  durationMs: z.number(),
  ended: z.enum([
    'complete',
    'interrupted',
    'target-unreachable',
    'keys-refused',
    'budget-reached',
    'worker-lost',
    'cut-short',
  ]),
})

const delay = z.object({ p99: z.number(), max: z.number() })

const worker = z.object({
  worker: z.number().meta({ description: 'From 1.' }),
  callers: tally,
  isLost: z.boolean(),
  beganMs: z.number().nullable(),
  sent: tally,
  latenessMs: percentiles,
  eventLoopDelayMs: delay.nullable(),
})

const load = z.object({
  planned: z.number(),
  sent: tally,
  answered: tally,
  failed: tally,
  dropped: tally,
  leftOut: tally.default(0),
  blocked: tally.default(0),
  failures: z.record(z.string(), tally),
  latenessMs: percentiles,
  eventLoopDelayMs: delay.nullable(),
  unrecorded: tally.default(0),
  pushed: z.object({ takenSamples: tally, lostSamples: tally, failures: tally }).nullable().default(null),
  workers: z.array(worker).default([]),
})

const call = z.object({
  call: z.string(),
  stage: z.string().nullable().meta({ description: 'null: over all stages.' }),
  count: tally,
  statuses: z.record(z.string(), tally),
  failed: tally,
  dropped: tally,
  latencyMs: percentiles,
  serviceTimeMs: percentiles,
  ttftMs: percentiles,
  ttfctMs: percentiles,
  tpotMs: percentiles,
  itlMs: percentiles,
  iclMs: percentiles,
  outputTokens: z.number(),
  outputTokensPerSecond: z.number().nullable(),
  achievedPerSecond: z.number().nullable(),
  goodputPerSecond: z.number().nullable(),
  goodRatio: z.number().nullable(),
})

const billing = z.object({
  expectedCredits: decimal,
  expectedUsd: decimal,
  claimedCredits: decimal,
  claimedUsd: decimal,
  billedUsd: decimal.nullable(),
  discrepancies: z.array(z.object({ kind: z.string(), count: tally, amountUsd: decimal, examples: z.array(example) })),
})

const limit = z.object({
  caller: z.string(),
  scope: z.string(),
  tier: z.string(),
  windowMs: z.number(),
  limit: z.number().nullable(),
  windows: tally,
  accepted: tally,
  rejected: tally,
  unexpected429: tally,
  missing429: tally,
})

const plan = z.object({
  callers: z.object({ count: tally, tier: z.string(), shared: z.boolean() }),
  budgetUsd: decimal.nullable(),
  forecast: z.object({
    requests: z.number(),
    durationMs: z.number(),
    credits: z.number(),
    worstUsd: decimal.nullable(),
  }),
  stages: z.array(
    z.object({
      name: z.string(),
      startMs: z.number(),
      durationMs: z.number(),
      callers: tally,
      load: z.string().meta({ description: 'In words.' }),
    }),
  ),
  calls: z.array(z.object({ call: z.string(), kind: z.string(), slo: z.record(z.string(), z.number()) })),
})

/**
 * The form of `report.json`, for whoever reads one. Members are only ever added; those that older reports lack have a
 * default. The published `docs/report.schema.json` is made from it.
 */
export const reportSchema = z
  .object({
    schema: z.literal(1),
    verdict: status,
    because: z.array(z.string()).min(1),
    run,
    load,
    calls: z.array(call),
    billing,
    limits: z.array(limit),
    clauses: z.array(
      z.object({
        id: z.string(),
        section: z.string(),
        judged: tally,
        violated: tally,
        verdict: z.enum(['pass', 'fail', 'not-exercised']),
      }),
    ),
    findings: z.array(
      z.object({
        clause: z.string(),
        section: z.string(),
        says: z.string(),
        check: z.string(),
        count: tally,
        because: z.string(),
        examples: z.array(example),
      }),
    ),
    thresholds: z.array(
      z.object({
        expression: z.string(),
        value: z.number().nullable(),
        operator: z.string(),
        bound: z.number(),
        unit: z.enum(['ms', 'count', 'ratio', 'per-second', 'credits', 'usd']),
        verdict: status,
        because: z.string(),
        why: z.string(),
      }),
    ),
    capacity: z.array(capacity).default([]),
    plan: plan.nullable().default(null),
    series: series.nullable().default(null),
    comparison: comparisonSchema.nullable().default(null),
  })
  .meta({ title: 'The report of a run of Turnpike', description: 'report.json; changes only ever add.' })

/** For those who read reports with other programs. What a later version adds is no mistake. */
export const reportJsonSchema = (): unknown => z.toJSONSchema(reportSchema, { io: 'input' })
