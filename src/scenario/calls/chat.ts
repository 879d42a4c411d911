import { z } from 'zod'
import {
  type ChatOptions,
  chatOptionsSchema,
  choicesOf,
  maxLookups,
  type ReadRate,
  readRateSchema,
} from '../../contract/chat-options.ts'
import { type Contract, type Model, type ModelTier, modelTiers } from '../../contract/contract.ts'
import { documentedContract } from '../../contract/documented.ts'
import { promisesAny } from '../../contract/promises.ts'
import type { DeepReadonly } from '../../lib/json.ts'
import { costOfUnits, pico } from '../../lib/money.ts'
import { entriesOf, parseFields, whole } from '../../lib/schemas.ts'
import { oneOf, unknownWord } from '../../lib/usage-error.ts'
import { flagField, headerField, integerField, jsonObjectField, mapping, textField } from '../fields.ts'
import {
  type CallContext,
  type CallCost,
  type CallKind,
  kindField,
  limitUsages,
  offeredBy,
  usualTraits,
} from './call-kind.ts'
import { hangUpField, hangUpOf, hangUpTraits, resolvedHangUp, writtenHangUp } from './hang-up.ts'

const readRateText = 'tokens or bytes per second, from 0.1 to 1000000, such as 20 tokens/s or 500 bytes/s'

/** `20 tokens/s` or `500 bytes/s`; null: no such rate. */
export function parseReadRate(text: string): ReadRate | null {
  const [, amount, unit] = /^(\d{1,7}(?:\.\d{1,3})?) (tokens|bytes)\/s$/.exec(text) ?? []
  const perSecond = Number(amount)
  if (!(perSecond >= 0.1 && perSecond <= 1_000_000)) return null
  return { unit: unit === 'tokens' ? 'tokens' : 'bytes', perSecond }
}

const writtenReadRate = ({ unit, perSecond }: ReadRate): string => `${perSecond} ${unit}/s`

export const chatSchema = mapping({
  kind: kindField('chat'),
  stream: flagField.default(true).describe('Whether to request a stream of tokens.'),
  'model-tier': z
    .enum(modelTiers, { error: oneOf(modelTiers) })
    .optional()
    .describe(
      'Selects the first model of this tier. Give this or "model". Default: the first model that the target offers.',
    ),
  model: textField('the id of a model')
    .optional()
    .describe('The id of a model that the target offers. Give this or "model-tier". Default: as "model-tier".'),
  deprecated: flagField.default(false).describe('Prefer a deprecated model of the tier, if the profile has one.'),
  'prompt-tokens': integerField(1, 1_000_000).describe('Approximate length of each prompt in tokens.'),
  'max-completion-tokens': integerField(1, 1_000_000)
    .optional()
    .describe("Maximum tokens of a completion. Default: not sent, so the model's own maximum applies."),
  body: jsonObjectField('request fields')
    .optional()
    .describe('Additional or overriding fields of the request, such as logprobs or messages. Default: none.'),
  parameters: jsonObjectField('service-specific options')
    .optional()
    .describe('Service-specific options, which override the default ones; null omits one. Default: none.'),
  suffix: textField('options after the name of the model')
    .optional()
    .describe('Options after the name of the model, such as enable_web_search=auto. Default: none.'),
  'accept-encoding': headerField('an encoding such as gzip')
    .optional()
    .describe('The value of Accept-Encoding. Default: none is sent.'),
  'same-prompt': flagField.default(false).describe('Send the same prompt every time, so that caches can serve it.'),
  canary: flagField
    .default(false)
    .describe('Ask for a word that only this request has, so that it can be found in the completions of others.'),
  'hang-up': hangUpField,
  'read-rate': z
    .string({ error: readRateText })
    .meta({ title: 'read rate', examples: ['20 tokens/s', '500 bytes/s'] })
    .transform((value, context): ReadRate => {
      const rate = parseReadRate(value)
      if (rate !== null) return rate
      context.issues.push({ code: 'custom', message: readRateText, input: value })
      return z.NEVER
    })
    .optional()
    .describe('How fast the client reads a stream, in tokens or bytes. Default: as fast as it comes.'),
}).describe('A chat completion.')

export const resolvedChat = z.object({
  kind: z.literal('chat'),
  stream: z.boolean(),
  model: z.string(),
  modelTier: z.enum(modelTiers).nullable(),
  promptTokens: whole,
  /** The maximum number of tokens of one choice. */
  maxCompletionTokens: whole,
  /** Whether the request states that maximum. Otherwise, the maximum of the model applies. */
  isBounded: z.boolean(),
  /** null if only a prompt and a maximum are sent. */
  options: chatOptionsSchema.nullable(),
  /** Missing: the prompt has no word of its own. */
  canary: z.literal(true).optional(),
  /** Missing: the client reads every response to its end. */
  hangUp: resolvedHangUp.optional(),
  /** Missing: the client reads every response as fast as it comes. */
  readRate: readRateSchema.optional(),
})
type ChatCall = DeepReadonly<z.output<typeof resolvedChat>>

export const chat: CallKind<ChatCall> = {
  judges: ['chat-request', 'chat-response', 'chat-stream', 'chat-options'],
  traits: call => {
    const { model, modelTier, stream, maxCompletionTokens } = call
    const tokens = estimatedPromptTokens(call) + maxCompletionTokens * choicesOf(call.options)
    return {
      ...usualTraits,
      judges: () => chat.judges,
      limits: limitUsages({ limiter: 'chat', model, modelTier }, tokens),
      cost: chatCost(call),
      unfitToSaturate: stream ? 'which is a stream' : null,
      maxTokens: maxCompletionTokens,
      isStream: stream,
      model,
      ...hangUpTraits(call.hangUp),
      // The client decides how long its streams take, so they are not timed.
      ...(call.readRate && { isSearchable: false, samples: () => 0 }),
    }
  },
  written: ({
    stream,
    model,
    modelTier,
    promptTokens,
    maxCompletionTokens,
    isBounded,
    options,
    canary,
    hangUp,
    readRate,
  }) => ({
    stream,
    // The model has no name until the service has been asked for it.
    ...(model === '' ? { 'model-tier': modelTier } : { model }),
    'prompt-tokens': promptTokens,
    ...(isBounded && { 'max-completion-tokens': maxCompletionTokens }),
    ...(options !== null && {
      body: options.body,
      parameters: options.parameters,
      ...(options.suffix !== null && { suffix: options.suffix }),
      ...(options.encoding !== null && { 'accept-encoding': options.encoding }),
      'same-prompt': options.samePrompt,
    }),
    ...(canary && { canary }),
    ...writtenHangUp(hangUp),
    ...(readRate && { 'read-rate': writtenReadRate(readRate) }),
  }),
}

/** A chat call with the lengths of one request; any other call as it is. */
export const withLengths = <Each extends { readonly kind: string }>(
  call: Each | ChatCall,
  { promptTokens, maxCompletionTokens }: Pick<ChatCall, 'promptTokens' | 'maxCompletionTokens'>,
): Each | ChatCall => (isChatCall(call) ? { ...call, promptTokens, maxCompletionTokens, isBounded: true } : call)

const isChatCall = (call: { readonly kind: string }): call is ChatCall => call.kind === 'chat'

/** Resolves a chat call; null if it has a mistake. */
export function resolveChat(value: unknown, context: CallContext): ChatCall | null {
  const call = parseFields(chatSchema, value)
  const { 'prompt-tokens': promptTokens, 'max-completion-tokens': requested = null, stream } = call
  const model = modelOf(value, context)
  if (model === null || !isWithinModel(requested, model, context)) return null
  if (promptTokens === undefined || stream === undefined) return null
  const options = optionsOf(call)
  return {
    kind: 'chat',
    model: model.id,
    // The target may not state the tier of the model. The limits of the written tier still pace the load.
    modelTier: model.tier ?? call['model-tier'] ?? null,
    stream,
    promptTokens,
    maxCompletionTokens: requested ?? boundOf(options, model),
    isBounded: requested !== null,
    options,
    ...(call.canary && { canary: true as const }),
    ...hangUpOf(call['hang-up'], stream, context.report),
    ...readRateOf(call, context.report),
  }
}

/** How fast the client of a call reads. Only a stream can be read slowly, and only to its end. */
function readRateOf(
  { 'read-rate': readRate, 'hang-up': hangUp, stream }: Partial<z.output<typeof chatSchema>>,
  report: CallContext['report'],
): { readonly readRate?: ReadRate } {
  if (readRate === undefined) return {}
  const problem =
    stream === false
      ? 'no read-rate, since the response is not a stream'
      : hangUp !== undefined
        ? 'no read-rate, since the client hangs up'
        : null
  if (problem !== null) report(['read-rate'], { got: writtenReadRate(readRate), expected: problem })
  return { readRate }
}

/** Whether the model can generate the requested tokens. If not, that is reported. */
export function isWithinModel(
  requested: number | null,
  { id, maxCompletionTokens: max }: Pick<Model, 'id' | 'maxCompletionTokens'>,
  { report }: CallContext,
): boolean {
  if (requested === null || max === null || requested <= max) return true
  report(['max-completion-tokens'], { got: String(requested), expected: `at most ${max}, the maximum of ${id}` })
  return false
}

/** The model that a call names, the first one of its tier, or the first one of all. Null: none, which is reported. */
export function modelOf(
  value: unknown,
  { contract, isTentative, report }: CallContext,
): Pick<Model, 'id' | 'tier' | 'maxCompletionTokens'> | null {
  const { 'model-tier': tier, model: id, deprecated = false } = parseFields(chatSchema, value)
  const written = entriesOf(value)
  const { models } = contract
  if (written.model !== undefined && written['model-tier'] !== undefined) {
    const problem = { got: 'both "model-tier" and "model"', expected: 'either "model" or "model-tier"' }
    report(['model-tier'], problem, 'key')
    return null
  }
  // A field with a mistake is already reported.
  if ((written.model !== undefined && id === undefined) || (written['model-tier'] !== undefined && tier === undefined))
    return null
  if (id === undefined) {
    const ofTier = tier === undefined ? models : models.filter(known => known.tier === tier)
    const preferred = deprecated ? ofTier.find(({ lifecycle }) => lifecycle === 'deprecated') : undefined
    const model = preferred ?? ofTier[0] ?? (tier === undefined ? undefined : byPrice(models, tier))
    if (model !== undefined) return model
    if (isTentative) return { id: '', tier: tier ?? 'M', maxCompletionTokens: null }
    const got = tier === undefined ? 'no model' : `no model of tier ${tier}`
    const expected = isUnlisted(contract)
      ? '"model: <id>", since neither the target nor the profile lists models'
      : `one ${offeredBy(contract, 'models')}`
    report([], { got, expected })
    return null
  }
  const model = models.find(known => known.id === id)
  if (model !== undefined) return model
  // This tier only serves to compute rates. Discovery replaces it.
  if (isUnlisted(contract)) return { id, tier: null, maxCompletionTokens: null }
  if (isTentative) return { id, tier: 'M', maxCompletionTokens: null }
  const ids = models.map(known => known.id)
  report(['model'], unknownWord(id, ids, `a model ${offeredBy(contract, 'models')}`))
  return null
}

/** Whether neither the target nor the profile lists models, so that any name may be right. */
const isUnlisted = ({ models, sources }: Contract): boolean => models.length === 0 && sources.models !== 'target'

/** Ranks models without a tier by price: the cheapest is XS, the most expensive L, and two between them are S and M. */
function byPrice(models: readonly Model[], tier: ModelTier): Model | undefined {
  const priceOf = ({ usdPerMillion }: Model) => Number(usdPerMillion?.output ?? 0)
  const untiered = models.filter(model => model.tier === null).toSorted((a, b) => priceOf(a) - priceOf(b))
  const share = modelTiers.indexOf(tier) / (modelTiers.length - 1)
  return untiered[Math.round(share * (untiered.length - 1))]
}

/** Null if only a prompt and a bound are sent, as by most calls under load. */
function optionsOf(written: Partial<z.output<typeof chatSchema>>): ChatOptions | null {
  const { body = {}, parameters = {}, suffix = null } = written
  const { 'accept-encoding': encoding = null, 'same-prompt': samePrompt = false } = written
  const isPlain = Object.keys(body).length === 0 && Object.keys(parameters).length === 0
  if (isPlain && suffix === null && encoding === null && !samePrompt) return null
  return { body, parameters, suffix, encoding, samePrompt }
}

/** The maximum without `max_completion_tokens`: the older `max_tokens` if it is above 0, else the maximum of the model. */
function boundOf(options: ChatOptions | null, { maxCompletionTokens }: Pick<Model, 'maxCompletionTokens'>): number {
  const older = options?.body.max_tokens
  const isBound = typeof older === 'number' && Number.isInteger(older) && older > 0
  const max = maxCompletionTokens ?? unstatedMaxTokens
  return Math.min(isBound ? older : max, max)
}

/** More than any model generates for one request. */
const unstatedMaxTokens = 131_072

/** The number of tokens that the service may count for a prompt. It tokenizes differently, and adds some. */
const estimatedPromptTokens = ({ promptTokens }: ChatCall): number => promptTokens * 1.05 + 50

const chatCost = (call: ChatCall): CallCost => ({
  credits: () => 0,
  arrivals: (arrivals, contract) => chatPicoUsd(call, arrivals, contract, ({ input }) => pico(input)),
  maxRequest: contract => chatPicoUsd(call, 1, contract, maxPromptPrice),
  maxCharged: 1,
})

type PromptPrice = (price: NonNullable<Model['usdPerMillion']>) => bigint

/** Tokens written to a cache may cost more than others. */
const maxPromptPrice: PromptPrice = ({ input, cacheInput, cacheWrite }) =>
  [pico(cacheInput ?? '0'), pico(cacheWrite ?? '0')].reduce((a, b) => (a > b ? a : b), pico(input))

/** The maximum cost of some arrivals, with prompt tokens of this price; null if a price is unknown or not promised. */
function chatPicoUsd(call: ChatCall, arrivals: number, contract: Contract, promptPrice: PromptPrice): bigint | null {
  if (!promisesAny(contract, ['chat.cost*', 'billing.*'])) return null
  const { model, options } = call
  const requested = options?.body.model ?? model
  const priceIn = ({ models }: Pick<Contract, 'models'>) => models.find(({ id }) => id === requested)?.usdPerMillion
  const { usdPerRequest } = contract.billing
  // A default price is never asserted, and it is better than none for a forecast.
  const price = priceIn(contract) ?? priceIn(documentedContract) ?? null
  const lookups = lookupsPicoUsd(call, arrivals, contract)
  const perRequest = usdPerRequest === null ? 0n : costOfUnits(arrivals, pico(usdPerRequest))
  if (lookups === null || (price === null && usdPerRequest === null)) return null
  if (price === null) return perRequest + lookups
  const promptTokens = estimatedPromptTokens(call) + extraTokens(options)
  const prompt = costOfUnits(arrivals * promptTokens, promptPrice(price), 1_000_000n)
  const completionTokens = maxCompletionTokens(call, contract) * choicesOf(options)
  return prompt + costOfUnits(arrivals * completionTokens, pico(price.output), 1_000_000n) + perRequest + lookups
}

/** Fields of the body override the limit of the call. Without a limit above 0, the limit of the model applies. */
function maxCompletionTokens({ model, maxCompletionTokens, options }: ChatCall, { models }: Contract): number {
  const body = options?.body ?? {}
  const ofModel = models.find(({ id }) => id === (body.model ?? model))?.maxCompletionTokens ?? maxCompletionTokens
  const written = ['max_completion_tokens', 'max_tokens'].filter(name => Object.hasOwn(body, name))
  if (!written.includes('max_completion_tokens') && body.model === undefined) return maxCompletionTokens
  const limits = written.map(name => body[name]).map(limit => (isLimit(limit) ? limit : ofModel))
  return Math.max(...(limits.length === 0 ? [maxCompletionTokens] : limits))
}

const isLimit = (value: unknown): value is number => typeof value === 'number' && value > 0

/** The most tokens that lists and mappings of the body can add, such as messages and tools: one for each byte. */
function extraTokens(options: ChatCall['options']): number {
  const values = Object.values(options?.body ?? {}).filter(value => typeof value === 'object' && value !== null)
  return values.reduce<number>((sum, value) => sum + Buffer.byteLength(JSON.stringify(value)), 0)
}

/** The maximum cost of searching and scraping; null if its price is unknown. */
function lookupsPicoUsd(call: ChatCall, arrivals: number, contract: Contract): bigint | null {
  const lookups = arrivals * maxLookups(call.options, contract)
  const { usdPerLookup } = contract.chat.search
  if (lookups === 0) return 0n
  return usdPerLookup === null ? null : costOfUnits(lookups, pico(usdPerLookup), 1n)
}
