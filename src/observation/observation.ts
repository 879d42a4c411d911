import type { ChatOptions } from '../contract/chat-options.ts'
import type { AccountTier, ModelTier } from '../contract/contract.ts'

/**
 * One request of one arrival: when it was due, when it was sent, what was seen, how it ended. The only thing that
 * crosses from the producing half to the judging half, so it carries every fact that any judge needs, and no secret.
 * All instants are milliseconds since the start of the run. Plain JSON.
 */
export type Observation = {
  /** Names the request in its run: the n-th of caller c of C, both from 0, is n × C + c. What it asks hangs on it. */
  readonly seq: number
  /** Position among the requests of its worker, from 0, in the order in which arrivals are sent; none is left out. */
  readonly place: number
  readonly stage: string
  /** Which trial of a search for a capacity it is of, from 0; left out in every other stage. */
  readonly trial?: number | undefined
  /** The name of the call in the scenario. */
  readonly call: string
  /** The name of the caller; never its key. */
  readonly caller: string
  /** Which of the caller's keys it used, from 0. */
  readonly key: number
  readonly accountTier: AccountTier
  readonly asked: Asked
  readonly dueMs: number
  /** When the request was handed to the transport; null when it never was. */
  readonly sentMs: number | null
  /** When the status line and the headers had arrived. */
  readonly headersMs: number | null
  /** When the last byte had arrived, or the request had failed. */
  readonly endMs: number | null
  readonly outcome: Outcome
  /** What came back; also present on a failure that came after the headers. */
  readonly answer: Answer | null
}

export type Outcome =
  | { readonly kind: 'answered'; readonly status: number }
  | { readonly kind: 'failed'; readonly reason: FailureReason; readonly detail: string }
  | { readonly kind: 'dropped'; readonly reason: DropReason }

/** Why an arrival was due and never sent. */
export type DropReason = 'max-in-flight' | 'stage-over' | 'budget' | 'failure-limit' | 'interrupted' | 'no-credentials'

/** Why a request has no complete answer. A complete answer of any status, 500 included, is no failure. */
export const failureReasons = [
  'connect-refused',
  'connect-timeout',
  'connection-lost',
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

/** Whether a request is the first of its arrival: the others of a replay follow it. */
export const isHead = ({ asked, seq }: Pick<Observation, 'asked' | 'seq'>): boolean =>
  asked.kind !== 'rpc' || asked.replay === null || asked.replay.group === seq

/** Failures that came before a byte of the request was on its way. */
export const neverSent: readonly FailureReason[] = ['connect-refused', 'connect-timeout', 'name-not-resolved', 'tls']

export type Answer = {
  readonly status: number
  /** Names in lower case; repeated ones joined with ", "; each value cut at 512 characters. */
  readonly headers: Readonly<Record<string, string>>
  readonly bytes: number
  readonly body: Body
}

/**
 * A body as far as judges need it. A `json` value of more than 4 KiB is whole, but for strings that were cut at 256
 * characters and for what is nested more than 64 deep, which is null.
 */
export type Body =
  | { readonly kind: 'empty' }
  | { readonly kind: 'json'; readonly value: unknown; readonly digest: string | null }
  | { readonly kind: 'text'; readonly head: string; readonly digest: string | null }
  | { readonly kind: 'stream'; readonly stream: StreamReading }
  /** Not what its Content-Encoding says, or longer than may be kept. */
  | { readonly kind: 'undecodable'; readonly encoding: string; readonly why: string }

export type Asked = ChatAsked | RpcAsked | ListAsked | ResourceAsked | ProbeAsked

export type ChatAsked = {
  readonly kind: 'chat'
  readonly model: string
  readonly modelTier: ModelTier
  readonly stream: boolean
  readonly promptTokens: number
  /** The most tokens of one choice. */
  readonly maxCompletionTokens: number
  /** null: a prompt and a bound are all that was sent. */
  readonly options: ChatOptions | null
}

export type RpcAsked = {
  readonly kind: 'rpc'
  readonly network: string
  readonly batch: boolean
  readonly items: readonly RpcItem[]
  readonly replay: ReplayRole | null
}

export type RpcItem = { readonly id: number | string; readonly method: string; readonly failing: boolean }

/** The part that a request plays among the requests that share one idempotency key. */
export type ReplayRole = {
  /** The `seq` of the first request with the key: names the key without showing it. */
  readonly group: number
  /**
   * original: first use · duplicate: same body · other-key: so, by another API key of the account · conflict: other
   * body · foreign: same key and body, another caller · again: same body, after a while
   */
  readonly role: 'original' | 'duplicate' | 'other-key' | 'conflict' | 'foreign' | 'again'
  readonly concurrent: boolean
}

export type ListAsked = { readonly kind: 'models' | 'networks' | 'rate-limits' | 'rate-limit-logs' }

/** What is neither chat nor RPC. */
export type ResourceAsked = {
  readonly kind: 'resource'
  /** Its name in the contract. */
  readonly resource: string
  readonly body: Readonly<Record<string, unknown>> | null
  /** The page of a list that was asked for, and how many items on it; null: none by name. */
  readonly page: number | null
  readonly limit: number | null
  /** The time that the request stated in milliseconds; null: none. */
  readonly timestampMs: number | null
}

/** A crafted request with the answer that the document promises. */
export type ProbeAsked = { readonly kind: 'probe'; readonly probe: string }

/** A stream whose grammar has so many runs may have had more; they are not kept. */
export const mostRuns = 64

/** What a token stream said and when: counts, instants and types, and of the text only beginnings. */
export type StreamReading = {
  /** Events with a JSON object in them. */
  readonly chunks: number
  /** What the events were, in order, as runs: `[['role',1],['content',118],['finish',1],['usage',1],['done',1]]`. At most `mostRuns`. */
  readonly grammar: readonly (readonly [StreamPart, number])[]
  /** Distinct values over the chunks, at most 3 of each; a missing one is "". */
  readonly ids: readonly string[]
  readonly models: readonly string[]
  readonly objects: readonly string[]
  readonly created: number | null
  readonly finishReasons: readonly string[]
  /** Distinct indices of choices, at most 16; a missing one is null. */
  readonly indices: readonly unknown[]
  /** Distinct ones that were said, at most 3. */
  readonly stopReasons: readonly unknown[]
  /**
   * The JSON types that fields of deltas had, in the order in which they first came, each with the first 80 characters
   * of the first such value as JSON. null is no type here. At most one entry for each field and type.
   */
  readonly deltaTypes: readonly (readonly [field: DeltaField, type: JsonType, first: string])[]
  /** As they were said, the last one counting. */
  readonly usage: unknown
  readonly cost: unknown
  /** The member `error` of an event, as it was said; null when none had one. */
  readonly error: unknown
  /** The echo of the options, its members as they were last said; null when none was kept. */
  readonly parameters: Readonly<Record<string, unknown>> | null
  /** The beginning of the content, at most 4,096 characters; null: not kept, since no options were asked for. */
  readonly text: string | null
  /** Names of the tools that are called, at most 3. */
  readonly toolNames: readonly string[]
  readonly contentCharacters: number
  readonly reasoningCharacters: number
  /** First non-empty token of any sort: content, reasoning or tool call. */
  readonly firstTokenMs: number | null
  readonly firstContentMs: number | null
  readonly lastTokenMs: number | null
  /** Chunks that held a token. */
  readonly tokenChunks: number
  /** Milliseconds between token chunks, in order, at most 2,000. */
  readonly gapsMs: readonly number[]
  /** First 200 characters of each event that was no JSON object, at most 3. */
  readonly malformed: readonly string[]
}

/** The fields of a delta whose types are recorded. */
export type DeltaField =
  | 'role'
  | 'content'
  | 'reasoning_content'
  | 'name'
  | 'thought_signature'
  | 'tool_calls'
  | 'reasoning_details'

export type JsonType = 'string' | 'number' | 'boolean' | 'array' | 'object'

/**
 * What one event of a stream was. One event may be several parts; they are listed in this order.
 * `results`: search results, where options were asked for; `empty`: a chunk that says nothing of these; `after-done`: anything behind the done marker.
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

/** Takes an observation and returns at once. */
export type Sink = (observation: Observation) => void

/** Milliseconds from due to end: what a caller of the schedule waited, the harness's own delay included. */
export const latencyMs = (o: Observation): number | null => (o.endMs === null ? null : o.endMs - o.dueMs)

/** Milliseconds from send to end. */
export const serviceTimeMs = (o: Observation): number | null =>
  o.endMs === null || o.sentMs === null ? null : o.endMs - o.sentMs

/** Milliseconds from due to send: the harness's own fault. */
export const latenessMs = (o: Observation): number | null => (o.sentMs === null ? null : o.sentMs - o.dueMs)

export const streamOf = (o: Observation): StreamReading | null =>
  o.answer?.body.kind === 'stream' ? o.answer.body.stream : null
