import { z } from 'zod'
import { amountText, keyed, open, pattern, positiveInt } from './fields.ts'

/** The tiers of models. They determine limits and prices. */
export const modelTiers = ['XS', 'S', 'M', 'L'] as const
export type ModelTier = (typeof modelTiers)[number]

const chatOption = z.strictObject({
  values: z
    .union([z.enum(['string', 'boolean']), z.array(z.string()).min(1)])
    .describe('the values of another field of that object: `string`, `boolean`, or a list of texts'),
  default: z
    .union([z.boolean(), z.string()])
    .nullable()
    .describe('its value if the request does not send it; `null`: not asserted'),
  conditional: z.boolean().describe('whether a model may lack it; such a model may refuse it, and echo another value'),
})
export type ChatOption = z.infer<typeof chatOption>

/** The contract of chat completions. */
export const chatTerms = z.strictObject({
  systemPromptOption: z
    .string()
    .min(1)
    .nullable()
    .describe(
      'the option that every chat call sets to false, so that a prompt is as long as planned; `null`: there is none, and a request has options only if the scenario asks for some',
    ),
  parametersField: z.string().describe('the field of the request that holds the options'),
  options: z.record(z.string(), chatOption).meta(keyed('option')),
  finishReasons: z.array(z.string().describe('how a response can end')).min(1),
  lengthField: z
    .enum(['max_completion_tokens', 'max_tokens'])
    .describe('the field of a request with the maximum number of tokens, or `max_tokens`'),
  logprobsKey: z.enum(['required', 'optional']).describe('whether every choice has the key `logprobs`, or `optional`'),
  choiceIndex: z.enum(['required', 'optional']).describe('whether every choice has an `index`, or `optional`'),
  lengthIsBound: z
    .boolean()
    .describe('whether a response that is cut for its length has exactly as many tokens as allowed'),
  search: z
    .strictObject({
      citation: pattern.describe(
        'a regular expression for a citation in the text; its first group holds the numbers of its sources',
      ),
      citationForm: z.string().includes('{source}').describe('how the reference service writes one'),
      firstSource: z.int().min(0).describe('the number of the first source'),
      citationMark: pattern
        .nullable()
        .describe(
          'text that occurs only in citations, so that anywhere else it is part of a malformed one; `null`: no check for malformed citations',
        ),
      resultsInStream: z
        .enum(['first', 'last', 'anywhere'])
        .describe('where a stream holds the requested search results: `first`, `last`, or `anywhere`'),
      documentsTool: z
        .string()
        .nullable()
        .describe('the tool whose call holds the search results; `null`: not asserted'),
      scrapedPages: positiveInt.describe('the maximum number of pages scraped for one request'),
      usdPerLookup: amountText
        .nullable()
        .describe(
          'dollars for a search, for a scraped page, and for a result of the third-party search, a decimal in quotes; open in the document; `null`: not known',
        ),
    })
    .meta({ isOpen: true }),
  costTolerance: z
    .number()
    .min(0)
    .max(1)
    .meta(
      open(
        'how far `cost` may be from tokens × list price, as a share of it; one `billing.balanceResolutionUsd` is added',
      ),
    ),
  atOnce: z
    .strictObject({
      requests: positiveInt.describe('how many completions of one caller may be in progress at once'),
      message: z
        .string()
        .min(1)
        .describe(
          'the `customMessage` of the 429 that a further one gets, which does not count against a limit; `chat.atOnce: null`, as documented: there is no such 429',
        ),
    })
    .nullable()
    .meta({ isOpen: true }),
  wrongMediaTypeStatus: z.int().min(400).max(499).describe('the status of a chat request that is not application/json'),
  unknownMembers: z
    .enum(['tolerated', 'refused'])
    .nullable()
    .meta(
      open('what happens to a chat request with an unknown field: `tolerated`, `refused` with 400, or `null`: open'),
    ),
  compression: z
    .enum(['required', 'optional'])
    .describe(
      'whether an unstreamed completion must be compressed if the client accepts gzip or br, or `optional`; compressed responses are judged in either case',
    ),
  stream: z
    .strictObject({
      chunkObject: z.string().describe('the `object` of each chunk'),
      doneMarker: z.string().describe('the data of the last event'),
      asksForUsage: z
        .boolean()
        .describe(
          'whether a streamed request asks for its usage with `stream_options: {"include_usage": true}`; `false` for a target that refuses this field',
        ),
    })
    .meta({ isOpen: true }),
})

const textLimits = z.strictObject({
  requestsPerMinute: positiveInt.describe('limits of one caller and one model'),
  tokensPerMinute: positiveInt.describe('prompt and completion together'),
})
export const tierLimits = z
  .strictObject({ XS: textLimits, S: textLimits, M: textLimits, L: textLimits })
  .meta(keyed('model tier'))

export const modelTerms = z.strictObject({
  id: z.string().min(1).describe('the name that a request uses; `models: []` leaves the models to the target'),
  name: z.string().min(1).describe('the display name'),
  /** null: unknown, so the documented limits of tiers do not apply. */
  tier: z
    .enum(modelTiers)
    .nullable()
    .describe('`XS`, `S`, `M` or `L`; `model-tier` in a scenario selects the first model of that tier'),
  payingOnly: z
    .boolean()
    .default(false)
    .describe('whether the model is reserved for paying users; the default is false'),
  /** null: unknown. */
  maxCompletionTokens: positiveInt.nullable().describe('the maximum that a scenario may ask for'),
  logprobs: z
    .boolean()
    .nullable()
    .default(null)
    .describe('whether it returns log probabilities on request; `null`, or left out: not known'),
  /** null: unknown, so no amount is asserted. */
  usdPerMillion: z
    .strictObject({
      input: amountText.describe('dollars for a million tokens of the prompt, a decimal in quotes'),
      output: amountText.describe('the same for the completion; `usdPerMillion: null` if no price is known'),
      cacheInput: amountText
        .nullable()
        .default(null)
        .describe('for prompt tokens from a cache; `null`, or left out: not known'),
      cacheWrite: amountText.nullable().default(null).describe('for tokens written to a cache'),
    })
    .nullable(),
  lifecycle: z
    .enum(['current', 'deprecated'])
    .nullable()
    .default(null)
    .describe(
      'whether responses must warn that the model will be retired (`deprecated`), or must not (`current`); `null`: not asserted',
    ),
})
export type Model = z.infer<typeof modelTerms>

const modelInPath = '{model}'

/** The path of completions of a model. Some gateways have the model, or its deployment, in the path. */
export const chatPath = (template: string, model: string): string =>
  template.replace(modelInPath, () => encodeURIComponent(model))

/** Whether the path says which model is asked, so that the body need not. */
export const namesModelInPath = (template: string): boolean => template.includes(modelInPath)

/** Whether a path is that of the completions of any model. */
export function isChatPath(template: string, path: string): boolean {
  const [before = '', after = null] = template.split(modelInPath)
  if (after === null) return path === template
  const model = path.slice(before.length, path.length - after.length)
  return path.startsWith(before) && path.endsWith(after) && model !== '' && !model.includes('/')
}
