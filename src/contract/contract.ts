import { z } from 'zod'
import { chatTerms } from './chat-terms.ts'
import { decimal, milliseconds, pattern, positiveInt } from './quantities.ts'

/**
 * Everything that the harness and the reference service know about the service, as data. The documented values are in
 * `documented.ts`; a profile is a YAML file laid over them (`profile.ts`). What a profile leaves open is not asserted.
 */
export const modelTiers = ['XS', 'S', 'M', 'L'] as const
export const accountTiers = ['default', 'partner'] as const
/** The limits of what is neither text nor RPC. */
export const resourceLimits = ['image', 'audio', 'embedding', 'video-queue', 'video-retrieve'] as const
export const methodTiers = ['standard', 'advanced', 'large'] as const

const textLimits = z.strictObject({ requestsPerMinute: positiveInt, tokensPerMinute: positiveInt })
const tierLimits = z.strictObject({ XS: textLimits, S: textLimits, M: textLimits, L: textLimits })

const model = z.strictObject({
  id: z.string().min(1),
  name: z.string().min(1),
  tier: z.enum(modelTiers),
  /** Reserved for users who pay. */
  payingOnly: z.boolean().default(false),
  maxCompletionTokens: positiveInt,
  /** Whether the model gives log probabilities; null: not known, and then not asserted. */
  logprobs: z.boolean().nullable().default(null),
  /** USD for one million tokens; null where no price is known, and then no amount is asserted. */
  usdPerMillion: z
    .strictObject({
      input: decimal,
      output: decimal,
      /** Of the prompt, what came from a cache and what was written to one; null: not known, and then not asserted. */
      cacheInput: decimal.nullable().default(null),
      cacheWrite: decimal.nullable().default(null),
    })
    .nullable(),
  /** Whether answers must warn that the model will be retired, or must not; null: not asserted. */
  lifecycle: z.enum(['current', 'deprecated']).nullable().default(null),
})

/** Requests a minute; null: not documented, and then not asserted. */
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
  path: z.string(),
  /** The smallest body that is right; null: none is sent. */
  body: z.record(z.string(), z.unknown()).nullable(),
  draws: z.enum(resourceLimits).nullable(),
  /** Whether its answers name the model used. */
  isInference: z.boolean(),
  isPaginated: z.boolean(),
  /** Whether its answer is a file, with a Content-Disposition. */
  isDownload: z.boolean(),
  /** The most that a request can cost; null: not known. */
  worstUsd: decimal.nullable(),
})

const network = z.strictObject({ baseCredits: positiveInt, family: z.enum(['evm', 'solana', 'starknet']) })

export const contractSchema = z.strictObject({
  /** What reports call this reading of the service. */
  name: z.string().min(1),
  headerPrefix: z.string().min(1),
  paths: z.strictObject({
    chat: z.string(),
    /** `{network}` stands for the slug. */
    rpc: z.string(),
    networks: z.string(),
    models: z.string(),
    rateLimits: z.string(),
    rateLimitLogs: z.string(),
  }),
  auth: z.strictObject({
    /** The statuses with which a request without any credentials may be answered; none: not asserted. */
    noKey: z.array(z.int()),
  }),
  accounts: z.strictObject({ default: tierLimits, partner: tierLimits }),
  models: z.array(model).min(1),
  /** All that is neither chat nor RPC, by the name that scenarios give it. */
  resources: z.record(z.string(), resource),
  resourceLimits: z.strictObject({ default: limitsOfResources, partner: limitsOfResources }),
  /** The parameters by which a page of a list is asked for. */
  pagination: z.strictObject({ pageParameter: z.string().min(1), limitParameter: z.string().min(1) }),
  /** The request header by which a client states its own time in milliseconds; null: none is sent. */
  requestTimestampHeader: z.string().min(1).nullable(),
  chat: chatTerms,
  rpc: z.strictObject({
    /** Requests a minute of one caller; a batch is one request. */
    requestsPerMinute: positiveInt,
    batchLimit: positiveInt,
    /** Whether a rejected batch names all of its unsupported methods, of whatever sort; false: not asserted. */
    namesEveryMethod: z.boolean(),
    /** The status of a request for a network that is not listed; null: not asserted. */
    unknownNetworkStatus: positiveInt.nullable(),
    /** The status of a request that is no JSON-RPC 2.0, which a node may be left to answer; null: not asserted. */
    invalidRequestStatus: positiveInt.nullable(),
    /** Whether the error of an item has an integer code and a message, as JSON-RPC has it; null: not asserted. */
    errorLayout: z.enum(['json-rpc']).nullable(),
    networks: z.record(z.string(), network),
    multipliers: z.strictObject({ standard: positiveInt, advanced: positiveInt, large: positiveInt }),
    /** The allow-list by family: method → tier. A method that is missing here is answered with 400. */
    methods: z.strictObject({
      evm: z.record(z.string(), z.enum(methodTiers)),
      solana: z.record(z.string(), z.enum(methodTiers)),
      starknet: z.record(z.string(), z.enum(methodTiers)),
    }),
    errorItemCredits: z.int().nonnegative(),
    /** Whether a single (not batched) call that fails is also billed `errorItemCredits`; null: not asserted. */
    singleErrorIsDiscounted: z.boolean().nullable(),
    /** Requests of one caller wait for each other so long, and are then answered with 429 and this message; null: never. */
    oneAtATime: z.strictObject({ waitMs: milliseconds, message: z.string().min(1) }).nullable(),
    usdPerCredit: decimal,
    /** Relative tolerance of the price ("about"), on top of the rounding of the header's last digit. */
    priceTolerance: z.number().min(0).max(1),
    costDecimals: z.int().min(0).max(12),
  }),
  idempotency: z.strictObject({
    ttlMs: milliseconds,
    keyPattern: z.string(),
    /** A key that does not match is refused with 400, or is as none at all; null: not asserted. */
    badKey: z.enum(['rejected', 'ignored']).nullable(),
    /** Whether racing requests with one key are billed once. `best-effort` asserts nothing about them. */
    concurrent: z.enum(['one-charge', 'best-effort']),
  }),
  limits: z.strictObject({
    windowMs: milliseconds,
    requestsReset: z.enum(['unix-seconds', 'unix-milliseconds']),
    tokensReset: z.enum(['seconds', 'unix-milliseconds']),
    /** Whether inference answers must carry the three token headers. */
    tokenHeaders: z.boolean(),
  }),
  errors: z.strictObject({
    /** The code of a 402 to a caller with a key; null: not asserted. */
    insufficientBalanceCode: z.string().min(1).nullable(),
  }),
  abuse: z.strictObject({
    /** More failures than so many within `windowMs` block the caller for `blockMs`. */
    failures: positiveInt,
    windowMs: milliseconds,
    blockMs: milliseconds,
    /** Of the answers during a block. */
    status: z.int().min(400).max(499),
    /** What a failure is: any answer that is no success, or a 4xx other than 429. */
    counts: z.enum(['non-success', 'client-errors-but-429']),
    /** Whether answers during a block are failures themselves; null: not asserted. */
    blockedCount: z.boolean().nullable(),
    /** Whom failures block: the account, or only what shares a model, or the RPC proxy, with them; null: not asserted. */
    scope: z.enum(['account', 'model']).nullable(),
    /** The words by which the answer is told from other refusals. */
    opening: z.string().min(1),
    /** What the message must match, whatever the case; `{seconds}` stands for the length of the block. */
    saysWait: pattern,
    saysRetry: pattern,
  }),
  limitLogs: z.strictObject({
    /** The log lists so many of the last refusals of an account. */
    rows: positiveInt,
    /** What the log calls the RPC proxy, where it names a model otherwise. */
    rpcId: z.string(),
  }),
  billing: z.strictObject({
    /** After this much quiet every charge is in the balance. */
    settleMs: milliseconds,
    /** The smallest difference that a balance header shows. */
    balanceResolutionUsd: decimal,
    /** Whether every authenticated answer carries both balances. */
    balanceHeaders: z.boolean(),
    /** Who may be shown `X-Balance-Remaining`. */
    balanceRemaining: z.enum(['wallets', 'anyone']),
  }),
})

export type Contract = z.infer<typeof contractSchema>
export type ModelTier = (typeof modelTiers)[number]
export type AccountTier = (typeof accountTiers)[number]
export type ResourceLimit = (typeof resourceLimits)[number]
export type Resource = Contract['resources'][string]
export type MethodTier = (typeof methodTiers)[number]
export type Model = Contract['models'][number]
export type ChatOption = Contract['chat']['options'][string]
export type Network = Contract['rpc']['networks'][string]

/** The tier of `method` on `network`; null when the network is unknown or the method is not on its allow-list. */
export function methodTier(contract: Contract, network: string, method: string): MethodTier | null {
  const { networks, methods } = contract.rpc
  const known = own(networks, network)
  return known && own(methods[known.family], method)
}

export const resourceOf = ({ resources }: Contract, name: string): Resource | null => own(resources, name)

/** What a table says of a name that a stranger chose: `constructor` is not in it only because every object has it. */
const own = <T>(table: Readonly<Record<string, T>>, name: string): T | null =>
  Object.hasOwn(table, name) ? (table[name] ?? null) : null
