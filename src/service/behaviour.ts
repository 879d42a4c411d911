import type { AccountTier, Contract, Model, Network, ResourceLimit } from '../contract/contract.ts'
import { isJson, parseJson } from '../lib/json.ts'
import { pico } from '../lib/money.ts'
import { type Account, type Caller, covers, type Spend, spend } from './account.ts'
import { honestOptions, type OptionDecisions } from './applied-options.ts'
import { bearerKey, callerOfKey } from './bearer.ts'
import {
  type Choice,
  type CompletionHead,
  type Cost,
  type FinishReason,
  listPricePico,
  type Usage,
} from './completion.ts'
import type { StreamEvent } from './completion-stream.ts'
import { compress, type Encoding, encodingFor } from './encode.ts'
import type { Reply } from './message.ts'
import { namedModel } from './named-model.ts'
import type { LogRow, Refusal } from './refusal.ts'
import { type Finding, findStored, type Stored } from './replays.ts'
import type { RpcItem, RpcResponse } from './rpc-item.ts'
import type { Visit } from './visit.ts'
import { type Window, windowAt } from './window.ts'

/**
 * The decisions of the service, one function each, without effects beyond their result (`spend` alone has one). What
 * surrounds them — parsing, routing, keeping time — is the same however they are made.
 */
export type Behaviour = OptionDecisions & {
  /** The key of an Authorization header. */
  readonly keyOf: (authorization: string | undefined) => string | null
  readonly caller: (key: string) => Caller | null
  readonly mayUse: (account: Account, model: Model) => boolean
  /** Whether the balance of an account allows for a request. */
  readonly covers: (account: Account, pico: bigint) => boolean

  readonly isFailure: (status: number) => boolean
  readonly toleratesFailures: (failures: number) => boolean
  /** Whom failures are held against, of those who use the account. */
  readonly failureScope: (visit: Visit) => string
  readonly blockedCount: boolean
  readonly blockMs: number
  /** When a block ends, after one more request during it. */
  readonly blockedUntilMs: (untilMs: number, arrivedMs: number) => number
  readonly blockMessage: string

  readonly scope: (scope: string, visit: Visit) => string
  readonly windowAt: (previous: Window | undefined, nowMs: number, windowMs: number) => Window
  readonly admits: (window: Window, limit: number) => boolean
  /** Whether a request that may take so many tokens fits into the window. */
  readonly admitsTokens: (window: Window, limit: number, tokens: number) => boolean
  readonly spend: Spend
  /** Keeps a refusal for the log. */
  readonly logRefusal: (refusals: Refusal[], refusal: Refusal) => void
  readonly limitLogs: (rows: readonly LogRow[]) => unknown

  /** undefined: it is not known. */
  readonly network: (slug: string, networks: ReadonlyMap<string, Network>) => Network | undefined
  readonly batchLimit: number
  readonly forwards: (method: string, network: Network) => boolean
  /** The methods that a refusal names, of those that are not supported. */
  readonly named: (methods: readonly string[]) => readonly string[]
  /** Whether a request runs, so many of whose items are of methods that are not supported. */
  readonly runs: (unsupported: number, items: number) => boolean
  /** What a request costs that is rejected; `supported` items of it could have run. */
  readonly rejectionCredits: (supported: number) => number
  readonly itemCredits: (item: BilledItem) => number
  readonly totalCredits: (credits: readonly number[]) => number
  readonly costPicoUsd: (credits: number) => bigint
  /** What the items of a request are answered with. */
  readonly responses: (responses: readonly RpcResponse[], items: readonly RpcItem[]) => readonly unknown[]

  readonly keyFate: (key: string) => 'used' | 'ignored' | 'rejected'
  /** How long an answer is kept for its key. */
  readonly replayTtlMs: number
  /** Whose cache a key is looked up in. */
  readonly replayScope: (account: Account, visit: Visit) => string
  readonly findStored: (stored: Stored | undefined, fingerprint: string) => Finding
  readonly replayed: (stored: Stored) => Stored
  readonly replayChargePicoUsd: (stored: Stored) => bigint

  readonly acceptsChatType: (contentType: string | undefined) => boolean
  /** What the body of a chat request is taken for. */
  readonly chatBody: (body: unknown) => unknown
  /** What is held against a chat request that is right; null: nothing. */
  readonly chatObjection: (body: Readonly<Record<string, unknown>>) => string | null
  /** Tokens of one choice, of those that it would have had without a bound. */
  readonly completionTokens: (natural: number, bound: number) => number
  readonly chatCostPico: (usage: Usage, price: NonNullable<Model['usdPerMillion']>) => bigint
  /** What a completed request leaves taken from its token window. */
  readonly usedTokens: (usage: Usage) => number
  readonly completionHead: (head: CompletionHead) => Readonly<Record<string, unknown>>
  readonly finishReason: (reason: FinishReason) => string | null
  readonly stopReason: (reason: FinishReason) => unknown
  readonly choice: (choice: Choice) => unknown
  readonly usage: (usage: Usage) => unknown
  readonly cost: (cost: Cost) => unknown
  readonly events: (events: readonly StreamEvent[]) => readonly StreamEvent[]

  /** Requests a minute that an account is allowed. */
  readonly resourceLimit: (limit: ResourceLimit, tier: AccountTier) => number
  /** Whether this is something of which an embedding can be made. */
  readonly isEmbeddable: (input: unknown) => boolean
  /** Which page of how many items is given to one who asked for these; null: for none by name. */
  readonly page: (page: number | null, limit: number | null) => PageAsked

  readonly networks: (slugs: readonly string[]) => unknown
  readonly models: (models: readonly { readonly id: string }[]) => unknown
  readonly rateLimits: (limits: readonly ModelLimits[]) => readonly unknown[]

  /** What a reply is compressed with; null: nothing. `accepted` is the Accept-Encoding of the request. */
  readonly encoding: (accepted: string | undefined, reply: Reply, visit: Visit) => Encoding | null
  readonly compress: (text: string, encoding: Encoding) => Buffer

  /** The last word on every reply, before it is compressed. */
  readonly finish: (reply: Reply, visit: Visit) => Reply
}

export type PageAsked = { readonly page: number; readonly limit: number }

export type BilledItem = {
  readonly family: Network['family']
  readonly baseCredits: number
  readonly multiplier: number
  readonly failed: boolean
  readonly batched: boolean
}

export type ModelLimits = {
  readonly apiModelId: string
  readonly rateLimits: readonly { readonly amount: number; readonly type: 'RPM' | 'TPM' }[]
}

/** Requests a minute of what has no documented limit. */
const unlimited = 1_000
const usualPage = 20
const longestPage = 100

/** The service as documented. */
export function honestBehaviour(contract: Contract): Behaviour {
  const { rpc, idempotency, abuse, resourceLimits } = contract
  const picoUsdPerCredit = pico(rpc.usdPerCredit)
  const keyPattern = new RegExp(idempotency.keyPattern)
  return {
    ...honestOptions(contract),

    keyOf: bearerKey,
    caller: callerOfKey,
    mayUse: ({ means }, { payingOnly }) => !payingOnly || means !== 'unpaying',
    covers,

    isFailure: status =>
      abuse.counts === 'non-success' ? status >= 300 : status >= 400 && status < 500 && status !== 429,
    toleratesFailures: failures => failures <= abuse.failures,
    failureScope: abuse.scope === 'model' ? usedModel : () => 'account',
    blockedCount: abuse.blockedCount === true,
    blockMs: abuse.blockMs,
    blockedUntilMs: untilMs => untilMs,
    blockMessage: `${abuse.opening} (> ${abuse.failures}) resulting in a non-success status code. Please wait ${abuse.blockMs / 1000}s and try again.`,

    scope: scope => scope,
    windowAt,
    admits: (window, limit) => window.requests < limit,
    admitsTokens: (window, limit, tokens) => window.tokens + tokens <= limit,
    spend,
    logRefusal: (refusals, refusal) => {
      refusals.push(refusal)
      if (refusals.length > contract.limitLogs.rows) refusals.shift()
    },
    limitLogs: rows => ({ object: 'list', data: rows }),

    network: (slug, networks) => networks.get(slug),
    batchLimit: rpc.batchLimit,
    forwards: (method, { family }) => Object.hasOwn(rpc.methods[family], method),
    named: methods => methods,
    runs: unsupported => unsupported === 0,
    rejectionCredits: () => 0,
    itemCredits: ({ baseCredits, multiplier, failed, batched }) =>
      failed && (batched || rpc.singleErrorIsDiscounted === true) ? rpc.errorItemCredits : baseCredits * multiplier,
    totalCredits: credits => credits.reduce((total, item) => total + item, 0),
    costPicoUsd: credits => BigInt(credits) * picoUsdPerCredit,
    responses: responses => responses,

    keyFate: key => (keyPattern.test(key) ? 'used' : idempotency.badKey === 'ignored' ? 'ignored' : 'rejected'),
    replayTtlMs: idempotency.ttlMs,
    replayScope: account => `${account.tier}/${account.name}`,
    findStored,
    replayed: stored => stored,
    replayChargePicoUsd: () => 0n,

    acceptsChatType: isJson,
    chatBody: body => body,
    chatObjection: () => null,
    completionTokens: Math.min,
    chatCostPico: listPricePico,
    usedTokens: usage => usage.total_tokens,
    completionHead: head => head,
    finishReason: reason => reason,
    stopReason: reason => (reason === 'tool_calls' ? null : reason),
    choice: choice => choice,
    usage: usage => usage,
    cost: cost => cost,
    events: events => events,

    resourceLimit: (limit, tier) => resourceLimits[tier][limit] ?? resourceLimits.default[limit] ?? unlimited,
    isEmbeddable: input =>
      typeof input === 'string' ||
      (Array.isArray(input) && input.length > 0 && input.every(each => typeof each === 'string')),
    page: (page, limit) => ({ page: page ?? 1, limit: Math.min(limit ?? usualPage, longestPage) }),

    networks: slugs => ({ networks: slugs }),
    models: models => ({ object: 'list', type: 'text', data: models }),
    rateLimits: limits => limits,

    encoding: (accepted, reply, { route }) => (route.kind === 'chat' ? encodingFor(accepted, reply) : null),
    compress,

    finish: reply => reply,
  }
}

/** The model that a chat request names, or the part of the service that any other asks. */
const usedModel = ({ route, request }: Visit): string =>
  route.kind === 'chat' ? `chat:${namedModel(parseJson(request.body))}` : route.kind === 'rpc' ? 'rpc' : 'control'
