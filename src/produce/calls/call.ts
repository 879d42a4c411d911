import type { ReadRate } from '../../contract/chat-options.ts'
import type { Contract } from '../../contract/contract.ts'
import type { AddedSecrets } from '../../contract/requests/additions.ts'
import type { Mask } from '../../lib/mask/mask.ts'
import type { RequestDescriptor } from '../../observation/requests/request.ts'
import type { ReplayRole } from '../../observation/requests/traits.ts'
import type { ArrivalStep, Bounds, Call, HangUp, Plan } from '../../plan/plan.ts'
import type { RecordedPrompt } from '../arrivals/arrivals.ts'
import type { Headers, WalletCaller } from '../callers/caller.ts'
import type { HttpRequest } from '../transport/transport.ts'
import type { AnswerSink, StreamReader } from './stream-reader.ts'

/** A request that is ready to send, its description for the checks, and how its response is read. */
export type BuiltRequest<Descriptor = RequestDescriptor> = {
  readonly descriptor: Descriptor
  readonly request: Omit<HttpRequest, 'onStreamBytes'>
  /** Missing: its response is not an event stream. */
  readonly openReader?: OpenReader | null
  /** How the client leaves. Missing: it reads the response to its end. */
  readonly leaves?: HangUp | undefined
  /** How fast the client reads a stream. Missing: as it comes. */
  readonly readRate?: ReadRate | undefined
  /** Whether the observation has a fingerprint of the body, so that responses to replays can be compared. */
  readonly keepsDigest?: boolean
}

/** Makes the reader of an event stream. `digest`: whether its record has a fingerprint of what the stream says. */
export type OpenReader = (contract: Contract, mask: Mask, digest: boolean) => StreamReader

/** The inputs of every request builder. */
export type RequestContext = {
  readonly contract: Contract
  readonly bounds: Bounds
  readonly seed: number
  /** The secret headers that the profile adds. Missing: requests have the names of their variables, as in commands. */
  readonly addedSecrets?: AddedSecrets | undefined
  /** Makes the idempotency keys of this run unique. */
  readonly runId: string
  /** The callers of the plan, which decide some steps of a session. Missing: steps are given, or need no other caller or key. */
  readonly planned?: Plan['callers'] | undefined
}

/** Which request of which arrival. The content of a request depends only on this position, its call and the seed. */
export type RequestPosition = {
  /** The id of the first request of the arrival. */
  readonly firstId: number
  readonly step: ArrivalStep
  /** Missing: it is not a turn of a conversation. */
  readonly turn?: TurnPosition | undefined
  /** Missing: its call decides its prompt. */
  readonly prompt?: RecordedPrompt | undefined
  /** The wallet that sends it. Missing: it is sent by a caller with API keys. */
  readonly wallet?: Pick<WalletCaller, 'chain' | 'address'> | undefined
}

export type Message =
  | { readonly role: 'system' | 'user'; readonly content: string }
  | { readonly role: 'assistant'; readonly content: string | null; readonly tool_calls?: readonly CalledTool[] }
  | { readonly role: 'tool'; readonly tool_call_id: string; readonly content: string }

/** A call of a tool as the target sent it, and as later turns repeat it. */
export type CalledTool = {
  readonly id: string
  readonly type: 'function'
  readonly function: { readonly name: string; readonly arguments: string }
}

/** What earlier turns of a session leave to the later ones. Grows while the session goes on. */
export type SessionHistory = {
  readonly messages: Message[]
  /** Tokens of the texts that no other session has: not of answers, whose length is open. */
  ownTokens: number
  /** Of all messages, at most. */
  tokens: number
  /** The ids of the tool calls that the next turn has results for. Empty: the user speaks next. */
  called: readonly string[]
}

/** Which turn of its session a request is. */
export type TurnPosition = {
  /** From 0. */
  readonly number: number
  readonly turns: number
  /** The `id` of the first request with its idempotency key. Missing: it has none. */
  readonly group?: number | undefined
  /** The steps of its session. Missing: the plan and the seed decide them again. */
  readonly steps?: readonly ArrivalStep[] | undefined
  /** What earlier turns left. Missing: every earlier turn has a synthetic answer, as far as the plan decides it. */
  readonly history?: SessionHistory | undefined
  /** Missing: the answer is not needed. */
  readonly onAnswer?: AnswerSink | undefined
}

/** How the requests of one kind of call are made. */
export type RequestBuilder<Plan = Call> = {
  /** `headers` authenticate the caller. */
  readonly build: (plan: Plan, position: RequestPosition, headers: Headers, context: RequestContext) => BuiltRequest
  /** Wallets send it without a sign-in, because everyone may send it. */
  readonly isUnsigned?: true
  /** How many requests of an arrival the target should refuse. `steps`: null if they are not known yet. Missing: none. */
  readonly refusalsOf?: (plan: Plan, steps: readonly ArrivalStep[] | null, contract: Contract) => number
}

/** The plan of one kind of call. */
export type CallOf<Kind extends Call['kind']> = Extract<Call, { kind: Kind }>

/** The header with the idempotency key of a request. */
export const keyOf = (
  replay: ReplayRole | null,
  { idempotency }: Contract,
  runId: string,
): Readonly<Record<string, string>> =>
  replay === null ? {} : { [idempotency.header.toLowerCase()]: `${runId}-${replay.group}` }

export const jsonHeaders = { 'content-type': 'application/json', accept: 'application/json' } as const
