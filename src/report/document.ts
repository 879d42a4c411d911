import { z } from 'zod'
import type { JudgeName } from '../contract/clause.ts'
import type { ClauseId } from '../contract/clauses.ts'
import { arrivalSteps } from '../contract/requests/steps.ts'
import type { DiscrepancyKind } from '../judge/audits/audit.ts'
import { comparisonSchema } from '../judge/compare/comparison.ts'
import {
  billingSchema,
  capacitySchema,
  conversationResultSchema,
  decimal,
  limitSchema,
  millis,
  percentilesSchema,
  thresholdResultSchema,
  verdictSchema,
} from '../judge/results.ts'
import type { DeepReadonly } from '../lib/json.ts'
import { openText, publishedSchema, whole } from '../lib/schemas.ts'

export type { CapacityResult, Percentiles, ThresholdResult, TrialResult, Verdict } from '../judge/results.ts'

const position = z.object({
  firstId: whole.meta({ description: 'The id of the first request that shares its idempotency key; else its own.' }),
  step: z.enum(arrivalSteps),
  turn: z.object({ number: whole, turns: whole, group: whole.optional() }).optional().meta({
    description:
      'Which step of its conversation it is, from 0, and the id of the turn that shares its key; missing: it is none.',
  }),
  recorded: whole.optional().meta({ description: 'Which arrival of a trace it is, from 0; missing: none.' }),
  key: whole.meta({ description: 'Which key of its caller it used, from 0.' }),
})

/** For a bug report: the request without its secret, and the response. Headers and body are bounded. */
const evidence = z
  .object({
    id: whole,
    caller: z.string(),
    stage: z.string(),
    call: z.string(),
    request: z
      .object({
        method: z.string(),
        path: z.string(),
        headers: z.record(z.string(), z.string()),
        body: z.string().nullable(),
        // A replay needs the command of the original request before it. The key of a second caller is in
        // TURNPIKE_OTHER_KEY. null: the command is too long, or other requests of the finding have one.
        curl: z
          .string()
          .nullable()
          .meta({ description: 'A command that sends the request again, with the key from TURNPIKE_KEY.' }),
      })
      .nullable(),
    position: position
      .nullable()
      .default(null)
      .meta({ description: 'What decides the content of the request, with plan and seed; null: an older report.' }),
    outcome: z.string(),
    headers: z.record(z.string(), z.string()),
    /** The start of the body. */
    body: z.string(),
    dueMs: z.number(),
    sentMs: millis,
    headersMs: millis,
    endMs: millis,
    sentAt: z
      .string()
      .nullable()
      .default(null)
      .meta({ description: 'When it was sent: ISO 8601, UTC; null: never, or an older report.' }),
    traceId: z
      .string()
      .nullable()
      .default(null)
      .meta({ description: 'The trace id that it carried; null: none, or an older report.' }),
  })
  .meta({ id: 'Evidence', description: 'One request and its response. Instants are milliseconds since the start.' })

const example = z
  .object({
    requestIds: z.array(whole).meta({ description: 'In the order of sending, as far as it is known.' }),
    decidedBy: z
      .array(whole)
      .default([])
      .meta({ description: 'The requests whose responses contradict the document; the others led to it.' }),
    omitted: whole.default(0).meta({ description: 'Earlier requests that led to it and are not listed.' }),
    message: z.string(),
    count: whole.default(1).meta({ description: 'Violations with the same cause.' }),
    evidence: z
      .array(evidence)
      .meta({ description: 'First of the requests that decide, then of the others, in order.' }),
  })
  .meta({ id: 'Example', description: 'The first violation with its cause.' })

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
  /** `truncated`: the log of the run has no footer, for example after a kill. */
  ended: z.enum([
    'complete',
    'interrupted',
    'target-unreachable',
    'wrong-target',
    'unauthorized',
    'budget-reached',
    'violation-found',
    'decided',
    'worker-lost',
    'truncated',
  ]),
})

/** How long its own work delayed the events of a process, in milliseconds. */
const eventLoopDelay = z.object({ p99: z.number(), max: z.number() })

/** One worker of a run. */
const workerSchema = z.object({
  worker: z.number().meta({ description: 'From 1.' }),
  callers: whole,
  /** The worker crashed. */
  lost: z.boolean(),
  /** When its first stage started, in milliseconds on the clock of the run; null: unknown, or it never started. */
  startedMs: z.number().nullable(),
  sent: whole,
  latenessMs: percentilesSchema,
  eventLoopDelayMs: eventLoopDelay.nullable(),
  /** Another machine, and how far its clock differed from the clock of the run; null: this machine, or it was lost. */
  machine: z
    .object({ name: z.string(), clockAheadMs: z.number(), clockDriftMs: z.number(), clockErrorMs: z.number() })
    .nullable()
    .default(null),
  /** The process of a worker on another machine, over its whole shard; null: this machine, or it never said. */
  health: z
    .object({
      ...{ name: z.string(), version: z.string(), node: z.string() },
      ...{ cores: z.number(), memoryBytes: z.number(), rssBytes: z.number() },
      usedCores: z.number().meta({ description: 'Cores in use: 1.5 is one core and a half.' }),
    })
    .nullable()
    .default(null),
  /** Where another machine recorded its observations; null: in the run directory, or nowhere. */
  records: z
    .object({
      worker: z.string(),
      file: z.string(),
      missing: z.string().nullable().meta({ description: 'Why the run directory lacks them; null: it has them.' }),
    })
    .nullable()
    .default(null),
})

const load = z.object({
  /** Requests that the plan forecast. */
  planned: z.number(),
  /** Requests handed to the transport: `answered` plus `failed`, including system calls. */
  sent: whole,
  /** Complete responses, of any status. */
  answered: whole,
  failed: whole,
  /** Arrivals that were due and never sent. */
  dropped: whole,
  /** Arrivals without credentials. */
  skipped: whole.default(0),
  /** Responses of the abuse block, in stages that do not provoke it. */
  blocked: whole.default(0),
  failures: z.record(z.string(), whole),
  latenessMs: percentilesSchema,
  eventLoopDelayMs: eventLoopDelay.nullable(),
  /** Observations that were judged but not recorded, because the disk was too slow. */
  notRecorded: whole.default(0),
  /** Remote write, until the report was made; null: there was none. */
  pushed: z.object({ takenSamples: whole, lostSamples: whole, failures: whole }).nullable().default(null),
  workers: z.array(workerSchema).default([]),
})

const call = z.object({
  call: z.string(),
  stage: z.string().nullable().meta({ description: 'null: over all stages.' }),
  /** Requests sent: the sum of `statuses`, plus `failed` and `left`. */
  count: whole,
  /** Complete responses by status; `other` sums up statuses beyond the maximum. */
  statuses: z.record(z.string(), whole),
  failed: whole,
  /** The client left them on purpose before their response was complete. */
  left: whole.default(0),
  dropped: whole,
  latencyMs: percentilesSchema,
  serviceTimeMs: percentilesSchema,
  ttftMs: percentilesSchema,
  ttfctMs: percentilesSchema,
  tpotMs: percentilesSchema,
  itlMs: percentilesSchema,
  iclMs: percentilesSchema,
  outputTokens: z.number(),
  outputTokensPerSecond: z.number().nullable(),
  /** Complete responses, of any status. */
  achievedPerSecond: z.number().nullable(),
  goodputPerSecond: z.number().nullable(),
  /** Good responses as a share of all arrivals that were due, with failures and drops; null: a probe. */
  goodRatio: z.number().nullable(),
})

const clause = z.object({
  id: openText<ClauseId>(),
  section: z.string(),
  judged: whole,
  violated: whole,
  verdict: z.enum(['pass', 'fail', 'not-exercised', 'not-promised']),
  because: z
    .object({
      kind: z.enum(['not-exercised', 'not-judged']).meta({
        description: 'not-exercised: the run never did it. not-judged: it did, but something prevented the judgement.',
      }),
      text: z.string(),
      clause: openText<ClauseId>().nullable().meta({ description: 'The clause whose violation is the cause.' }),
    })
    .nullable()
    .default(null)
    .meta({ description: 'Why nothing judged the clause; of a clause that passed, what a violation hid.' }),
  measured: z.string().nullable().default(null).meta({ description: 'The true size of what violated the clause.' }),
})

const finding = z.object({
  clause: openText<ClauseId>(),
  section: z.string(),
  text: z.string(),
  judge: openText<JudgeName>(),
  count: whole,
  message: z.string(),
  examples: z.array(example),
})

/** The planned load. */
const plan = z.object({
  callers: z.object({ count: whole, tier: z.string(), shared: z.boolean() }),
  budgetUsd: decimal.nullable(),
  isBudgetUnlimited: z.boolean().default(false).meta({ description: 'The user has said that no budget binds.' }),
  only: z
    .object({
      names: z.array(z.string()).meta({ description: 'The calls and clauses of --only, as given.' }),
      clauses: z.array(openText<ClauseId>()).nullable().meta({ description: 'The clauses judged; null: all of them.' }),
      calls: z.array(z.string()).nullable().meta({ description: 'The calls sent; null: all of them.' }),
      leftOut: z.array(z.string()).meta({ description: 'The thresholds of the scenario that were not judged.' }),
    })
    .nullable()
    .default(null)
    .meta({ description: 'The part of the scenario that was sent and judged; null: all of it.' }),
  fewerKeys: z
    .object({
      given: whole,
      of: whole.meta({ description: 'The callers of the scenario with keys.' }),
      leftOut: z.array(z.string()).meta({ description: 'Stages, thresholds and kinds of requests.' }),
    })
    .nullable()
    .default(null)
    .meta({ description: 'Fewer keys than the scenario has callers, and what was left out; null: enough keys.' }),
  notOffered: z
    .array(z.string())
    .default([])
    .meta({ description: 'Calls that were left out, since the target offers no such resource, network or method.' }),
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
      callers: whole,
      load: z.string().meta({ description: 'A sentence.' }),
      isWarmUp: z.boolean().default(false).meta({ description: 'It prepares the target for the stages after it.' }),
    }),
  ),
  calls: z.array(z.object({ call: z.string(), kind: z.string(), slo: z.record(z.string(), z.number()) })),
  values: z
    .array(
      z.object({
        name: z.string(),
        text: z.string(),
        source: z.enum(['document', 'default', 'profile', 'target']),
        differs: z.string().nullable().meta({ description: 'What the document or the profile states instead.' }),
      }),
    )
    .default([])
    .meta({ description: 'Models, networks, prices and limits that the run used, and who stated them.' }),
})

const times = z
  .object({ stepMs: z.number(), p50: z.array(millis), p95: z.array(millis), max: z.array(millis) })
  .meta({ id: 'TimesSeries', description: 'Milliseconds, one value for each stepMs, precise to 12 %.' })

const series = z
  .object({
    stepMs: z.number(),
    stages: z.array(z.object({ name: z.string(), startMs: z.number(), endMs: z.number() })),
    due: z.array(whole),
    dropped: z.array(whole),
    sent: z.array(whole),
    answered: z.array(whole),
    failed: z.array(whole),
    refused: z.array(whole).meta({ description: 'Responses with 429.' }),
    latenessMs: z.array(z.number()),
    calls: z.array(
      z.object({
        call: z.string(),
        count: whole,
        latencyMs: times,
        ttftMs: times.nullable(),
        iclMs: times.nullable(),
        latencies: z.object({ fromMs: z.number(), perOctave: z.number(), counts: z.array(whole) }),
      }),
    ),
    heatmap: z.object({
      stepMs: z.number(),
      fromMs: z.number(),
      perOctave: z.number(),
      counts: z.array(z.array(whole)),
    }),
    spend: z.object({
      expectedCredits: z.array(decimal),
      claimedCredits: z.array(decimal),
      expectedUsd: z.array(decimal),
      claimedUsd: z.array(decimal),
      billedUsd: z.array(decimal.nullable()),
    }),
    limits: z.array(
      z.object({
        caller: z.string(),
        scope: z.string(),
        limit: z.number().nullable(),
        used: z.array(z.number().nullable()),
        refusedMs: z.array(z.number()),
        refusedIds: z.array(whole),
      }),
    ),
  })
  .meta({ description: 'The run over time: column i of a list starts i × stepMs after the start.' })

/**
 * The schema of `report.json`. It only gains members; a member that older reports lack has a default.
 * `docs/report.schema.json` is generated from it.
 */
export const reportSchema = z
  .object({
    schema: z.literal(1),
    verdict: verdictSchema,
    /** Sentences; at least one. */
    reasons: z.array(z.string()).min(1),
    run,
    load,
    calls: z.array(call),
    billing: billingSchema.extend({
      discrepancies: z.array(
        z.object({ kind: openText<DiscrepancyKind>(), count: whole, amountUsd: decimal, examples: z.array(example) }),
      ),
    }),
    limits: z.array(limitSchema),
    clauses: z.array(clause),
    findings: z.array(finding),
    thresholds: z.array(thresholdResultSchema),
    /** One for each stage that searches for a capacity. */
    capacity: z.array(capacitySchema).default([]),
    /** One for each call of this kind that was sent. */
    conversations: z.array(conversationResultSchema).default([]),
    /** null, like `series`: an older version wrote the report. */
    plan: plan.nullable().default(null),
    series: series.nullable().default(null),
    /** null: the run was not compared. */
    comparison: comparisonSchema.nullable().default(null),
  })
  .meta({ title: 'The report of a Turnpike run', description: 'report.json. Later versions only add members.' })

/** For other programs. It allows members that later versions add. */
export const reportJsonSchema = (): object =>
  publishedSchema('docs/report.schema.json', 'Turnpike report', reportSchema)

/** The content of `report.json`. */
export type Report = DeepReadonly<z.infer<typeof reportSchema>>

export type LoadFacts = Report['load']
export type WorkerFacts = LoadFacts['workers'][number]
export type CallFacts = Report['calls'][number]
export type PlanFacts = NonNullable<Report['plan']>
type ReportedBilling = Report['billing']
export type ReportedDiscrepancy = ReportedBilling['discrepancies'][number]
export type ReportedFinding = Report['findings'][number]
export type ReportedExample = ReportedFinding['examples'][number]
export type Evidence = ReportedExample['evidence'][number]
