import { z } from 'zod'
import type { ClauseId } from '../contract/clauses.ts'
import { accountTiers } from '../contract/contract.ts'
import { allSources } from '../contract/sources.ts'
import type { DeepReadonly } from '../lib/json.ts'
import { isLoopback } from '../lib/loopback.ts'
import { pico } from '../lib/money.ts'
import { decimalText, openText, whole } from '../lib/schemas.ts'
import { type Call, resolvedCallSchema } from '../scenario/calls/calls.ts'
import { paymentOf } from '../scenario/calls/wallets.ts'
import { type Mix, mixSchema } from '../scenario/fields.ts'
import { distributions } from '../scenario/schema.ts'
import { thresholdSchema, timings } from '../scenario/threshold.ts'

export { type ArrivalStep, repeatedTurn, replaysOf } from '../contract/requests/steps.ts'
export type { ReplayStep } from '../scenario/calls/call-kind.ts'
export { traitsOf, withoutWaits } from '../scenario/calls/calls.ts'
export { withLengths } from '../scenario/calls/chat.ts'
export { type ConversationCall, chatOfTurn, drawFrom, offeredTool } from '../scenario/calls/conversation.ts'
export { type HangUp, writtenPoint } from '../scenario/calls/hang-up.ts'
export { isProbe } from '../scenario/calls/probe.ts'
export type { RpcCall } from '../scenario/calls/rpc.ts'
export { type Mix, meanOf, totalWeight } from '../scenario/fields.ts'
export type { Aggregate, Count, CountWith, Measure, Operator, Threshold, Timing } from '../scenario/threshold.ts'
export { hasTrait, timings } from '../scenario/threshold.ts'
export type { Call }

const [positive, amount, text] = [z.number().positive(), z.number().nonnegative(), z.string()]

/** The terms of a capacity search. Rates are arrivals per second of all callers. */
const searchSchema = z.object({
  fromPerSecond: positive,
  toPerSecond: positive,
  /** The ratio of responses to each call that must be good, above 0 and at most 1. */
  goodRatio: z.number().min(0).max(1),
  /** The search ends when the lowest exceeded rate is at most this ratio above the highest sustained one. */
  precision: amount,
  trialMs: positive,
  confirmMs: positive,
  /** Responses to each call that a confirmation needs to prove `goodRatio`. */
  confirmSamples: whole,
  /** The share of each call among the arrivals. They add up to 1. */
  mix: z.record(text, amount),
  /** 100 % of tier of one caller; null if no call of the mix has a limit, or if an older version made the plan. */
  callerPerSecond: amount.nullable().default(null),
})
export type SearchTerms = DeepReadonly<z.output<typeof searchSchema>>

/** The tokens of a prompt, and the most tokens of its answer. */
const lengthsSchema = z.object({ promptTokens: amount, maxCompletionTokens: amount })

/** Arrivals per second of all callers together. */
const shapeSchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('constant'), perSecond: amount }),
  z.object({ kind: z.literal('poisson'), perSecond: amount }),
  z.object({ kind: z.literal('ramp'), fromPerSecond: amount, toPerSecond: amount }),
  /** Levels of equal length, with a linear ramp of `rampMs` from each to the next. */
  z.object({
    kind: z.literal('stairs'),
    fromPerSecond: amount,
    toPerSecond: amount,
    steps: whole.positive(),
    rampMs: amount,
  }),
  /** The peak lasts from `atMs` for `forMs`, with a ramp before and a ramp after it. */
  z.object({
    kind: z.literal('spike'),
    basePerSecond: amount,
    peakPerSecond: amount,
    atMs: amount,
    forMs: amount,
    rampUpMs: amount,
    rampDownMs: amount,
  }),
  /** `size` simultaneous arrivals, at the start of the stage and then every `everyMs`. */
  z.object({ kind: z.literal('burst'), size: whole, everyMs: positive }),
  /**
   * The arrivals of another run or of a trace, packed by `packArrivals`. Their calls are indices into the mix. `stage`: the
   * stage that is repeated; null for all of them. `prompts`: what a trace says about prompts; missing for a run.
   */
  z.object({
    kind: z.literal('recorded'),
    run: text,
    stage: text.nullable(),
    speed: positive,
    packed: text,
    prompts: z.object({ blockTokens: whole.positive(), texts: text, means: z.record(text, lengthsSchema) }).optional(),
  }),
  z.object({ kind: z.literal('pause') }),
])
export type Shape = DeepReadonly<z.output<typeof shapeSchema>>

const loadSchema = z.discriminatedUnion('model', [
  z.object({ model: z.literal('open'), shape: shapeSchema, mix: mixSchema }),
  /**
   * Users who send a request, wait for its response, think, and send the next one. `withinMs`: how long an arrival lasts at
   * least on average, because its requests wait for each other; missing: no time.
   */
  z.object({
    model: z.literal('closed'),
    users: whole,
    thinkMs: amount,
    withinMs: positive.optional(),
    mix: mixSchema,
  }),
  /** Connections that send the next request as soon as they have a response; `maxCalls` in all. */
  z.object({ model: z.literal('saturate'), connections: whole, maxCalls: whole, mix: mixSchema }),
  /** Searches for the highest rate at which responses stay good. */
  z.object({
    model: z.literal('capacity'),
    search: searchSchema,
    spacing: z.enum(['even', 'poisson']),
    /** Pause before a trial whose rate is not higher than the last one. */
    coolDownMs: amount,
    mix: mixSchema,
  }),
  /** Each caller sends the calls in order, one at a time. */
  z.object({
    model: z.literal('sequence'),
    calls: z.array(text),
    /** After this time from the start of the stage, no call is sent; null: after its duration, in an older plan. */
    atMostMs: amount.nullable().default(null),
  }),
])
export type Load = DeepReadonly<z.output<typeof loadSchema>>

const stageSchema = z.object({
  name: text,
  /** From the start of the run. */
  startMs: amount,
  durationMs: amount,
  /** The stage uses `callers` callers from `firstCaller` on, an index into `callers.names`. */
  callers: whole,
  firstCaller: whole,
  /** Whether its callers may exceed the failure limit of the abuse block. Otherwise their failures are paced. */
  beyondFailures: z.boolean(),
  load: loadSchema,
})
export type StagePlan = DeepReadonly<z.output<typeof stageSchema>>

const walletsSchema = z.object({
  /** The short name of the chain of each wallet, in order. */
  chains: z.array(text).min(1),
  /** A file with one private key per line; null: from the environment, or generated for the run. */
  keysFile: text.nullable(),
  /** What each wallet pays for credit before the load, a decimal in USD; null: nothing. */
  topUpUsd: decimalText.nullable(),
  /** The maximum that the run may pay for credit, a decimal in USD. "0": it only asks how to pay. null: all of it is simulated. */
  maxPaidUsd: decimalText.nullable(),
})
export type WalletsPlan = DeepReadonly<z.output<typeof walletsSchema>>

const callersSchema = z.object({
  /** `c0`, `c1`, …: one per account, in order. Then `w0`, `w1`, …: one per wallet. */
  names: z.array(text).min(1).max(10_000),
  /** API keys per account. Its arrivals use them in turn. */
  keysEach: whole.positive(),
  /** null: no caller has a wallet. */
  wallets: walletsSchema.nullable().default(null),
  accountTier: z.enum(accountTiers),
  /** Whether others use the accounts, so that usage has no upper bound; whether the scenario says that callers share none. */
  shared: z.boolean(),
  separate: z.boolean().optional(),
  /** A file with the keys of one account per line; null for keys from the environment, or reference keys on loopback. */
  keysFile: text.nullable(),
})
export type CallersPlan = DeepReadonly<z.output<typeof callersSchema>>

const sourceSchema = z.enum(allSources)

/** A value of the contract that the plan uses, in words, and who stated it. */
const valueSchema = z.object({ name: text, text, source: sourceSchema })
export type PlannedValue = DeepReadonly<z.output<typeof valueSchema>>

/** Whether one of the callers requested its limits from the target. */
const discoverySchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('not-asked'), why: text }),
  z.object({ kind: z.literal('failed'), caller: text, why: text }),
  z.object({ kind: z.literal('answered'), caller: text }),
])
export type LimitDiscovery = DeepReadonly<z.output<typeof discoverySchema>>

/** Which limits rates and forecast use. */
const limitsSchema = z.object({
  /** Which of them applies if both state a limit. */
  by: z.enum(['target', 'profile']),
  discovery: discoverySchema,
  /**
   * Every limit that some call uses, per minute, for one caller; null if not stated. `profile`: by the document or the
   * profile. `from`: the source of the limit that applies.
   */
  scopes: z.array(
    z.object({
      scope: text,
      profile: z.number().nullable(),
      target: z.number().nullable(),
      from: sourceSchema.nullable(),
    }),
  ),
})
export type LimitsPlan = DeepReadonly<z.output<typeof limitsSchema>>

/** All in milliseconds. `idleMs` is the longest silence between two reads of a body. */
const timeoutsSchema = z.object({ connectMs: positive, headersMs: positive, idleMs: positive, totalMs: positive })
export type Timeouts = DeepReadonly<z.output<typeof timeoutsSchema>>

const boundsSchema = z.object({
  maxInFlight: whole.positive(),
  maxBodyBytes: whole.positive(),
  /** How long a run waits for requests in flight after its last stage. */
  drainMs: amount,
  timeouts: z.object({ chat: timeoutsSchema, rpc: timeoutsSchema, control: timeoutsSchema }),
})
export type Bounds = DeepReadonly<z.output<typeof boundsSchema>>

/** What the plan will send, spend and prove. */
const forecastSchema = z.object({
  requests: amount,
  durationMs: amount,
  credits: amount,
  /** The worst case: every completion has its maximum length. A decimal; null if a price is unknown. */
  worstUsd: decimalText.nullable(),
  calls: z.array(
    z.object({
      call: text,
      stage: text,
      requests: amount,
      /** Requests that should succeed: not refused on purpose, and within the limits. Only these are timed. */
      samples: amount,
      /** Whether this is a maximum, since responses set the pace. */
      isAtMost: z.boolean(),
      /** The highest percentile that the samples can prove, such as 99; null for none. */
      provablePercentile: z.number().nullable(),
    }),
  ),
  /**
   * Failures of one caller in a window of the abuse block, and how many the service tolerates. `isMeant`: whether the stage
   * exceeds it on purpose. Otherwise requests that must fail are paced.
   */
  failures: z.array(
    z.object({ stage: text, windowMs: amount, expected: amount, tolerated: amount, isMeant: z.boolean() }),
  ),
  /** The busiest minute of one caller for each limit that it uses. */
  limits: z.array(z.object({ stage: text, scope: text, perMinute: amount, limit: amount })),
})
export type Forecast = DeepReadonly<z.output<typeof forecastSchema>>

const clauseId = openText<ClauseId>()

/** A part of a scenario, as --only names it: calls decide what is sent, clauses what is judged. */
const onlySchema = z.object({
  /** As given: names of calls, and ids or patterns of clauses. */
  names: z.array(text),
  /** The clauses that are judged; null for all of them. */
  clauses: z.array(clauseId).nullable(),
  /** The calls that are sent; null for all of them, since which ones exercise the clauses is unknown. */
  calls: z.array(text).nullable(),
  /** The thresholds of the scenario that are not judged. */
  leftOut: z.array(text),
})
export type OnlyPlan = DeepReadonly<z.output<typeof onlySchema>>

/** What a run with fewer keys than its scenario has callers leaves out. */
const fewerKeysSchema = z.object({
  given: whole,
  /** The callers of the scenario with keys. */
  of: whole,
  leftOut: z.array(text),
})
export type FewerKeys = DeepReadonly<z.output<typeof fewerKeysSchema>>

const serviceSchema = z.object({
  concurrency: whole,
  serviceTimeMs: amount,
  distribution: z.enum(distributions),
  queueLength: whole,
})
export type ServiceSpec = DeepReadonly<z.output<typeof serviceSchema>>

const planFields = z.object({
  schema: z.literal(1),
  scenario: text,
  question: text.nullable(),
  seed: whole,
  /** Base address of the target; null for an embedded reference service. */
  target: text.nullable(),
  /** Capacity of the embedded reference service; null for unlimited. */
  service: serviceSchema.nullable(),
  /** Name of the profile that the target is judged by. */
  profile: text,
  /** The clauses that the target does not promise. They are never judged. */
  notPromised: z.array(clauseId).default([]),
  /** The part of the scenario that is sent and judged; null: all of it. */
  only: onlySchema.nullable().default(null),
  /** null: there is a key for each caller of the scenario. */
  fewerKeys: fewerKeysSchema.nullable().default(null),
  /** The calls of the scenario that are left out, since the target offers no such resource, network or method. */
  notOffered: z.array(text).default([]),
  callers: callersSchema,
  limits: limitsSchema,
  /** The models, networks and prices that the calls use. */
  values: z.array(valueSchema).default([]),
  calls: z.record(text, resolvedCallSchema),
  stages: z.array(stageSchema).min(1),
  /** By call: the longest time in milliseconds of a good response. */
  slo: z.record(text, z.partialRecord(z.enum(timings), positive)),
  thresholds: z.array(thresholdSchema),
  /** The clauses that the run must judge to answer its question. */
  mustJudge: z.array(clauseId).default([]),
  budgetUsd: decimalText.nullable(),
  /** Whether the user has lifted the budget. */
  isBudgetUnlimited: z.boolean().default(false),
  bounds: boundsSchema,
  /** Which observations are kept: all of them, those with a finding, or none. */
  record: z.enum(['all', 'findings', 'none']),
  forecast: forecastSchema,
})

/**
 * A scenario with everything decided: no optional field, no default, no unit in a string. Plain JSON, no secret. A default
 * of the schema stands for a member that plans of older versions lack; members of later versions are allowed.
 */
export type Plan = DeepReadonly<z.output<typeof planFields>>

/** The schema of `plan.json`, with the references between its parts. */
export const planSchema = planFields.superRefine((plan, context) => {
  const report = (path: (string | number)[], message: string) => context.addIssue({ code: 'custom', path, message })
  const isCall = (name: string) => Object.hasOwn(plan.calls, name)
  const stages = new Set(plan.stages.map(({ name }) => name))
  plan.stages.forEach((stage, index) => {
    if (!mixOf(stage).every(([name]) => isCall(name))) report(['stages', index, 'load'], 'calls of the plan')
    if (stage.firstCaller + stage.callers > plan.callers.names.length)
      report(['stages', index, 'callers'], 'callers of the plan')
  })
  if (stages.size < plan.stages.length) report(['stages'], 'stages with different names')
  plan.thresholds.forEach((each, index) => {
    if (each.call !== null && !isCall(each.call)) report(['thresholds', index, 'call'], 'a call of the plan')
    if (each.stage !== null && !stages.has(each.stage)) report(['thresholds', index, 'stage'], 'a stage of the plan')
  })
  for (const name of Object.keys(plan.slo)) if (!isCall(name)) report(['slo', name], 'a call of the plan')
})

/** What the wallets of a run may pay at most, in pico-USD; null: no limit, because the target is on this machine. */
export function maxPaidPicoUsd({ target, callers: { wallets } }: Pick<Plan, 'target' | 'callers'>): bigint | null {
  if (wallets !== null && wallets.maxPaidUsd !== null) return pico(wallets.maxPaidUsd)
  return target === null || isLoopback(target) ? null : 0n
}

/** The number of callers with API keys. They precede the wallets. */
export const keyCallers = ({ names, wallets }: Pick<CallersPlan, 'names' | 'wallets'>): number =>
  names.length - (wallets?.chains.length ?? 0)

/** The number of API keys that a caller uses in turn: one for a wallet, which has none. */
export const keysOfCaller = (callers: CallersPlan, caller: number): number =>
  caller < keyCallers(callers) ? callers.keysEach : 1

/** The maximum duration of a stage. Only a sequence may last longer than its planned duration. */
export const longestMs = ({ load, durationMs }: StagePlan): number =>
  load.model === 'sequence' ? (load.atMostMs ?? durationMs) : durationMs

/** The calls of a stage with their weights. In a sequence, a weight is how often the call occurs. */
export function mixOf({ load }: StagePlan): Mix {
  if (load.model !== 'sequence') return load.mix
  return [...new Set(load.calls)].map(name => [name, load.calls.filter(each => each === name).length])
}

/** One trial of a search: `arrivals` arrivals at a rate of `perSecond`. */
export type Trial = {
  /** Index in its search, from 0. */
  readonly index: number
  /** raise: no rate was exceeded yet · narrow: between a sustained and an exceeded rate · confirm: whether a rate lasts */
  readonly purpose: 'raise' | 'narrow' | 'confirm'
  readonly perSecond: number
  readonly arrivals: number
}

/** Whether a stage is one that Turnpike adds, such as the opening balance check. */
export const isSystemStage = (stage: string): boolean => stage.startsWith('(')

/** The call that Turnpike adds before and after the load to read the balance and the limits of each caller with keys. */
const balanceCheckCall = '(statement)'
/** The call that reads the balance of a wallet, which has no list of limits. */
const walletBalanceCall = '(wallet-balance)'
/** The call that Turnpike adds before the load if wallets must pay for credit. */
export const topUpCall = '(top-up)'

/** The calls that Turnpike adds to a plan. */
export function systemCallsOf({ callers: { wallets } }: Pick<Plan, 'callers'>): Plan['calls'] {
  return {
    [balanceCheckCall]: { kind: 'balance' },
    ...(wallets !== null && { [walletBalanceCall]: { kind: 'wallet-balance' } }),
    ...(wallets !== null && wallets.topUpUsd !== null && { [topUpCall]: paymentOf(wallets.topUpUsd) }),
  }
}

/** The call that reads the balance of a caller. */
export const balanceCheckOf = (callers: CallersPlan, caller: number): string =>
  caller < keyCallers(callers) ? balanceCheckCall : walletBalanceCall
