import { z } from 'zod'
import { accountTiers, modelTiers } from '../contract/contract.ts'
import { probeNames } from '../contract/probes.ts'
import { invalidPaymentNames } from '../contract/wallets.ts'
import type { Accepted, DeepReadonly } from '../lib/json.ts'
import { operators, type Plan, plainCounts, timings } from '../plan/plan.ts'

const whole = z.number().int().nonnegative()
const positive = z.number().positive()
const amount = z.number().nonnegative()
const share = z.number().min(0).max(1)
const decimal = z.string().regex(/^-?\d{1,30}(\.\d{1,30})?$/, 'a decimal')
const text = z.string()
const members = z.record(text, z.unknown())
const mix = z.array(z.tuple([text, amount]))

const isProbe = (name: string): boolean => probeNames.some(each => each === name)

const rpcCall = z.object({
  kind: z.literal('rpc'),
  network: text,
  methods: mix,
  batchSize: whole.nullable(),
  failing: amount,
})

const options = z.object({
  body: members,
  parameters: members,
  suffix: text.nullable(),
  encoding: text.nullable(),
  samePrompt: z.boolean(),
})

const call = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('chat'),
    stream: z.boolean(),
    model: text,
    modelTier: z.enum(modelTiers).nullable(),
    promptTokens: whole,
    maxCompletionTokens: whole,
    isBounded: z.boolean(),
    options: options.nullable(),
  }),
  rpcCall,
  z.object({
    kind: z.literal('replay'),
    duplicates: whole,
    concurrent: z.boolean(),
    of: rpcCall,
    conflictRatio: share,
    otherCallerRatio: share,
    otherKeyRatio: share,
    repeatAfterMs: amount.nullable(),
  }),
  z.object({ kind: z.enum(['models', 'networks', 'rate-limits', 'rate-limit-logs']) }),
  z.object({
    kind: z.literal('resource'),
    resource: text,
    draws: text.nullable(),
    body: members,
    page: whole.nullable(),
    limit: whole.nullable(),
  }),
  z.object({
    kind: z.literal('top-up'),
    pay: z.boolean(),
    usd: decimal,
    duplicates: whole,
    concurrent: z.boolean(),
    invalid: z.enum(invalidPaymentNames).nullable(),
  }),
  z.object({ kind: z.literal('wallet-balance') }),
  z.object({
    kind: z.literal('probe'),
    probe: text.refine(isProbe, 'the name of a probe'),
    copies: whole.positive().optional(),
  }),
])

const shape = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('constant'), perSecond: amount }),
  z.object({ kind: z.literal('poisson'), perSecond: amount }),
  z.object({ kind: z.literal('ramp'), fromPerSecond: amount, toPerSecond: amount }),
  z.object({
    kind: z.literal('stairs'),
    fromPerSecond: amount,
    toPerSecond: amount,
    steps: whole.positive(),
    rampMs: amount,
  }),
  z.object({
    kind: z.literal('spike'),
    basePerSecond: amount,
    peakPerSecond: amount,
    atMs: amount,
    forMs: amount,
    rampUpMs: amount,
    rampDownMs: amount,
  }),
  z.object({ kind: z.literal('burst'), size: whole, everyMs: positive }),
  z.object({ kind: z.literal('recorded'), run: text, stage: text.nullable(), speed: positive, packed: text }),
  z.object({ kind: z.literal('pause') }),
])

const search = z.object({
  fromPerSecond: positive,
  toPerSecond: positive,
  goodRatio: share,
  precision: amount,
  trialMs: positive,
  confirmMs: positive,
  confirmSamples: whole,
  mix: z.record(text, amount),
  callerPerSecond: amount.nullable().default(null),
})

const load = z.discriminatedUnion('model', [
  z.object({ model: z.literal('open'), shape, mix }),
  z.object({ model: z.literal('closed'), users: whole, thinkMs: amount, mix }),
  z.object({ model: z.literal('saturate'), connections: whole, maxCalls: whole, mix }),
  z.object({
    model: z.literal('capacity'),
    search,
    spacing: z.enum(['even', 'poisson']),
    coolDownMs: amount,
    mix,
  }),
  z.object({ model: z.literal('sequence'), calls: z.array(text), atMostMs: amount.nullable().default(null) }),
])

const stage = z.object({
  name: text,
  startMs: amount,
  durationMs: amount,
  callers: whole,
  firstCaller: whole,
  beyondFailures: z.boolean(),
  load,
})

const count = z.discriminatedUnion('kind', [
  z.object({
    kind: z.enum(plainCounts),
  }),
  z.object({ kind: z.literal('status'), status: whole }),
])

const threshold = z.object({
  expression: text,
  why: text,
  measure: z.discriminatedUnion('kind', [
    z.object({
      kind: z.literal('timing'),
      timing: z.enum(timings),
      of: z.discriminatedUnion('kind', [
        z.object({ kind: z.literal('percentile'), percent: z.number().positive().lt(100) }),
        z.object({ kind: z.enum(['mean', 'min', 'max']) }),
      ]),
    }),
    z.object({ kind: z.enum(['count', 'ratio', 'per-second']), count }),
    z.object({ kind: z.enum(['capacity', 'credits', 'spend']) }),
  ]),
  call: text.nullable(),
  stage: text.nullable(),
  operator: z.enum(operators),
  bound: z.number(),
})

const timeouts = z.object({ connectMs: positive, headersMs: positive, idleMs: positive, totalMs: positive })

const forecast = z.object({
  requests: amount,
  durationMs: amount,
  credits: amount,
  worstUsd: decimal.nullable(),
  calls: z.array(
    z.object({
      call: text,
      stage: text,
      requests: amount,
      samples: amount,
      isAtMost: z.boolean(),
      provablePercentile: z.number().nullable(),
    }),
  ),
  failures: z.array(
    z.object({ stage: text, windowMs: amount, expected: amount, tolerated: amount, isMeant: z.boolean() }),
  ),
  limits: z.array(z.object({ stage: text, scope: text, perMinute: amount, limit: amount })),
})

const source = z.enum(['target', 'profile', 'document', 'default'])

/** `plan.json`. It accepts members that later versions add. */
const planSchema = z.object({
  schema: z.literal(1),
  scenario: text,
  question: text.nullable(),
  seed: whole,
  target: text.nullable(),
  service: z.object({ concurrency: whole, serviceTimeMs: amount, distribution: text, queueLength: whole }).nullable(),
  profile: text,
  notPromised: z.array(text).optional(),
  only: z
    .object({
      names: z.array(text),
      clauses: z.array(text).nullable(),
      calls: z.array(text).nullable(),
      leftOut: z.array(text),
    })
    .nullable()
    .optional(),
  values: z.array(z.object({ name: text, text, source })).optional(),
  isBudgetUnlimited: z.boolean().optional(),
  callers: z.object({
    names: z.array(text).min(1).max(10_000),
    keysEach: whole.positive(),
    wallets: z
      .object({
        chains: z.array(text).min(1),
        keysFile: text.nullable(),
        topUpUsd: decimal.nullable(),
        maxPaidUsd: decimal.nullable(),
      })
      .nullable()
      .default(null),
    accountTier: z.enum(accountTiers),
    shared: z.boolean(),
    keysFile: text.nullable(),
  }),
  limits: z.object({
    by: source,
    discovery: z.discriminatedUnion('kind', [
      z.object({ kind: z.literal('not-asked'), why: text }),
      z.object({ kind: z.literal('failed'), caller: text, why: text }),
      z.object({ kind: z.literal('answered'), caller: text }),
    ]),
    scopes: z.array(
      z.object({ scope: text, profile: z.number().nullable(), target: z.number().nullable(), from: source.nullable() }),
    ),
  }),
  calls: z.record(text, call),
  stages: z.array(stage).min(1),
  slo: z.record(text, z.partialRecord(z.enum(timings), positive)),
  thresholds: z.array(threshold),
  mustJudge: z.array(text).optional(),
  budgetUsd: decimal.nullable(),
  bounds: z.object({
    maxInFlight: whole.positive(),
    maxBodyBytes: whole.positive(),
    drainMs: amount,
    timeouts: z.object({ chat: timeouts, rpc: timeouts, control: timeouts }),
  }),
  record: z.enum(['all', 'findings', 'none']),
  forecast,
})

/** Does not compile if the schema could refuse a plan. */
export type AcceptedPlan = Accepted<Plan, DeepReadonly<z.input<typeof planSchema>>>

/** The schema of `plan.json`, with the references between its parts. */
export const checkedPlanSchema = planSchema.superRefine((plan, context) => {
  const report = (path: (string | number)[], message: string) => context.addIssue({ code: 'custom', path, message })
  const isCall = (name: string) => Object.hasOwn(plan.calls, name)
  const stages = new Set(plan.stages.map(({ name }) => name))
  plan.stages.forEach(({ load: stageLoad, firstCaller, callers }, index) => {
    const names = stageLoad.model === 'sequence' ? stageLoad.calls : stageLoad.mix.map(([name]) => name)
    if (!names.every(isCall)) report(['stages', index, 'load'], 'calls of the plan')
    if (firstCaller + callers > plan.callers.names.length) report(['stages', index, 'callers'], 'callers of the plan')
  })
  if (stages.size < plan.stages.length) report(['stages'], 'stages with different names')
  plan.thresholds.forEach((each, index) => {
    if (each.call !== null && !isCall(each.call)) report(['thresholds', index, 'call'], 'a call of the plan')
    if (each.stage !== null && !stages.has(each.stage)) report(['thresholds', index, 'stage'], 'a stage of the plan')
  })
  for (const name of Object.keys(plan.slo)) if (!isCall(name)) report(['slo', name], 'a call of the plan')
})
