import { z } from 'zod'
import { accountTiers, modelTiers } from '../contract/contract.ts'
import { probeNames } from '../contract/probes.ts'
import { invalidPaymentNames } from '../contract/wallets.ts'
import type { Accepted, DeepReadonly } from '../lib/json.ts'
import type { Observation } from './observation.ts'

const whole = z.number().int().nonnegative()
const text = z.string()
/** Three years. Judges add times, and make dates and lists of them. */
const maxMs = 100_000_000_000
const instant = z.number().min(-maxMs).max(maxMs)
const millis = instant.nullable()
/** Tokens, bytes, items: judges sum them up. */
const amount = z.number().min(0).max(1e12)
const members = z.record(text, z.unknown())
const texts = z.array(text)
const isProbe = (name: string): boolean => probeNames.some(each => each === name)
const present = z.custom(value => value !== undefined, 'any JSON value')

const info = { runId: text, version: text, target: text, startedAtMs: z.number().min(0).max(8e15) }

/** The first line of a log. */
export const headSchema = z
  .object({
    turnpike: z.literal(2),
    ...info,
    traces: z.literal(true).optional(),
    worker: whole,
    workers: whole.positive().max(1_024),
  })
  .refine(({ worker, workers }) => worker < workers, { path: ['worker'], error: 'a worker of the run' })

/** How a run can end. */
export const endings = [
  'complete',
  'interrupted',
  'target-unreachable',
  'wrong-target',
  'unauthorized',
  'budget-reached',
  'violation-found',
  'worker-lost',
] as const

/** The last line of a log. */
export const footerSchema = z.object({
  ended: z.enum(endings),
  durationMs: instant.nonnegative(),
  loadStartMs: millis,
  startedMs: millis,
  eventLoopDelayMs: z.object({ p99: instant, max: instant }).nullable(),
  statesStalls: z.literal(true).optional(),
  notRecorded: whole,
  pushed: z.object({ takenSamples: whole, lostSamples: whole, failures: whole }).nullable(),
})

/** A line in place of skipped observations. */
export const gapSchema = z.object({ skipped: whole })

const replay = z.object({
  group: whole,
  role: z.enum(['original', 'duplicate', 'other-key', 'conflict', 'other-caller', 'late-repeat']),
  concurrent: z.boolean(),
})

const options = z.object({
  body: members,
  parameters: members,
  suffix: text.nullable(),
  encoding: text.nullable(),
  samePrompt: z.boolean(),
})

const request = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('chat'),
    model: text,
    modelTier: z.enum(modelTiers).nullable(),
    stream: z.boolean(),
    promptTokens: amount,
    maxCompletionTokens: amount,
    options: options.nullable(),
  }),
  z.object({
    kind: z.literal('rpc'),
    network: text,
    batch: z.boolean(),
    items: z.array(z.object({ id: z.union([z.number(), text]), method: text, failing: z.boolean() })),
    replay: replay.nullable(),
  }),
  z.object({ kind: z.enum(['models', 'networks', 'rate-limits', 'rate-limit-logs']) }),
  z.object({
    kind: z.literal('resource'),
    resource: text,
    body: members.nullable(),
    page: amount.nullable(),
    limit: amount.nullable(),
    timestampMs: z.number().min(0).max(8e15).nullable(),
  }),
  z.object({
    kind: z.literal('top-up'),
    step: z.enum(['offer', 'payment']),
    chain: text.nullable(),
    address: text.nullable(),
    payment: z
      .object({
        ...{ id: text, usd: text, amount: text, payTo: text, isAgain: z.boolean() },
        header: text.optional(),
        invalid: z.enum(invalidPaymentNames).optional(),
      })
      .nullable(),
  }),
  z.object({ kind: z.literal('wallet-balance'), address: text.nullable() }),
  z.object({ kind: z.literal('probe'), probe: text.refine(isProbe, 'the name of a probe'), race: whole.optional() }),
])

const deltaField = z.enum([
  'role',
  'content',
  'reasoning_content',
  'name',
  'thought_signature',
  'tool_calls',
  'reasoning_details',
])
const jsonType = z.enum(['string', 'number', 'boolean', 'array', 'object'])

const stream = z.object({
  chunks: whole,
  grammar: z.array(z.tuple([text, whole])),
  ids: texts,
  models: texts,
  objects: texts,
  created: z.number().nullable(),
  finishReasons: texts,
  indices: z.array(z.unknown()),
  stopReasons: z.array(z.unknown()),
  deltaTypes: z.array(z.tuple([deltaField, jsonType, text])),
  parameters: members.nullable(),
  text: text.nullable(),
  toolNames: texts,
  contentCharacters: whole,
  reasoningCharacters: whole,
  firstTokenMs: millis,
  firstContentMs: millis,
  lastTokenMs: millis,
  tokenChunks: whole,
  gapsMs: z.array(instant),
  malformed: texts,
})

const body = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('empty') }),
  z.object({ kind: z.literal('json'), value: present, digest: text.nullable() }),
  z.object({ kind: z.literal('text'), head: text, digest: text.nullable() }),
  z.object({ kind: z.literal('stream'), stream }),
  z.object({ kind: z.literal('undecodable'), encoding: text, why: text }),
])

/** An observation, with what its type states. Members that later versions add are allowed. */
export const observationSchema = z.object({
  id: whole,
  seq: whole,
  stage: text,
  trial: whole.max(9_999).optional(),
  call: text,
  caller: text,
  chain: text.optional(),
  signIn: z.object({ isLegacy: z.boolean(), layout: z.enum(['message', 'fields']) }).optional(),
  /** A list holds the counts of all keys. */
  key: whole.max(1_023),
  accountTier: z.enum(accountTiers),
  request,
  dueMs: instant,
  sentMs: millis,
  headersMs: millis,
  endMs: millis,
  stalls: z.object({ count: whole.positive(), longestMs: z.number().nonnegative() }).optional(),
  outcome: z.discriminatedUnion('kind', [
    z.object({ kind: z.literal('answered'), status: whole }),
    z.object({ kind: z.literal('failed'), reason: text, detail: text }),
    z.object({ kind: z.literal('dropped'), reason: text }),
  ]),
  response: z.object({ status: whole, headers: z.record(text, text), bytes: amount, body }).nullable(),
})

/** Does not compile if the schema could refuse an observation. */
export type AcceptedObservation = Accepted<Observation, DeepReadonly<z.input<typeof observationSchema>>>

/** The lines that a log accepts as header and footer. */
export type ReadHeader = DeepReadonly<z.input<typeof headSchema>>
export type ReadFooter = DeepReadonly<z.input<typeof footerSchema>>
