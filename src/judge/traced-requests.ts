import type { Contract } from '../contract/contract.ts'
import { toObject } from '../lib/json.ts'
import type { Observation } from '../observation/observation.ts'
import { type ChatDescriptor, isChat } from '../observation/requests/chat.ts'
import { requestTraits } from '../observation/requests/request.ts'
import { isRpc } from '../observation/requests/rpc.ts'
import { tokenCounts } from './checks/completion.ts'

/** A request that was chosen for a trace, as plain data. Instants are milliseconds on the clock of the run. */
export type TracedRequest = {
  readonly id: number
  readonly call: string
  readonly stage: string
  readonly caller: string
  /** Why it was chosen: a finding shows it, few of its call took longer, or by chance. */
  readonly chosen: 'finding' | 'slow' | 'sample'
  /** The clauses that it violates, as far as they are known. */
  readonly clauses: readonly string[]
  readonly method: string
  /** Without the values of parameters, such as `{walletAddress}`. */
  readonly route: string
  readonly dueMs: number
  readonly sentMs: number
  readonly headersMs: number | null
  readonly firstTokenMs: number | null
  readonly endMs: number
  /** null: no response. */
  readonly status: number | null
  /** Why there is no complete response; null: there is one. */
  readonly failure: string | null
  readonly wasRetried: boolean
  /** null: no chat completion. */
  readonly chat: TracedChat | null
  /** The JSON-RPC methods; null: another request. */
  readonly rpcMethods: readonly string[] | null
}

type TracedChat = {
  readonly model: string
  readonly maxTokens: number
  readonly isStream: boolean
  /** What the response says; null: nothing. */
  readonly responseModel: string | null
  readonly inputTokens: number | null
  readonly outputTokens: number | null
  readonly finishReasons: readonly string[]
}

/** null: it was never sent. */
export function tracedRequest(
  observation: Observation,
  contract: Contract,
  { chosen, clauses }: Pick<TracedRequest, 'chosen' | 'clauses'>,
): TracedRequest | null {
  const { id, call, stage, caller, request, dueMs, sentMs, headersMs, endMs, outcome, response, retried } = observation
  if (sentMs === null || endMs === null) return null
  const stream = response?.body.kind === 'stream' ? response.body.stream : null
  return {
    ...{ id, call, stage, caller, chosen, clauses, dueMs, sentMs, headersMs, endMs },
    ...requestTraits(request).endpoint(request, contract),
    firstTokenMs: stream?.firstTokenMs ?? null,
    status: response?.status ?? null,
    failure: outcome.kind === 'failed' ? outcome.reason : null,
    wasRetried: retried === true,
    chat: isChat(request) ? chatOf(request, response) : null,
    rpcMethods: isRpc(request) ? request.items.map(({ method }) => method) : null,
  }
}

function chatOf(
  { model, maxCompletionTokens: maxTokens, stream: isStream }: ChatDescriptor,
  response: Observation['response'],
): TracedChat {
  const body = response?.body
  const asked = { model, maxTokens, isStream }
  if (body?.kind === 'stream') {
    const { models, usage, finishReasons } = body.stream
    return { ...asked, ...usageOf(usage), responseModel: models[0] || null, finishReasons }
  }
  const completion = body?.kind === 'json' ? toObject(body.value) : null
  const choices = Array.isArray(completion?.choices) ? completion.choices.slice(0, maxListed) : []
  return {
    ...asked,
    ...usageOf(completion?.usage),
    responseModel: textOf(completion?.model),
    finishReasons: choices.flatMap(choice => textOf(toObject(choice)?.finish_reason) ?? []),
  }
}

const maxListed = 16
const textOf = (value: unknown): string | null => (typeof value === 'string' && value !== '' ? value : null)

function usageOf(usage: unknown): Pick<TracedChat, 'inputTokens' | 'outputTokens'> {
  const counts = tokenCounts(usage)
  return { inputTokens: counts?.prompt ?? null, outputTokens: counts?.completion ?? null }
}

/** Chooses a few requests for traces when their results are known. It holds the candidates of one interval. */
export type TraceChoice = {
  /** `isCited`: an example of a finding cites it. It is chosen at the end, with all of its clauses. */
  readonly add: (observation: Observation, isCited: boolean) => void
  /** Chooses from the last interval. */
  readonly end: () => void
  readonly snapshot: () => TraceSnapshot
}

export type TraceSnapshot = {
  /** How many were chosen so far. */
  readonly count: number
  /** The last of them, at most `maxShown`. */
  readonly last: readonly TracedRequest[]
}

const intervalMs = 5_000
/** Of each call in each interval. */
const slowest = 2
const sampled = 2
const maxCalls = 16
/** More than three intervals can have. */
const maxShown = 256

type Candidate = { readonly observation: Observation; readonly rank: number }
type OfCall = { slow: readonly Candidate[]; sample: readonly Candidate[] }

/** `chanceOf`: a number that looks random, always the same for a request. The smallest of a call are its sample. */
export function createTraceChoice(contract: Contract, chanceOf: (requestId: number) => number): TraceChoice {
  let interval = Number.NEGATIVE_INFINITY
  let calls = new Map<string, OfCall>()
  let count = 0
  let last: readonly TracedRequest[] = []

  function choose(): void {
    const chosen = new Map<number, TracedRequest | null>()
    for (const { slow, sample } of calls.values()) {
      for (const { observation } of slow)
        chosen.set(observation.id, tracedRequest(observation, contract, { chosen: 'slow', clauses: [] }))
      for (const { observation } of sample)
        if (!chosen.has(observation.id))
          chosen.set(observation.id, tracedRequest(observation, contract, { chosen: 'sample', clauses: [] }))
    }
    const added = [...chosen.values()].filter(each => each !== null)
    count += added.length
    last = [...last, ...added].slice(-maxShown)
    calls = new Map()
  }

  return {
    add: (observation, isCited) => {
      const { endMs, sentMs, call, id } = observation
      if (isCited || endMs === null || sentMs === null) return
      const current = Math.floor(endMs / intervalMs)
      if (current > interval) {
        choose()
        interval = current
      }
      let ofCall = calls.get(call)
      if (ofCall === undefined) {
        if (calls.size === maxCalls) return
        ofCall = { slow: [], sample: [] }
        calls.set(call, ofCall)
      }
      ofCall.slow = withSmallest(ofCall.slow, { observation, rank: sentMs - endMs }, slowest)
      ofCall.sample = withSmallest(ofCall.sample, { observation, rank: chanceOf(id) }, sampled)
    },
    end: choose,
    snapshot: () => ({ count, last }),
  }
}

function withSmallest(kept: readonly Candidate[], added: Candidate, max: number): readonly Candidate[] {
  const largest = kept.at(-1)
  if (kept.length === max && largest !== undefined && added.rank >= largest.rank) return kept
  return [...kept, added].sort((a, b) => a.rank - b.rank).slice(0, max)
}
