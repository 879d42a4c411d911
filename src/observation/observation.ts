import type { ChatOptions } from '../contract/chat-options.ts'
import type { AccountTier, ModelTier } from '../contract/contract.ts'
import type { InvalidPayment, SignInForm } from '../contract/wallets.ts'

/**
 * The record of one request: when it was due and sent, its response, and its outcome. The producing half passes nothing
 * else to the judging half, so an observation has every fact that a judge needs, and no secret. All times are in
 * milliseconds since the start of the run. Plain JSON.
 */
export type Observation = {
  /** Identifies the request in its run and seeds its content: request n of caller c of C, both from 0, is n × C + c. */
  readonly id: number
  /** Position among all requests of its worker, from 0, in the order in which arrivals are sent. */
  readonly seq: number
  readonly stage: string
  /** The index of its trial in a capacity search, from 0. Missing in other stages. */
  readonly trial?: number | undefined
  /** The name of the call in the scenario. */
  readonly call: string
  /** The name of the caller; never its key. */
  readonly caller: string
  /** The short name of the chain of its wallet. Missing: it has API keys. */
  readonly chain?: string | undefined
  /** How its wallet signed in. Missing: it has API keys, or the request needs no sign-in. */
  readonly signIn?: SignInForm | undefined
  /** Which key of the caller it used, from 0. */
  readonly key: number
  readonly accountTier: AccountTier
  readonly request: RequestDescriptor
  readonly dueMs: number
  /** When the request was passed to the transport; null if it never was. */
  readonly sentMs: number | null
  /** Whether the response is to a second attempt, because the target had closed the connection of the first. */
  readonly retried?: true | undefined
  /** When the status line and the headers had arrived. */
  readonly headersMs: number | null
  /** When the last byte arrived, or the request failed. */
  readonly endMs: number | null
  /** Missing: the event loop did not stall during the request, or nothing watched it. */
  readonly stalls?: Stalls | undefined
  readonly outcome: Outcome
  /** The response. Also present if the request failed after the headers. */
  readonly response: ObservedResponse | null
}

/** Periods in which Turnpike's event loop was too busy to read responses: how many, and how long the longest was. */
export type Stalls = { readonly count: number; readonly longestMs: number }

export type Outcome =
  | { readonly kind: 'answered'; readonly status: number }
  | { readonly kind: 'failed'; readonly reason: FailureReason; readonly detail: string }
  | { readonly kind: 'dropped'; readonly reason: DropReason }

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

/** Why the machine that runs Turnpike could not open a connection. The target has no part in it. */
export const localFaults = ['no-file-descriptors', 'no-local-ports', 'no-memory', 'not-permitted'] as const
export type LocalFault = (typeof localFaults)[number]

export const isLocalFault = (reason: string): reason is LocalFault => localFaults.some(fault => fault === reason)

/** Why a request has no complete response. A complete response of any status, even 500, is no failure. */
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

/** Whether a request is the first of its arrival. Only replays and payments have further ones. */
export const isFirstRequest = ({ request, id }: Pick<Observation, 'request' | 'id'>): boolean =>
  request.kind === 'top-up'
    ? request.step === 'offer'
    : request.kind !== 'rpc' || request.replay === null || request.replay.group === id

/** Failures before any byte of the request was sent. */
export const failedBeforeSend: readonly FailureReason[] = [
  'connect-refused',
  'connect-timeout',
  'name-not-resolved',
  'tls',
]

/** Breaks of a connection, which say nothing about the service. A request that times out may still be at work there. */
const breaks: readonly string[] = [
  'connect-refused',
  'connection-lost',
  'connection-reused-closed',
] satisfies FailureReason[]

/** Whether a failure that came before the first byte of a response is one of the network. */
export const isBreak = (reason: string): boolean => breaks.includes(reason)

/** Whether the connection of a request broke before the first byte of a response. */
export const isLost = ({ outcome, headersMs }: Pick<Observation, 'outcome' | 'headersMs'>): boolean =>
  outcome.kind === 'failed' && headersMs === null && isBreak(outcome.reason)

export type ObservedResponse = {
  readonly status: number
  /**
   * Names in lower case. Repeated headers are joined with ", ". Values are trimmed and cut at 512 characters, JSON in
   * base64 at 8,192.
   */
  readonly headers: Readonly<Record<string, string>>
  /** Present if there were more headers than Turnpike keeps: a header that is not in `headers` may have been sent. */
  readonly headersCut?: true | undefined
  readonly bytes: number
  readonly body: Body
}

/**
 * The body, as far as judges need it. In a `json` value of more than 4 KiB, strings are cut at 256 characters, lists and
 * objects at 1,024 members, and values nested more than 64 deep are null. `cut`: members are missing.
 */
export type Body =
  | { readonly kind: 'empty' }
  | { readonly kind: 'json'; readonly value: unknown; readonly cut?: true | undefined; readonly digest: string | null }
  | { readonly kind: 'text'; readonly head: string; readonly digest: string | null }
  | { readonly kind: 'stream'; readonly stream: StreamRecord }
  /** The body does not match its Content-Encoding, or is too long. */
  | { readonly kind: 'undecodable'; readonly encoding: string; readonly why: string }

export type RequestDescriptor =
  | ChatDescriptor
  | RpcDescriptor
  | ListDescriptor
  | ResourceDescriptor
  | TopUpDescriptor
  | WalletBalanceDescriptor
  | ProbeDescriptor

export type ChatDescriptor = {
  readonly kind: 'chat'
  readonly model: string
  /** null: unknown. */
  readonly modelTier: ModelTier | null
  readonly stream: boolean
  readonly promptTokens: number
  /** The maximum number of tokens of one choice. */
  readonly maxCompletionTokens: number
  /** null if the request had only a prompt and a token limit. */
  readonly options: ChatOptions | null
}

export type RpcDescriptor = {
  readonly kind: 'rpc'
  readonly network: string
  readonly batch: boolean
  readonly items: readonly RpcItem[]
  readonly replay: ReplayRole | null
}

export type RpcItem = { readonly id: number | string; readonly method: string; readonly failing: boolean }

/** The role of a request among those that share one idempotency key. */
export type ReplayRole = {
  /** The `id` of the first request with the key. Identifies the key without revealing it. */
  readonly group: number
  /**
   * original: first use · duplicate: same body · other-key: same body, another API key of the account · conflict: another
   * body · foreign: same key and body, another caller · again: same body, after a delay
   */
  readonly role: 'original' | 'duplicate' | 'other-key' | 'conflict' | 'other-caller' | 'late-repeat'
  readonly concurrent: boolean
}

export type ListDescriptor = { readonly kind: 'models' | 'networks' | 'rate-limits' | 'rate-limit-logs' }

/** A resource that is neither chat nor RPC. */
export type ResourceDescriptor = {
  readonly kind: 'resource'
  /** Its name in the contract. */
  readonly resource: string
  readonly body: Readonly<Record<string, unknown>> | null
  /** The requested page of a list and its number of items; null if not sent. */
  readonly page: number | null
  readonly limit: number | null
  /** The timestamp that the request carried, in milliseconds; null for none. */
  readonly timestampMs: number | null
}

/** A request for credit of a wallet: it asks how to pay, or it pays. */
export type TopUpDescriptor = {
  readonly kind: 'top-up'
  readonly step: 'offer' | 'payment'
  /** null: an offer that a caller with API keys asks for. */
  readonly chain: string | null
  readonly address: string | null
  /** null: nothing was signed. */
  readonly payment: PaymentRecord | null
}

/** A signed payment, without its signature. */
export type PaymentRecord = {
  /** The same for every request that carries the same signed payment: the wallet and a number. */
  readonly id: string
  /** A decimal in USD. */
  readonly usd: string
  /** In the smallest unit of the token. */
  readonly amount: string
  /** Who gets it, as the offer says. */
  readonly payTo: string
  /** Whether an earlier request carried it, too. It counts once. */
  readonly isAgain: boolean
  /** The header that carried it. Missing: the first of the contract. */
  readonly header?: string | undefined
  /** What is wrong with it on purpose. Missing: nothing. */
  readonly invalid?: InvalidPayment | undefined
}

export type WalletBalanceDescriptor = { readonly kind: 'wallet-balance'; readonly address: string | null }

/** A crafted request with a documented response. */
export type ProbeDescriptor = {
  readonly kind: 'probe'
  readonly probe: string
  /** The same for requests that are sent at once with one sign-in: the id of the first. Missing: it is alone. */
  readonly race?: number | undefined
}

/** The number of runs of a grammar that are recorded in full. */
export const maxGrammarRuns = 64

/** What a token stream contained and when: counts, times and types, and only the beginnings of texts. */
export type StreamRecord = {
  /** Events with a JSON object. */
  readonly chunks: number
  /**
   * The parts of the events in order, as runs: `[['role',1],['content',118],['finish',1],['usage',1],['done',1]]`. After
   * `maxGrammarRuns` runs, the rest has one entry for each part, in the order in which the parts occurred last.
   */
  readonly grammar: readonly (readonly [StreamPart, number])[]
  /** Distinct values over all chunks, at most 3 of each. A missing one is "". */
  readonly ids: readonly string[]
  readonly models: readonly string[]
  readonly objects: readonly string[]
  readonly created: number | null
  readonly finishReasons: readonly string[]
  /** Distinct indices of choices, at most 16. A missing one is null. */
  readonly indices: readonly unknown[]
  /** Distinct values, at most 3. */
  readonly stopReasons: readonly unknown[]
  /**
   * The JSON types of the fields of deltas, in order of first occurrence. Each has the first 80 characters of its first
   * value as JSON. null does not count as a type. At most one entry for each field and type.
   */
  readonly deltaTypes: readonly (readonly [field: DeltaField, type: JsonType, first: string])[]
  /** The last value of each. */
  readonly usage: unknown
  readonly cost: unknown
  /** The field `error` of an event; null if none had one. */
  readonly error: unknown
  /** The echo of the options, with the last value of each; null if none was recorded. */
  readonly parameters: Readonly<Record<string, unknown>> | null
  /** The first 4,096 characters of the content; null if not recorded, since the request had no options. */
  readonly text: string | null
  /** Names of the called tools, at most 3. */
  readonly toolNames: readonly string[]
  readonly contentCharacters: number
  readonly reasoningCharacters: number
  /** First non-empty token of any kind: content, reasoning or tool call. */
  readonly firstTokenMs: number | null
  readonly firstContentMs: number | null
  readonly lastTokenMs: number | null
  /** Chunks with a token. */
  readonly tokenChunks: number
  /** Milliseconds between token chunks, in order, at most 2,000. */
  readonly gapsMs: readonly number[]
  /** First 200 characters of each event that was not a JSON object, at most 3. */
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

/** Takes an observation. Never blocks. */
export type Sink = (observation: Observation) => void

/** Milliseconds from due to end, including delay of the harness itself. */
export const latencyMs = (o: Observation): number | null => (o.endMs === null ? null : o.endMs - o.dueMs)

/** Milliseconds from send to end. */
export const serviceTimeMs = (o: Observation): number | null =>
  o.endMs === null || o.sentMs === null ? null : o.endMs - o.sentMs

/** Milliseconds from due to send: delay of the harness. */
export const latenessMs = (o: Observation): number | null => (o.sentMs === null ? null : o.sentMs - o.dueMs)

export const streamOf = (o: Observation): StreamRecord | null =>
  o.response?.body.kind === 'stream' ? o.response.body.stream : null
