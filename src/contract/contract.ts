import { z } from 'zod'
import { ownMember } from '../lib/json.ts'
import { billingTerms } from './billing/billing-terms.ts'
import { chatTerms, modelTerms, tierLimits } from './chat-terms.ts'
import {
  amountText,
  headerName,
  headerPrefix,
  keyed,
  milliseconds,
  open,
  path,
  pattern,
  perMinute,
  positiveInt,
} from './fields.ts'
import { furtherLimitTerms, limiterAlgorithms, refineFurtherLimits } from './limit-headers/further-limits.ts'
import { limitHeadersOf, limitHeaderTerms, refineLimitHeaders } from './limit-headers/limit-headers.ts'
import { promisesSchema } from './promises.ts'
import { additionTerms } from './requests/additions.ts'
import { keyFormTerms } from './requests/credentials.ts'
import { idempotencyTerms } from './requests/idempotency.ts'
import { rpcTerms } from './rpc-terms.ts'
import { walletTerms } from './wallets.ts'

export type { ChatOption, Model, ModelTier } from './chat-terms.ts'
export { modelTiers } from './chat-terms.ts'
export { type LimiterAlgorithm, limiterAlgorithms } from './limit-headers/further-limits.ts'
export { type MethodTier, methodTier, type Network, networkFamilies } from './rpc-terms.ts'

export const accountTiers = ['default', 'partner'] as const
export type AccountTier = (typeof accountTiers)[number]

/** The limits of requests that are neither text nor RPC. */
const resourceLimits = ['image', 'audio', 'embedding', 'video-queue', 'video-retrieve'] as const
export type ResourceLimit = (typeof resourceLimits)[number]

const resource = z.strictObject({
  method: z
    .enum(['GET', 'POST'])
    .describe('`GET` or `POST`, for a resource that is neither chat nor RPC; scenarios use its name'),
  path: path.describe('open in the document'),
  body: z.record(z.string(), z.unknown()).nullable().describe('the smallest valid body, with its model; `null`: none'),
  draws: z
    .enum(resourceLimits)
    .nullable()
    .describe(
      'the limit that it counts against: `image`, `audio`, `embedding`, `video-queue` or `video-retrieve`; `null`: none of these',
    ),
  isInference: z.boolean().describe('whether its responses name the model used'),
  isPaginated: z.boolean().describe('whether its response is a list in pages, with the headers of one'),
  isDownload: z.boolean().describe('whether its response must have a Content-Disposition'),
  worstUsd: amountText
    .nullable()
    .describe(
      'the maximum cost of a request, a decimal in quotes; `null`: not known, and then a forecast with it has no price',
    ),
})
export type Resource = z.infer<typeof resource>

/**
 * All knowledge of the harness and the reference service about the service, as data. `documented.ts` has the documented
 * values. A profile is a YAML file that overrides them (`profile.ts`). Values that a profile sets to null are not
 * asserted. The descriptions are the comments of `turnpike profile` and the table of docs/profiles.md.
 */
export const contractSchema = z.strictObject({
  name: z.string().min(1).describe('what plans and reports call this reading of the service'),
  headerPrefix: headerPrefix.describe(
    "prefix of the service's own headers, in lower case: `version`, `model-id`, `model-name`, `balance-usd`, `balance-diem`, `timestamp`, `host-name`, `rpc-credits`, `rpc-cost-usd`",
  ),
  paths: z
    .strictObject({
      chat: path.describe('`{model}` stands for the model, if the path names it; all paths follow the base address'),
      rpc: path.describe(
        '`{network}` stands for the slug; `""` for a node that answers at the base address itself; open in the document',
      ),
      networks: path.describe('the list of networks'),
      models: path.describe('the list of models'),
      rateLimits: path.describe("the caller's own limits; balance checks also use this call"),
      rateLimitLogs: path.describe('the log of which requests of the caller hit a limit'),
    })
    .meta({ isOpen: true }),
  promises: promisesSchema,
  auth: z
    .strictObject({
      required: z
        .boolean()
        .describe(
          'whether requests need a key; if `false`, a run without `TURNPIKE_KEYS` sends no credentials, wherever the target is',
        ),
      noKey: z.array(
        z
          .int()
          .describe(
            'the statuses (401 and 402) that are right for a request without credentials; an empty list: not asserted',
          ),
      ),
      ...keyFormTerms,
    })
    .meta({ isOpen: true }),
  ...additionTerms,
  accounts: z.strictObject({ default: tierLimits, partner: tierLimits }).meta(keyed('account tier')),
  models: z.array(modelTerms).meta({ isOpen: true }),
  resources: z.record(z.string(), resource).meta({ ...keyed('name'), isOpen: true }),
  resourceLimits: z.strictObject({
    default: z.strictObject({
      image: perMinute.describe('image requests per minute of one caller of the tier default; `null`: not asserted'),
      audio: perMinute.describe('audio requests per minute of one caller of the tier default'),
      embedding: perMinute.describe('embedding requests per minute of one caller of the tier default'),
      'video-queue': perMinute.describe('requests for a new video per minute of one caller of the tier default'),
      'video-retrieve': perMinute.describe(
        'requests for a finished video per minute of one caller of the tier default',
      ),
    }),
    partner: z.strictObject({
      image: perMinute.describe('image requests per minute of one caller of the tier partner'),
      audio: perMinute.describe('audio requests per minute of one caller of the tier partner'),
      embedding: perMinute.describe('embedding requests per minute of one caller of the tier partner'),
      'video-queue': perMinute.describe(
        'requests for a new video per minute of one caller of the tier partner; the document has no limit for the video of partners',
      ),
      'video-retrieve': perMinute.describe(
        'requests for a finished video per minute of one caller of the tier partner',
      ),
    }),
  }),
  pagination: z
    .strictObject({
      pageParameter: z.string().min(1).describe('the parameter for the page of a list; open in the document'),
      limitParameter: z.string().min(1).describe('the parameter for the number of items per page'),
    })
    .meta({ isOpen: true }),
  requestTimestampHeader: headerName
    .nullable()
    .meta(
      open(
        'the header in which a client states its own time in milliseconds, which the service returns; open in the document; `null`: none is sent',
      ),
    ),
  chat: chatTerms,
  rpc: rpcTerms,
  idempotency: idempotencyTerms,
  limits: z
    .strictObject({
      windowMs: milliseconds.describe('length of a window, of requests and of tokens, in milliseconds'),
      algorithm: z
        .enum(limiterAlgorithms)
        .nullable()
        .meta(
          open(
            '`fixed-window`, `aligned-window`, `sliding-log`, `sliding-counter`, `token-bucket`, or `gcra`; `null`: unknown, so only what every algorithm breaks is judged. Fixed and aligned windows are judged exactly',
          ),
        ),
      scope: z
        .enum(['account'])
        .nullable()
        .meta(
          open(
            '`account`: all keys of an account share its limits; `null`: open, so each key may have limits of its own',
          ),
        ),
      chatScope: z
        .enum(['model', 'tier'])
        .nullable()
        .meta(
          open(
            '`model`: each model has a counter of its own; `tier`: all models of a tier share one; `null`: open, and [a target may do either](decisions/0039-open-scopes-are-read-in-every-way.md)',
          ),
        ),
      rpcScope: z
        .enum(['all', 'network'])
        .nullable()
        .meta(open('`all`: all networks share a counter; `network`: each network has its own; `null`: open')),
      resourceScope: z
        .enum(['type', 'resource'])
        .nullable()
        .meta(
          open(
            '`type`: all resources of a type, such as image, share a counter; `resource`: each has its own; `null`: open',
          ),
        ),
      requestsReset: z
        .enum(['unix-seconds', 'unix-milliseconds'])
        .describe('unit of `x-ratelimit-reset-requests`, or `unix-milliseconds`'),
      tokensReset: z
        .enum(['seconds', 'unix-milliseconds'])
        .describe('unit of `x-ratelimit-reset-tokens`, or `unix-milliseconds`'),
      ...limitHeaderTerms,
      status: z
        .int()
        .min(400)
        .max(599)
        .describe(
          'status of the response to a request that a limit refuses, such as 503 with nginx. Judges, metrics and thresholds count it as a 429, except on probes',
        ),
      ...furtherLimitTerms,
      dateAgeMs: milliseconds.meta(
        open('how many milliseconds a `Date` may be old, because caches keep it; open in the document'),
      ),
      clockToleranceMs: milliseconds.meta(
        open(
          'how many milliseconds the clock of the limits may differ from that of `Date`; resets are compared with this tolerance; open in the document',
        ),
      ),
      tokenHeaders: z.boolean().describe('whether a 200 of a chat call must carry the three token headers'),
      published: z
        .record(
          z.string(),
          z
            .number()
            .positive()
            .describe(
              'a limit per minute by its name, such as `chat:<model>` or `chat:<model> tokens`; a run writes those that the target publishes here',
            ),
        )
        .meta(keyed('limit')),
      judgedBy: z
        .enum(['target', 'documented'])
        .describe(
          'what the limits in responses are compared with: `documented`, or `target` for what the target publishes and enforces; a run sets `target`, unless it has `--limits-from documented`',
        ),
    })
    .superRefine((limits, context) => {
      refineLimitHeaders(limits, context)
      const { requests, tokens } = limitHeadersOf(limits)
      refineFurtherLimits(limits, [requests, tokens], context)
    }),
  lists: z.strictObject({
    layout: z
      .enum(['public'])
      .nullable()
      .describe(
        '`public`: the layouts in the table of endpoints, with sorted networks; `null`: a list in another layout is not judged, and the order of lists is open',
      ),
  }),
  errors: z.strictObject({
    insufficientBalanceCode: z
      .string()
      .min(1)
      .nullable()
      .describe('the code of a 402 to a caller with a key; `null`: open'),
    layout: z
      .enum(['error'])
      .nullable()
      .describe(
        '`error`: an error is a text, or an object with a message, as the field `error`; `null`: any object with a text, wherever it is',
      ),
  }),
  abuse: z.strictObject({
    failures: positiveInt.describe('more failures than this within a window block the caller'),
    windowMs: milliseconds.describe('length of that window in milliseconds; it slides'),
    blockMs: milliseconds.describe('length of a block in milliseconds'),
    status: z
      .int()
      .min(400)
      .max(599)
      .meta(
        open(
          'status of the responses during a block, which may also be a 5xx; open in the document. A response with another status is a block too if it says so',
        ),
      ),
    counts: z
      .enum(['non-success', 'client-errors-but-429'])
      .describe('what counts as a failure: every response that is not a success, or `client-errors-but-429`'),
    blockedCount: z
      .boolean()
      .nullable()
      .meta(open('whether responses during a block are failures too, which prolongs it; `null`: open')),
    scope: z
      .enum(['account', 'model'])
      .nullable()
      .meta(
        open(
          'what failures block: the account, or `model`, everything that shares a model or the RPC proxy with them; `null`: open, and only the message is judged',
        ),
      ),
    opening: z
      .string()
      .min(1)
      .describe(
        'words that only a block has; open in the document. A response that matches both patterns below is a block too, unless it has a type of limit',
      ),
    saysWait: pattern.describe('what the message must match, in any case; `{seconds}` is the length of the block'),
    saysRetry: pattern.describe('the same, in addition'),
  }),
  limitLogs: z
    .strictObject({
      rows: positiveInt.describe('how many of the latest refusals that log lists; open in the document'),
      rpcId: z.string().describe('its name for the RPC proxy, where it otherwise names a model; open in the document'),
    })
    .meta({ isOpen: true }),
  /**
   * By path, such as `rpc.requestsPerMinute`: values that a profile or the target stated. `default`: a value of the
   * reference service, which forecasts the cost of a run against another target and is not asserted of it.
   */
  sources: z.record(z.string(), z.enum(['profile', 'target', 'default'])).default({}),
  billing: billingTerms,
  wallets: walletTerms,
})

export type Contract = z.infer<typeof contractSchema>

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

export const resourceOf = ({ resources }: Contract, name: string): Resource | null => ownMember(resources, name)
