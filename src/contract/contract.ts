import { z } from 'zod'
import { amountText } from '../lib/schemas.ts'
import { promisesSchema } from './promises.ts'
import { sourcesSchema } from './sources.ts'
import { walletTerms } from './wallets.ts'

/** The tiers of models. They determine limits and prices. */
export const modelTiers = ['XS', 'S', 'M', 'L'] as const
export type ModelTier = (typeof modelTiers)[number]

export const accountTiers = ['default', 'partner'] as const
export type AccountTier = (typeof accountTiers)[number]

/** The limits of requests that are neither text nor RPC. */
const resourceLimits = ['image', 'audio', 'embedding', 'video-queue', 'video-retrieve'] as const
export type ResourceLimit = (typeof resourceLimits)[number]

/** The price tiers of RPC methods. */
const methodTiers = ['standard', 'advanced', 'large'] as const
export type MethodTier = (typeof methodTiers)[number]

/** A fixed window begins with its first request, an aligned one at a multiple of its length. */
export const limiterAlgorithms = [
  'fixed-window',
  'aligned-window',
  'sliding-log',
  'sliding-counter',
  'token-bucket',
  'gcra',
] as const
export type LimiterAlgorithm = (typeof limiterAlgorithms)[number]

const pattern = z.string().refine(isPattern, 'a regular expression')
/** The name of a header. Anything else would fail in the client, or add a header of its own. */
const headerName = z.string().regex(/^[!#$%&'*+.^_`|~\w-]{1,256}$/, 'the name of a header')
const headerPrefix = z
  .string()
  .regex(/^[!#$%&'*+.^_`|~0-9a-z-]{1,256}$/, 'the beginning of the name of a header, in lower case')
/** The address of an endpoint. */
const path = z.string().regex(/^(?:\/[!-"$-~]*)?$/, 'a path from "/" on, without spaces, line breaks, and #')
const positiveInt = z.int().positive()
const milliseconds = z.number().nonnegative()

function isPattern(text: string): boolean {
  try {
    return new RegExp(text) instanceof RegExp
  } catch {
    return false
  }
}

const chatOption = z.strictObject({
  /** Any text, true or false, or one of a list. */
  values: z.union([z.enum(['string', 'boolean']), z.array(z.string()).min(1)]),
  /** The value if the option is not sent; null: not asserted. */
  default: z.union([z.boolean(), z.string()]).nullable(),
  /** Whether some models lack it. Then neither a rejection nor another echoed value is a violation. */
  conditional: z.boolean(),
})
export type ChatOption = z.infer<typeof chatOption>

/** The contract of chat completions. */
const chatTerms = z.strictObject({
  /**
   * The field of `service_parameters` that switches the default system prompts off. null: there is none, and a request
   * without service-specific options has no `service_parameters`.
   */
  systemPromptOption: z.string().min(1).nullable(),
  parametersField: z.string(),
  /** The other fields of `service_parameters`. */
  options: z.record(z.string(), chatOption),
  finishReasons: z.array(z.string()).min(1),
  /** The field of a request with the maximum number of tokens. */
  lengthField: z.enum(['max_completion_tokens', 'max_tokens']),
  /** Whether every choice has the key `logprobs`, if only with null. */
  logprobsKey: z.enum(['required', 'optional']),
  /** Whether a response is cut for its length only at its token limit; false: not asserted. */
  lengthIsBound: z.boolean(),
  search: z.strictObject({
    /** A citation in the text. Its first group holds the numbers of the sources. */
    citation: pattern,
    /** The format of citations in the reference service. `{source}` is replaced by the number. */
    citationForm: z.string().includes('{source}'),
    /** The number of the first source. */
    firstSource: z.int().min(0),
    /** Text that occurs only in citations, so elsewhere it marks a malformed citation; null: not asserted. */
    citationMark: pattern.nullable(),
    /** Where a stream holds the search results, if they are requested in the stream. */
    resultsInStream: z.enum(['first', 'last', 'anywhere']),
    /** The tool whose call holds the search results; null: not asserted. */
    documentsTool: z.string().nullable(),
    /** The maximum number of pages scraped for one request. */
    scrapedPages: positiveInt,
    /** Price of a search, a scraped page, or a result of the third-party search; null: unknown. */
    usdPerLookup: amountText.nullable(),
  }),
  /** Relative tolerance of `cost` against tokens × list price. */
  costTolerance: z.number().min(0).max(1),
  /** The status of a request that is not application/json. */
  wrongMediaTypeStatus: z.int().min(400).max(499),
  /** How a request with an unknown field is treated; null: not asserted. */
  unknownMembers: z.enum(['tolerated', 'refused']).nullable(),
  /** Whether an unstreamed completion must be compressed, or only may be, if the client accepts it. */
  compression: z.enum(['required', 'optional']),
  stream: z.strictObject({
    chunkObject: z.string(),
    doneMarker: z.string(),
    /** Whether a streamed request asks for usage, with `stream_options`. */
    asksForUsage: z.boolean(),
  }),
})

const textLimits = z.strictObject({ requestsPerMinute: positiveInt, tokensPerMinute: positiveInt })
const tierLimits = z.strictObject({ XS: textLimits, S: textLimits, M: textLimits, L: textLimits })

const model = z.strictObject({
  id: z.string().min(1),
  name: z.string().min(1),
  /** null: unknown, so the documented limits of tiers do not apply. */
  tier: z.enum(modelTiers).nullable(),
  /** Reserved for paying users. */
  payingOnly: z.boolean().default(false),
  /** null: unknown. */
  maxCompletionTokens: positiveInt.nullable(),
  /** Whether the model supports log probabilities; null: unknown, so not asserted. */
  logprobs: z.boolean().nullable().default(null),
  /** USD for one million tokens; null: unknown, so no amount is asserted. */
  usdPerMillion: z
    .strictObject({
      input: amountText,
      output: amountText,
      /** Price of cached prompt tokens and of prompt tokens written to the cache; null: unknown, so not asserted. */
      cacheInput: amountText.nullable().default(null),
      cacheWrite: amountText.nullable().default(null),
    })
    .nullable(),
  /** Whether responses must warn that the model will be retired, or must not; null: not asserted. */
  lifecycle: z.enum(['current', 'deprecated']).nullable().default(null),
})
export type Model = z.infer<typeof model>

/** Requests per minute; null: not documented, so not asserted. */
const perMinute = positiveInt.nullable()
const limitsOfResources = z.strictObject({
  image: perMinute,
  audio: perMinute,
  embedding: perMinute,
  'video-queue': perMinute,
  'video-retrieve': perMinute,
})

const resource = z.strictObject({
  method: z.enum(['GET', 'POST']),
  path,
  /** The smallest valid body; null: no body is sent. */
  body: z.record(z.string(), z.unknown()).nullable(),
  draws: z.enum(resourceLimits).nullable(),
  /** Whether its responses name the model used. */
  isInference: z.boolean(),
  isPaginated: z.boolean(),
  /** Whether its response is a file with a Content-Disposition. */
  isDownload: z.boolean(),
  /** The maximum cost of a request; null: unknown. */
  worstUsd: amountText.nullable(),
})
export type Resource = z.infer<typeof resource>

export const networkFamilies = ['evm', 'solana', 'starknet'] as const

/** `baseCredits: null`: unknown, so no amount is asserted. */
const network = z.strictObject({ baseCredits: positiveInt.nullable(), family: z.enum(networkFamilies) })
export type Network = z.infer<typeof network>

/**
 * All knowledge of the harness and the reference service about the service, as data. `documented.ts` has the documented
 * values. A profile is a YAML file that overrides them (`profile.ts`). Values that a profile sets to null are not
 * asserted.
 */
export const contractSchema = z.strictObject({
  /** The name of this contract in reports. */
  name: z.string().min(1),
  headerPrefix,
  paths: z.strictObject({
    chat: path,
    /** `{network}` is replaced by the slug. */
    rpc: path,
    networks: path,
    models: path,
    rateLimits: path,
    rateLimitLogs: path,
  }),
  /** The clauses that the target promises. Others are never judged. */
  promises: promisesSchema.default({ only: null, except: [] }),
  auth: z.strictObject({
    /** Whether requests need a key. If not, a run without keys sends no credentials. */
    required: z.boolean(),
    /** The allowed statuses of a response to a request without credentials; none: not asserted. */
    noKey: z.array(z.int()),
  }),
  accounts: z.strictObject({ default: tierLimits, partner: tierLimits }),
  models: z.array(model),
  /** Everything that is neither chat nor RPC, by name as in scenarios. */
  resources: z.record(z.string(), resource),
  resourceLimits: z.strictObject({ default: limitsOfResources, partner: limitsOfResources }),
  /** The query parameters that select a page of a list. */
  pagination: z.strictObject({ pageParameter: z.string().min(1), limitParameter: z.string().min(1) }),
  /** The request header with the client's own time in milliseconds; null: not sent. */
  requestTimestampHeader: headerName.nullable(),
  chat: chatTerms,
  rpc: z.strictObject({
    /** Requests per minute of one caller; null: not asserted. A batch is one request. */
    requestsPerMinute: perMinute,
    batchLimit: positiveInt,
    /** Whether the rejection of a batch names all of its unsupported methods; false: not asserted. */
    namesEveryMethod: z.boolean(),
    /** The status of a request for an unlisted network; null: not asserted. */
    unknownNetworkStatus: positiveInt.nullable(),
    /** The status of a request that is not JSON-RPC 2.0; null: a node may handle it, so nothing is asserted. */
    invalidRequestStatus: positiveInt.nullable(),
    /** Whether the error of an item has an integer code and a message, as in JSON-RPC; null: not asserted. */
    errorLayout: z.enum(['json-rpc']).nullable(),
    networks: z.record(z.string(), network),
    multipliers: z.strictObject({ standard: positiveInt, advanced: positiveInt, large: positiveInt }),
    /** The allow-list by family: method → tier. Other methods get a 400. */
    methods: z.strictObject({
      evm: z.record(z.string(), z.enum(methodTiers)),
      solana: z.record(z.string(), z.enum(methodTiers)),
      starknet: z.record(z.string(), z.enum(methodTiers)),
    }),
    errorItemCredits: z.int().nonnegative(),
    /** Whether a failed single (not batched) call is also billed `errorItemCredits`; null: not asserted. */
    singleErrorIsDiscounted: z.boolean().nullable(),
    /**
     * How long a request waits for another request of its caller before it gets a 429 with this message; null: requests
     * never wait.
     */
    oneAtATime: z.strictObject({ waitMs: milliseconds, message: z.string().min(1) }).nullable(),
    usdPerCredit: amountText,
    /** Relative tolerance of the price ("about"), on top of the rounding of the header's last digit. */
    priceTolerance: z.number().min(0).max(1),
    costDecimals: z.int().min(0).max(12),
  }),
  idempotency: z.strictObject({
    ttlMs: milliseconds,
    keyPattern: pattern,
    /** Whether a key that does not match is rejected with 400 or ignored; null: not asserted. */
    badKey: z.enum(['rejected', 'ignored']).nullable(),
    /**
     * Whether concurrent requests with one key are billed once; null: not asserted. With `best-effort`, a response is also
     * in the cache only a moment after it was sent.
     */
    concurrent: z.enum(['one-charge', 'best-effort']).nullable(),
  }),
  limits: z.strictObject({
    windowMs: milliseconds,
    /** How the target counts requests and tokens; null: unknown, so only what every algorithm breaks is judged. */
    algorithm: z.enum(limiterAlgorithms).nullable().default(null),
    /** Whether all keys of an account share its limits; null: not asserted, so each key may have limits of its own. */
    scope: z.enum(['account']).nullable().default(null),
    /** Which chat requests share a counter: those for one model, or for all models of a tier; null: not asserted. */
    chatScope: z.enum(['model', 'tier']).nullable().default(null),
    /** Which RPC requests share a counter: all of them, or those for one network; null: not asserted. */
    rpcScope: z.enum(['all', 'network']).nullable().default(null),
    /** Which other limited requests share a counter: those of one type, or for one resource; null: not asserted. */
    resourceScope: z.enum(['type', 'resource']).nullable().default(null),
    requestsReset: z.enum(['unix-seconds', 'unix-milliseconds']),
    tokensReset: z.enum(['seconds', 'unix-milliseconds']),
    /** How old a Date header may be. A cache in front of the target may keep it for a while. */
    dateAgeMs: milliseconds.default(2_000),
    /** How far the clock of the limits may differ from the clock of the Date header. */
    clockToleranceMs: milliseconds.default(1_000),
    /** Whether inference responses must carry the three token headers. */
    tokenHeaders: z.boolean(),
    /** The limits that the target published, per minute, by limit name. They take precedence over those of tiers. */
    published: z.record(z.string(), z.number().positive()).default({}),
    /** What the limits in responses are compared with. `target`: with those published, and with what is enforced. */
    judgedBy: z.enum(['target', 'documented']).default('documented'),
  }),
  lists: z
    .strictObject({
      /**
       * `public`: the layouts that are public, and sorted networks; null: lists in other layouts are not judged, and in any
       * order.
       */
      layout: z.enum(['public']).nullable().default(null),
    })
    .default({ layout: null }),
  errors: z.strictObject({
    /** The code of a 402 to a caller with a key; null: not asserted. */
    insufficientBalanceCode: z.string().min(1).nullable(),
    /** `error`: a text or an object with a message, as the field `error`; null: any object with a text. */
    layout: z.enum(['error']).nullable().default(null),
  }),
  abuse: z.strictObject({
    /** More failures than this within `windowMs` block the caller for `blockMs`. */
    failures: positiveInt,
    windowMs: milliseconds,
    blockMs: milliseconds,
    /** The status of responses during a block. */
    status: z.int().min(400).max(599),
    /** What counts as a failure: any non-success response, or a 4xx other than 429. */
    counts: z.enum(['non-success', 'client-errors-but-429']),
    /** Whether responses during a block count as failures themselves; null: not asserted. */
    blockedCount: z.boolean().nullable(),
    /**
     * What a block applies to: the whole account, or only requests for the same model or the RPC proxy; null: not
     * asserted.
     */
    scope: z.enum(['account', 'model']).nullable(),
    /** Words that only this response has. It is also recognized by the two patterns below. */
    opening: z.string().min(1),
    /** Patterns that the message must match, ignoring case; `{seconds}` is replaced by the length of the block. */
    saysWait: pattern,
    saysRetry: pattern,
  }),
  limitLogs: z.strictObject({
    /** The maximum number of an account's rejections in the log. */
    rows: positiveInt,
    /** The name of the RPC proxy in the log, instead of a model. */
    rpcId: z.string(),
  }),
  /** Values that do not come from the document or its defaults. */
  sources: sourcesSchema.default({}),
  billing: z.strictObject({
    /** After this time without requests, the balance includes every charge. */
    settleMs: milliseconds,
    /** The smallest difference that a balance header shows. */
    balanceResolutionUsd: amountText,
    /** Whether every authenticated response carries both balances. */
    balanceHeaders: z.boolean(),
    /** Which callers may receive `X-Balance-Remaining`. */
    balanceRemaining: z.enum(['wallets', 'anyone']),
  }),
  /** Callers that sign in with a wallet and pay with x402. */
  wallets: walletTerms,
})

export type Contract = z.infer<typeof contractSchema>

/** The tier of `method` on `network`; null if the network is unknown or the method is not on its allow-list. */
export function methodTier(contract: Contract, network: string, method: string): MethodTier | null {
  const { networks, methods } = contract.rpc
  const known = own(networks, network)
  return known && own(methods[known.family], method)
}

/** Whether the contract states that limits count in windows that end as a whole. */
export const hasFixedWindows = ({ limits }: Contract): boolean =>
  limits.algorithm === 'fixed-window' || limits.algorithm === 'aligned-window'

/**
 * How far ahead the reset of a limit may be, in milliseconds. A counter of sliding windows that is full may stay so until
 * the end of the next window.
 */
export function maxResetMs({ limits }: Contract, remaining: number | null): number {
  const maySlide = limits.algorithm === null || limits.algorithm === 'sliding-counter'
  return limits.windowMs * (maySlide && (remaining ?? 0) === 0 ? 2 : 1)
}

export const resourceOf = ({ resources }: Contract, name: string): Resource | null => own(resources, name)

/** An own property of a table. The name is external input: `constructor` must not match the inherited property. */
const own = <T>(table: Readonly<Record<string, T>>, name: string): T | null =>
  Object.hasOwn(table, name) ? (table[name] ?? null) : null
