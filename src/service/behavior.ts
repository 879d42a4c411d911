import type { AccountTier, Contract, Model, Network } from '../contract/contract.ts'
import { type Draw, limiterOf } from '../contract/limiters.ts'
import { isLimitStatus, writtenLimit } from '../contract/limits.ts'
import { isJson, parseJson } from '../lib/json.ts'
import { pico } from '../lib/money.ts'
import {
  type Account,
  type AccountHolder,
  type ApplyCharge,
  accountHolderOf,
  alignedWindowAt,
  bearerKey,
  canPay,
  charge,
  type LimitRejection,
  type LogRow,
  type ScopeLimits,
  type Window,
  windowAt,
} from './account.ts'
import {
  type Choice,
  type CompletionHead,
  type Cost,
  type FinishReason,
  listPricePico,
  type Usage,
} from './chat/completion.ts'
import { defaultHangUpRules, type HangUpRules } from './chat/hang-up.ts'
import { defaultOptionRules, type OptionRules } from './chat/options.ts'
import type { CacheUse } from './chat/prompt-cache.ts'
import type { StreamEvent } from './chat/stream.ts'
import { defaultFurtherRules, type FurtherRules } from './further-limits.ts'
import { compress, type Encoding, encodingFor, type Reply, type RequestState } from './message.ts'
import { namedModel } from './router.ts'
import type { ParsedItem, RpcResponse } from './rpc/item.ts'
import { type CachedReply, lookUpReply, type ReplayLookup } from './rpc/replays.ts'
import { defaultWalletRules, type WalletRules } from './wallets/wallets.ts'

type RulesOfParts = OptionRules & WalletRules & HangUpRules & FurtherRules

/**
 * The decisions of the service, one function each. They have no side effects, except `charge` and `logRejection`. A lie
 * replaces some of them; parsing, routing and timing around them stay the same.
 */
export type Behavior = RulesOfParts & {
  /** The key of an Authorization header. */
  readonly keyOf: (authorization: string | undefined) => string | null
  readonly accountHolder: (key: string) => AccountHolder | null
  readonly mayUse: (account: Account, model: Model) => boolean
  /** Whether the balance of an account covers a request. */
  readonly canPay: (account: Account, pico: bigint) => boolean

  readonly isFailure: (status: number) => boolean
  /** How many failures a failed request counts as. */
  readonly failureWeight: (status: number) => number
  /** `blocks`: how often the caller was blocked before. */
  readonly toleratesFailures: (failures: number, blocks: number) => boolean
  /** Whether a failure of that age still counts when the status of another request is known. */
  readonly isRemembered: (ageMs: number, status: number) => boolean
  /** Which requests of an account share a count of failures. */
  readonly failureScope: (state: RequestState) => string
  readonly blockedCount: boolean
  readonly blockMs: (blocks: number) => number
  /** When a block ends after one more request during it. */
  readonly blockedUntilMs: (untilMs: number, arrivedMs: number) => number
  readonly blockMessage: string

  readonly scope: (scope: string, state: RequestState) => string
  readonly windowAt: (previous: Window | undefined, nowMs: number, windowMs: number) => Window
  readonly admits: (window: Window, limit: number) => boolean
  /** Whether a request of at most `tokens` tokens fits into the window. */
  readonly admitsTokens: (window: Window, limit: number, tokens: number) => boolean
  readonly charge: ApplyCharge
  /** The limits that an account has. */
  readonly limitsOf: (draw: Draw, account: Account) => ScopeLimits
  /** Records a rejection for the log of rejected requests. */
  readonly logRejection: (rejections: LimitRejection[], rejection: LimitRejection) => void
  readonly limitLogs: (rows: readonly LogRow[]) => unknown

  /** undefined: the network is unknown. */
  readonly network: (slug: string, networks: ReadonlyMap<string, Network>) => Network | undefined
  readonly batchLimit: number
  /** How many blocks the node is behind that serves an item of a request. Both are counted from 0. */
  readonly nodeLag: (request: number, item: number) => number
  readonly forwards: (method: string, network: Network) => boolean
  /** Which of the unsupported methods an error message names. */
  readonly named: (methods: readonly string[]) => readonly string[]
  /** Whether a request runs although `unsupported` of its items have a method that is not supported. */
  readonly runs: (unsupported: number, items: number) => boolean
  /** Credits for a rejected request; `supported` of its items could have run. */
  readonly rejectionCredits: (supported: number) => number
  readonly itemCredits: (item: BilledItem) => number
  readonly totalCredits: (credits: readonly number[]) => number
  readonly costPicoUsd: (credits: number) => bigint
  /** The responses to send, from those of the node. */
  readonly responses: (responses: readonly RpcResponse[], items: readonly ParsedItem[]) => readonly unknown[]

  readonly keyFate: (key: string) => 'used' | 'ignored' | 'rejected'
  /** The key under which a reply is cached. */
  readonly cachedKey: (key: string) => string
  /** How long a reply is cached for its idempotency key. */
  readonly replayTtlMs: number
  /** Which requests share a cache of keys. */
  readonly replayScope: (account: Account, state: RequestState) => string
  /** What of a body decides whether another request with the same key has the same one. */
  readonly comparedBody: (body: string) => string
  readonly lookUpReply: (stored: CachedReply | undefined, fingerprint: string) => ReplayLookup
  readonly replayed: (stored: CachedReply) => CachedReply
  readonly replayChargePicoUsd: (stored: CachedReply) => bigint

  readonly acceptsChatType: (contentType: string | undefined) => boolean
  /** The body of a chat request as the service reads it. */
  readonly chatBody: (body: unknown) => unknown
  /** An error for a valid chat request; null for none. */
  readonly chatObjection: (body: Readonly<Record<string, unknown>>) => string | null
  /** Tokens of one choice, given how many it would have without a bound. */
  readonly completionTokens: (natural: number, bound: number) => number
  /** The part of a prompt that comes from the cache. */
  readonly cacheUse: (use: CacheUse, promptTokens: number) => CacheUse
  readonly chatCostPico: (usage: Usage, price: NonNullable<Model['usdPerMillion']>) => bigint
  /** Tokens that a completed request uses of its window. */
  readonly usedTokens: (usage: Usage) => number
  readonly completionHead: (head: CompletionHead) => Readonly<Record<string, unknown>>
  readonly finishReason: (reason: FinishReason) => string | null
  readonly stopReason: (reason: FinishReason) => unknown
  readonly choice: (choice: Choice) => unknown
  readonly usage: (usage: Usage) => unknown
  readonly cost: (cost: Cost) => unknown
  readonly events: (events: readonly StreamEvent[]) => readonly StreamEvent[]

  /** Whether `input` is valid input for an embedding. */
  readonly isEmbeddable: (input: unknown) => boolean
  /** The page to send and its length, from the requested ones; null: not in the query. */
  readonly page: (page: number | null, limit: number | null) => RequestedPage

  readonly networks: (slugs: readonly string[]) => unknown
  readonly models: (models: readonly { readonly id: string }[]) => unknown
  readonly rateLimits: (limits: readonly ModelLimits[]) => readonly unknown[]

  /** The encoding of a reply; null for none. `accepted` is the Accept-Encoding of the request. */
  readonly encoding: (accepted: string | undefined, reply: Reply, state: RequestState) => Encoding | null
  readonly compress: (text: string, encoding: Encoding) => Buffer

  /** Changes every reply last, before it is compressed. */
  readonly finish: (reply: Reply, state: RequestState) => Reply
}

type RequestedPage = { readonly page: number; readonly limit: number }

type BilledItem = {
  readonly method: string
  readonly family: Network['family']
  readonly baseCredits: number
  readonly multiplier: number
  readonly failed: boolean
  readonly batched: boolean
}

type ModelLimits = {
  readonly apiModelId: string
  readonly rateLimits: readonly { readonly amount: number; readonly type: 'RPM' | 'TPM' }[]
}

const defaultPageSize = 20
const maxPageSize = 100

/** The service as documented. */
export function defaultBehavior(contract: Contract): Behavior {
  const { rpc, idempotency, abuse } = contract
  const leastPicoUsd = pico(contract.wallets.minimumBalanceUsd ?? '0')
  const picoUsdPerCredit = pico(rpc.usdPerCredit)
  const keyPattern = new RegExp(idempotency.keyPattern)
  return {
    ...defaultOptionRules(contract),
    ...defaultHangUpRules(contract),
    ...defaultWalletRules,
    ...defaultFurtherRules,

    keyOf: bearerKey,
    accountHolder: accountHolderOf,
    mayUse: ({ means }, { payingOnly }) => !payingOnly || means !== 'free-user',
    canPay: (account, amount) =>
      canPay(account, amount) && (account.wallet === undefined || account.picoUsd >= leastPicoUsd),

    isFailure: status =>
      abuse.counts === 'non-success'
        ? status >= 300
        : status >= 400 && status < 500 && !isLimitStatus(status, contract),
    failureWeight: () => 1,
    toleratesFailures: failures => failures <= abuse.failures,
    isRemembered: ageMs => ageMs < abuse.windowMs,
    failureScope: abuse.scope === 'model' ? failureScopeOf : () => 'account',
    blockedCount: abuse.blockedCount === true,
    blockMs: () => abuse.blockMs,
    blockedUntilMs: untilMs => untilMs,
    blockMessage: `${abuse.opening} (> ${abuse.failures}) resulting in a non-success status code. Please wait ${abuse.blockMs / 1000}s and try again.`,

    scope: scope => scope,
    windowAt: contract.limits.algorithm === 'aligned-window' ? alignedWindowAt : windowAt,
    admits: (window, limit) => window.requests < limit,
    admitsTokens: (window, limit, tokens) => window.tokens + tokens <= limit,
    charge,
    limitsOf: (draw, { tier }) => limitsOfTier(draw, tier, contract),
    logRejection: (rejections, rejection) => {
      rejections.push(rejection)
      if (rejections.length > contract.limitLogs.rows) rejections.shift()
    },
    limitLogs: rows => ({ object: 'list', data: rows }),

    network: (slug, networks) => networks.get(slug),
    batchLimit: rpc.batchLimit,
    nodeLag: request => request % (rpc.headLag + 1),
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
    cachedKey: key => key,
    replayTtlMs: idempotency.ttlMs,
    replayScope: account => `${account.tier}/${account.name}`,
    comparedBody: body => body,
    lookUpReply,
    replayed: stored => stored,
    replayChargePicoUsd: () => 0n,

    acceptsChatType: isJson,
    chatBody: body => body,
    chatObjection: () => null,
    completionTokens: Math.min,
    cacheUse: use => use,
    chatCostPico: listPricePico,
    usedTokens: usage => usage.total_tokens,
    completionHead: head => head,
    finishReason: reason => reason,
    stopReason: reason => (reason === 'tool_calls' ? null : reason),
    choice: choice => choice,
    usage: usage => usage,
    cost: cost => cost,
    events: events => events,

    isEmbeddable: input =>
      typeof input === 'string' ||
      (Array.isArray(input) && input.length > 0 && input.every(each => typeof each === 'string')),
    page: (page, limit) => ({ page: page ?? 1, limit: Math.min(limit ?? defaultPageSize, maxPageSize) }),

    networks: slugs => ({ networks: slugs }),
    models: models => ({ object: 'list', type: 'text', data: models }),
    rateLimits: limits => limits,

    encoding: (accepted, reply, { route }) => (route.kind === 'chat' ? encodingFor(accepted, reply) : null),
    compress,

    finish: reply => reply,
  }
}

/** The model that a chat request names, or the part of the service that any other request uses. */
const failureScopeOf = ({ route, request }: RequestState): string =>
  route.kind === 'chat' ? `chat:${namedModel(parseJson(request.body))}` : route.kind === 'rpc' ? 'rpc' : 'control'

/** The limits that the contract states for an account tier. */
function limitsOfTier(draw: Draw, tier: AccountTier, contract: Contract): ScopeLimits {
  const stated = (unit: 'requests' | 'tokens', of: AccountTier) => writtenLimit({ ...draw, unit }, of, contract)
  const requests = stated('requests', tier) ?? stated('requests', 'default') ?? limiterOf(draw).unstated
  return { requests, tokens: stated('tokens', tier) }
}
