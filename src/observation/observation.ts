import { z } from 'zod'
import { accountTiers } from '../contract/contract.ts'
import { signInFormSchema } from '../contract/wallets.ts'
import type { DeepReadonly } from '../lib/json.ts'
import { amount, members, openText, whole } from '../lib/schemas.ts'
import { type RequestDescriptor, requestSchema, requestTraits } from './requests/request.ts'

const text = z.string()
const texts = z.array(text)
/** Three years. Judges add times, and make dates and lists of them. */
const maxMs = 100_000_000_000
export const instant = z.number().min(-maxMs).max(maxMs)
const millis = instant.nullable()

/** Why the machine that runs Turnpike could not open a connection. Not a fault of the target. */
const localFaults = ['no-file-descriptors', 'no-local-ports', 'no-memory', 'not-permitted'] as const
export type LocalFault = (typeof localFaults)[number]

export const isLocalFault = (reason: string): reason is LocalFault => localFaults.some(fault => fault === reason)

/** Why an arrival was due but never sent. */
export type DropReason =
  | 'max-in-flight'
  | 'stage-over'
  | 'budget'
  | 'failure-limit'
  | 'interrupted'
  | 'no-credentials'
  /** A top-up that could not pay: the target offered no fitting way, the run may pay no more, or packages are missing. */
  | 'no-payment'
  /** It depends on the response to an earlier request of its arrival, and that one got none. */
  | 'no-response'
  | LocalFault

/** Why a request has no complete response. A complete response of any status, even 500, is not a failure. */
export const failureReasons = [
  'connect-refused',
  'connect-timeout',
  'connection-lost',
  /** The target closed a kept connection at the moment of the request, before any byte of the response. */
  'connection-reused-closed',
  'name-not-resolved',
  'tls',
  'headers-timeout',
  'idle-timeout',
  'total-timeout',
  'protocol',
  'body-too-large',
  'stream-truncated',
  'stream-error',
  'stream-malformed',
  'cancelled',
] as const
export type FailureReason = (typeof failureReasons)[number]

const outcomeSchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('answered'), status: whole }),
  z.object({ kind: z.literal('failed'), reason: openText<FailureReason>(), detail: text }),
  z.object({ kind: z.literal('dropped'), reason: openText<DropReason>() }),
  /** The client left on purpose before the response was complete. `after`: at which point, such as `5 tokens`. */
  z.object({ kind: z.literal('left'), after: text }),
])
export type Outcome = DeepReadonly<z.output<typeof outcomeSchema>>

/** The number of runs of a grammar that are recorded in full. */
export const maxGrammarRuns = 64

/**
 * What one event of a stream carries. An event may have several parts, in this order. `results`: search results, if the
 * request had options · `empty`: none of the others · `after-done`: anything after the done marker
 */
export type StreamPart =
  | 'results'
  | 'role'
  | 'reasoning'
  | 'content'
  | 'tool-call'
  | 'finish'
  | 'usage'
  | 'error'
  | 'empty'
  | 'malformed'
  | 'done'
  | 'after-done'

const deltaFields = [
  'role',
  'content',
  'reasoning_content',
  'name',
  'thought_signature',
  'tool_calls',
  'reasoning_details',
] as const
/** The fields of a delta whose types are recorded. */
export type DeltaField = (typeof deltaFields)[number]

const jsonTypes = ['string', 'number', 'boolean', 'array', 'object'] as const
export type JsonType = (typeof jsonTypes)[number]

/** What a token stream contained and when: counts, times and types, and only the beginnings of texts. */
const streamSchema = z.object({
  /** Events with a JSON object. */
  chunks: whole,
  /**
   * The parts of the events in order, as runs: `[['role',1],['content',118],['finish',1],['usage',1],['done',1]]`. After
   * `maxGrammarRuns` runs, the rest has one entry for each part, in the order in which the parts occurred last.
   */
  grammar: z.array(z.tuple([openText<StreamPart>(), whole])),
  /** Distinct values over all chunks, at most 3 of each. A missing one is "". */
  ids: texts,
  models: texts,
  objects: texts,
  created: z.number().nullable(),
  finishReasons: texts,
  /** Distinct indices of choices, at most 16. A missing one is null. */
  indices: z.array(z.unknown()),
  /** Distinct values, at most 3. */
  stopReasons: z.array(z.unknown()),
  /**
   * The JSON types of the fields of deltas, in order of first occurrence. Each has the first 80 characters of its first
   * value as JSON. null does not count as a type. At most one entry for each field and type.
   */
  deltaTypes: z.array(z.tuple([z.enum(deltaFields), z.enum(jsonTypes), text])),
  /** The last value of each. */
  usage: z.unknown(),
  cost: z.unknown(),
  /** The field `error` of an event; null if none had one. */
  error: z.unknown(),
  /** The echo of the options, with the last value of each; null if none was recorded. */
  parameters: members.nullable(),
  /** The first 4,096 characters of the content; null if not recorded, since the request had no options. */
  text: text.nullable(),
  /** Names of the called tools, at most 3. */
  toolNames: texts,
  /**
   * The tool calls, joined from their pieces, at most 16, each text cut at 4,096 characters. Missing: there is none, or
   * the request had no options.
   */
  toolCalls: z.array(z.object({ name: text, arguments: text })).optional(),
  /**
   * A fingerprint of what it says: ids, texts, tool calls, finish reasons, usage and cost, however they are cut into
   * chunks. Missing: the request has no idempotency key, or several choices.
   */
  digest: text.optional(),
  contentCharacters: whole,
  reasoningCharacters: whole,
  /** First non-empty token of any kind: content, reasoning or tool call. */
  firstTokenMs: millis,
  firstContentMs: millis,
  lastTokenMs: millis,
  /** Chunks with a token. */
  tokenChunks: whole,
  /** Milliseconds between token chunks, in order, at most 2,000. */
  gapsMs: z.array(instant),
  /** First 200 characters of each event that was not a JSON object, at most 3. */
  malformed: texts,
})
export type StreamRecord = DeepReadonly<z.output<typeof streamSchema>>

/** The most characters of a text that a record has: of one in a long JSON body, and of one in a stream. */
export const recordedLength = { body: 256, stream: 4_096 } as const

/**
 * The body, as far as judges need it. In a `json` value of more than 4 KiB, strings are cut at 256 characters, lists and
 * objects at 1,024 members, and values nested more than 64 deep are null. `cut`: members are missing.
 */
const bodySchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('empty') }),
  z.object({
    kind: z.literal('json'),
    value: z.custom<unknown>(value => value !== undefined, 'any JSON value'),
    cut: z.literal(true).optional(),
    digest: text.nullable(),
  }),
  z.object({ kind: z.literal('text'), head: text, digest: text.nullable() }),
  z.object({ kind: z.literal('stream'), stream: streamSchema }),
  /** The body does not match its Content-Encoding, or is too long. */
  z.object({ kind: z.literal('undecodable'), encoding: text, why: text }),
])
export type Body = DeepReadonly<z.output<typeof bodySchema>>

const responseSchema = z.object({
  status: whole,
  /**
   * Names in lower case. Repeated headers are joined with ", ". Values are trimmed and cut at 512 characters, JSON in
   * base64 at 8,192.
   */
  headers: z.record(text, text),
  /** Present if there were more headers than Turnpike keeps: a header that is not in `headers` may have been sent. */
  headersCut: z.literal(true).optional(),
  bytes: amount,
  body: bodySchema,
})
export type ObservedResponse = DeepReadonly<z.output<typeof responseSchema>>

/** Periods in which Turnpike's event loop was too busy to read responses: how many, and how long the longest was. */
const stallsSchema = z.object({ count: whole.positive(), longestMs: z.number().nonnegative() })

/**
 * The record of one request: when it was due and sent, its response, and its outcome. It is all that the producing half
 * passes to the judging half, so it has every fact that a judge needs, and no secret. All times are in
 * milliseconds since the start of the run. Plain JSON. Members that later versions add are allowed.
 */
export const observationSchema = z.object({
  /** Identifies the request in its run and seeds its content: request n of caller c of C, both from 0, is n × C + c. */
  id: whole,
  /** Position among all requests of its worker, from 0, in the order in which arrivals are sent. */
  seq: whole,
  stage: text,
  /** The index of its trial in a capacity search, from 0. Missing in other stages. */
  trial: whole.max(9_999).optional(),
  /** The name of the call in the scenario. */
  call: text,
  /** The name of the caller; never its key. */
  caller: text,
  /** The short name of the chain of its wallet. Missing: it has API keys. */
  chain: text.optional(),
  /** How its wallet signed in. Missing: it has API keys, or the request needs no sign-in. */
  signIn: signInFormSchema.optional(),
  /** Which key of the caller it used, from 0. A list holds the counts of all keys, so the number has a bound. */
  key: whole.max(1_023),
  accountTier: z.enum(accountTiers),
  request: requestSchema,
  dueMs: instant,
  /** When the request was passed to the transport; null if it never was. */
  sentMs: millis,
  /** Whether the response is to a second attempt, because the target had closed the connection of the first. */
  retried: z.literal(true).optional(),
  /** When the status line and the headers had arrived. */
  headersMs: millis,
  /** When the last byte arrived, or the request failed. */
  endMs: millis,
  /** Missing: the event loop did not stall during the request, or was not watched. */
  stalls: stallsSchema.optional(),
  outcome: outcomeSchema,
  /** The response. Also present if the request failed after the headers. */
  response: responseSchema.nullable(),
})
export type Observation = DeepReadonly<z.output<typeof observationSchema>> & {
  /** Never recorded: audits add it where only the bytes of a response show that it is a replay. */
  readonly repeatsBody?: true
}

/** An observation of one kind of request. */
export type ObservationOf<Request extends RequestDescriptor> = Observation & { readonly request: Request }

/** Whether a request is the first of its arrival. */
export const isFirstRequest = ({ request, id }: Pick<Observation, 'request' | 'id'>): boolean =>
  requestTraits(request).isFirst(request, id)

/** Failures before any byte of the request was sent. */
export const failedBeforeSend: readonly FailureReason[] = [
  'connect-refused',
  'connect-timeout',
  'name-not-resolved',
  'tls',
]

/** Breaks of a connection, which may not be the fault of the service. It may still work on a request that timed out. */
const breaks: readonly string[] = [
  'connect-refused',
  'connection-lost',
  'connection-reused-closed',
] satisfies FailureReason[]

/** Whether a failure before the first byte of a response is a failure of the network. */
export const isBreak = (reason: string): boolean => breaks.includes(reason)

/** Whether the connection of a request broke before the first byte of a response. */
export const isLost = ({ outcome, headersMs }: Pick<Observation, 'outcome' | 'headersMs'>): boolean =>
  outcome.kind === 'failed' && headersMs === null && isBreak(outcome.reason)

/** Takes an observation. Never blocks. */
export type Sink = (observation: Observation) => void

/** Whether the client itself took its time to read the response, so that its times say nothing about the target. */
export const isReadSlowly = ({ request }: Pick<Observation, 'request'>): boolean =>
  'readRate' in request && request.readRate !== undefined

/** Milliseconds from due to end, including delay of the harness itself. */
export const latencyMs = (o: Observation): number | null => (o.endMs === null ? null : o.endMs - o.dueMs)

/** Milliseconds from send to end. */
export const serviceTimeMs = (o: Observation): number | null =>
  o.endMs === null || o.sentMs === null ? null : o.endMs - o.sentMs

/** Milliseconds from due to send: delay of the harness. */
export const latenessMs = (o: Observation): number | null => (o.sentMs === null ? null : o.sentMs - o.dueMs)

export const streamOf = (o: Observation): StreamRecord | null =>
  o.response?.body.kind === 'stream' ? o.response.body.stream : null
