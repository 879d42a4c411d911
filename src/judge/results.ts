import { z } from 'zod'
import type { DeepReadonly } from '../lib/json.ts'
import { openText, whole } from '../lib/schemas.ts'
import type { Operator } from '../plan/plan.ts'

/** The results of judges, as the report states them. A member that older reports lack has a default. */

/** Of at most 300 digits, so that charts can show it as a number. */
export const decimal = z
  .string()
  .regex(/^-?\d{1,300}(\.\d{1,300})?$/, 'a decimal in quotes, such as "0.25"')
  .meta({ description: 'A decimal number as a string, so that it is exact.' })
/** null: unknown. */
export const millis = z.number().nullable()
/** Milliseconds. Percentiles that the samples cannot bound are null; without samples, everything is null. */
export const percentilesSchema = z
  .object({ count: whole, mean: millis, p50: millis, p90: millis, p95: millis, p99: millis, p999: millis, max: millis })
  .meta({ id: 'Percentiles', description: 'Milliseconds; null: too few samples to bound it.' })
export type Percentiles = DeepReadonly<z.output<typeof percentilesSchema>>

const perSecond = z.number().nullable().meta({ description: 'Per second; null: no value.' })

/** The requests of one call in a trial. */
const trialCallSchema = z.object({
  call: z.string(),
  good: whole,
  bad: whole.meta({ description: 'Neither good nor rejected with 429.' }),
  refused: whole.meta({ description: 'Responses with 429.' }),
  isExceeded: z.boolean().meta({ description: 'More were bad than a sustained rate allows.' }),
  missed: z
    .record(z.string(), whole)
    .meta({ description: 'By SLO: complete 2xx responses that missed it. One may miss several.' }),
  statuses: z.record(z.string(), whole).meta({ description: 'Bad responses by status.' }),
  failures: z.record(z.string(), whole).meta({ description: 'Requests without a complete response, by reason.' }),
  timesMs: z
    .record(z.string(), percentilesSchema)
    .meta({ description: 'Of complete 2xx responses: latency, and each timing with an SLO.' }),
})

export type TrialCall = DeepReadonly<z.output<typeof trialCallSchema>>

/** One rate, and its outcome. */
const trialSchema = z.object({
  purpose: z.enum(['raise', 'narrow', 'confirm']),
  offeredPerSecond: z.number(),
  outcome: z.enum([
    'sustained',
    'slo-missed',
    'queue-growing',
    'unmeasured',
    'rate-limited',
    'harness-late',
    'harness-saturated',
    'blocked',
    'failure-limit',
    'unfinished',
  ]),
  startMs: millis.default(null).meta({ description: 'When the first arrival was due; null: unknown.' }),
  endMs: millis.default(null).meta({ description: 'When the last request ended; null: unknown.' }),
  arrivals: whole,
  planned: whole.meta({ description: 'Arrivals of the whole trial, if it had not ended early.' }),
  achievedPerSecond: perSecond,
  goodputPerSecond: perSecond,
  goodRatio: z.number().nullable(),
  latencyMs: percentilesSchema,
  refused: whole.meta({ description: 'Responses with 429.' }),
  overloaded: whole.meta({ description: 'Responses with 503.' }),
  failed: whole,
  dropped: whole,
  inFlightGrowthPerSecond: perSecond.meta({ description: 'The growth of the requests in flight, per second.' }),
  calls: z.array(trialCallSchema).default([]),
})
export type TrialResult = DeepReadonly<z.output<typeof trialSchema>>
/**
 * The outcome of a trial. The target sustained the rate; or it did not (`slo-missed`, `queue-growing`); or the trial is
 * inconclusive: a timing with an SLO has no value, rate limits, an error or a limit of Turnpike, blocked callers, or the end
 * of the run. `harness-late`: without its lateness and stalls, the outcome could be another.
 */
export type TrialOutcome = TrialResult['outcome']

/** A turn of all sessions of a call. Tokens and costs are those that the target states. */
const turnResultSchema = z.object({
  turn: whole.meta({ description: 'From 1. The last row also has all later turns.' }),
  isBranch: z
    .boolean()
    .default(false)
    .meta({ description: 'Whether it is a turn of branches. It counts from their start.' }),
  sent: whole,
  answered: whole.meta({ description: 'Complete 2xx responses.' }),
  toolCalls: whole.default(0).meta({ description: 'Answers that are calls of tools.' }),
  counted: whole.meta({ description: 'Answers that state their tokens. Hits and tokens are of these.' }),
  hits: whole.meta({ description: 'Answers with at least one token from a cache.' }),
  promptTokens: whole,
  cachedTokens: whole,
  cacheableTokens: whole.meta({
    description: 'At most these can come from a cache: the prompts without their new text, and nothing of cold ones.',
  }),
  claimedUsd: decimal,
  ttftMs: percentilesSchema,
  hitTtftMs: percentilesSchema.optional().meta({ description: 'The same of answers with a token from a cache.' }),
  missTtftMs: percentilesSchema.optional().meta({ description: 'The same of answers that state none.' }),
})
export type TurnResult = DeepReadonly<z.output<typeof turnResultSchema>>

/** The sessions of a conversation, and its turns. */
export const conversationResultSchema = z.object({
  call: z.string(),
  cache: z
    .enum(['warm', 'cold'])
    .default('warm')
    .meta({ description: 'Whether prompts began as earlier ones did (warm), or each with words of its own (cold).' }),
  started: whole.meta({ description: 'Sessions whose first turn was sent.' }),
  finished: whole.meta({ description: 'Those whose last turn was answered.' }),
  gaveUp: whole.meta({ description: 'Those that ended with a refusal or a failure. The others were cut off.' }),
  claimedUsd: decimal.meta({ description: 'What all answers claim.' }),
  uncachedUsd: decimal.nullable().meta({
    description: 'What they would cost by the price list if nothing came from a cache; null: a price is unknown.',
  }),
  hitTtftMs: percentilesSchema.meta({ description: 'TTFT of answers with a token from a cache.' }),
  missTtftMs: percentilesSchema.meta({ description: 'TTFT of answers that state none.' }),
  turns: z.array(turnResultSchema),
})
export type ConversationResult = DeepReadonly<z.output<typeof conversationResultSchema>>

/** The result of a search for the capacity of the target. */
export const capacitySchema = z.object({
  stage: z.string(),
  status: z.enum(['found', 'above-range', 'below-range', 'limited-by-tier', 'harness-limited', 'inconclusive']),
  ratePerSecond: perSecond.meta({ description: 'Confirmed arrivals of all callers per second; null: none.' }),
  reason: z.string(),
  fromPerSecond: z.number(),
  toPerSecond: z.number(),
  mix: z.record(z.string(), z.number()).meta({ description: 'The share of each call of the arrivals.' }),
  slo: z
    .record(z.string(), z.record(z.string(), z.number()))
    .default({})
    .meta({ description: 'By call and timing, in milliseconds. A call without an SLO needs complete 2xx responses.' }),
  goodRatio: z.number(),
  precision: z.number(),
  confirmation: z.object({ percent: z.number(), samples: whole, latencyMs: millis }).nullable(),
  trials: z.array(trialSchema),
})
export type CapacityResult = DeepReadonly<z.output<typeof capacitySchema>>

/** One limit of one caller. */
export const limitSchema = z.object({
  caller: z.string(),
  /** `chat:<model>` or `rpc`. */
  scope: z.string(),
  names: z.array(z.string()).default([]).meta({ description: 'What shares it, by the names of the plan.' }),
  tier: z.string(),
  windowMs: z.number(),
  /** According to the contract, or else as responses state it; null: neither does. */
  limit: z.number().nullable(),
  windows: whole.nullable().meta({ description: 'null, like the next two: a violation hides them.' }),
  accepted: whole,
  rejected: whole,
  unexpected429: whole.nullable(),
  decided429: whole.default(0).meta({ description: '429s of which it could be told whether they were right.' }),
  missing429: whole.nullable().meta({ description: 'null also if the limit is unknown.' }),
  lasted: z
    .object({ minMs: z.number(), maxMs: z.number() })
    .nullable()
    .default(null)
    .meta({ description: 'How long its windows lasted, by their usage alone; null: no whole window was seen.' }),
})
export type LimitResult = DeepReadonly<z.output<typeof limitSchema>>
/** How a limit of a caller was used. */
export type LimitUse = Omit<LimitResult, 'names'>

/** How far the amounts of a run may be apart without a discrepancy, over all of its requests. */
const billingToleranceSchema = z.object({
  claimedUsd: decimal.meta({ description: 'How far claimed may be from expected.' }),
  unpricedUsd: decimal.meta({ description: 'Claimed by responses that the price list does not cover.' }),
  completionRatio: z.number().nullable().meta({ description: 'Of the list price of a completion.' }),
  rpcRatio: z.number().nullable().meta({ description: 'Of the price of the credits of an RPC response.' }),
  billedUsd: decimal
    .nullable()
    .meta({ description: 'How far billed may be from claimed; null: balances are not judged.' }),
  hiddenUsd: decimal.default('0').meta({
    description:
      'Claimed from callers whose balances may be off by as much: they would look the same without a charge.',
  }),
  balanceUsd: decimal.meta({ description: 'The last digit of a balance.' }),
})
export type BillingTolerance = DeepReadonly<z.output<typeof billingToleranceSchema>>

/** The sums of the ledger over all callers. Credits are those of the RPC proxy. */
export const billingSchema = z.object({
  /** According to the price list. */
  expectedCredits: decimal,
  expectedUsd: decimal,
  /** As the responses claim; replays are not counted. */
  claimedCredits: decimal,
  claimedUsd: decimal,
  unstatedCosts: whole.default(0).meta({ description: 'Charged responses that state no cost.' }),
  unknownCharges: whole.default(0).meta({ description: 'Of these, the ones whose list price is not known either.' }),
  unstatedCredits: whole.default(0).meta({ description: 'RPC responses that state no credits.' }),
  /** The difference between the opening and the closing balance check; null: one of them is missing. */
  billedUsd: decimal.nullable(),
  tolerance: billingToleranceSchema
    .nullable()
    .default(null)
    .meta({ description: 'How far the amounts of the run may be apart; null: an older version wrote the report.' }),
})
export type BillingSums = DeepReadonly<z.output<typeof billingSchema>>

export const verdictSchema = z.enum(['pass', 'fail', 'inconclusive'])
export type Verdict = z.output<typeof verdictSchema>

export const thresholdResultSchema = z.object({
  expression: z.string(),
  /** null: there is none. Of a capacity of which only a range is known, the lower end. */
  value: z.number().nullable(),
  lowest: z.number().nullable().default(null).meta({
    description: 'The true value is no lower, in spite of the errors of Turnpike; null: no value, or not known.',
  }),
  highest: z.number().nullable().default(null).meta({ description: 'The true value is no higher.' }),
  whole: z
    .number()
    .nullable()
    .default(null)
    .meta({ description: 'The capacity of all calls, if the value is the share of one; null: it is not a share.' }),
  operator: openText<Operator>(),
  bound: z.number(),
  /** Of the value and of the bound; a ratio of 1 is 100 %. */
  unit: z.enum(['ms', 'count', 'ratio', 'per-second', 'credits', 'usd']),
  verdict: verdictSchema,
  message: z.string(),
  basis: z.string().nullable().default(null).meta({
    description: 'The number of samples, and what else the value rests on or leaves out; null: nothing else.',
  }),
  why: z.string(),
})
export type ThresholdResult = DeepReadonly<z.output<typeof thresholdResultSchema>>
