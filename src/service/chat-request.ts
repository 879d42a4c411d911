import { z } from 'zod'
import type { Contract, Model } from '../contract/contract.ts'
import {
  countTokens,
  systemPromptTokens,
  tokensPerAttachment,
  tokensPerMessage,
  tokensPerPrompt,
} from './token-count.ts'

/** A chat request, parsed. */
export type ChatRequest = {
  readonly stream: boolean
  readonly choices: number
  readonly promptTokens: number
  /** Of one choice, visible output and reasoning together. */
  readonly maxCompletionTokens: number
  readonly thinks: boolean
  /** How many of the most probable tokens are given with each; null: no log probabilities at all. */
  readonly topLogprobs: number | null
  /** Echoed in the answer; undefined where none were sent. */
  readonly parameters: Readonly<Record<string, unknown>> | undefined
}

export type ChatIssue = { readonly code: string; readonly path: readonly PropertyKey[]; readonly message: string }

const cacheControl = z.looseObject({ type: z.literal('ephemeral'), ttl: z.string().optional() })
const textPart = z.looseObject({
  type: z.literal('text'),
  text: z.string().min(1),
  cache_control: cacheControl.optional(),
})
const attachment = z.looseObject({ type: z.enum(['image_url', 'input_audio', 'video_url', 'file']) })
const message = z
  .looseObject({
    role: z.string().min(1),
    content: z.union([z.string(), z.array(z.discriminatedUnion('type', [textPart, attachment]))]).nullish(),
    tool_calls: z.array(z.unknown()).nullish(),
  })
  .refine(({ content, tool_calls }) => (content ?? tool_calls ?? null) !== null, 'a message has content or tool_calls')

const body = z.looseObject({
  model: z.string(),
  messages: z.array(message).min(1),
  stream: z.boolean().default(false),
  frequency_penalty: z.number().min(-2).max(2).optional(),
  logprobs: z.boolean().optional(),
  top_logprobs: z.int().min(0).optional(),
  max_completion_tokens: z.int().min(1).optional(),
  max_tokens: z.int().optional(),
  max_temp: z.number().min(0).max(2).optional(),
  // Each choice is generated in full, so that their number has to have a bound.
  n: z.int().min(1).max(16).default(1),
  prompt_cache_key: z.string().optional(),
})

/** Members that are public and not documented. */
const furtherMembers = Object.fromEntries(
  (
    'presence_penalty temperature top_p min_p top_k min_temp repetition_penalty seed stop stop_token_ids stream_options ' +
    'reasoning reasoning_effort prompt_cache_retention response_format tools tool_choice parallel_tool_calls verbosity ' +
    'text fallbacks user store include metadata'
  )
    .split(' ')
    .map(name => [name, z.unknown()] as const),
)

const parameterShape = {
  character_slug: z.string(),
  strip_thinking_response: z.boolean(),
  disable_thinking: z.boolean(),
  enable_web_search: z.enum(['off', 'on', 'auto']),
  enable_web_scraping: z.boolean(),
  enable_x_search: z.boolean(),
  enable_web_citations: z.boolean(),
  include_search_results_in_stream: z.boolean(),
  return_search_results_as_documents: z.boolean(),
  enable_e2ee: z.boolean(),
}

/** Reads the body of a chat request for `model`: the request, or what is wrong with it. */
export function chatRequestParser(
  contract: Contract,
): (value: unknown, model: Model) => ChatRequest | { readonly issues: readonly ChatIssue[] } {
  const { parametersField, systemPromptOption } = contract.chat
  const parameters = z.object({ ...parameterShape, [systemPromptOption]: z.boolean() }).partial()
  const known = body.extend({ [parametersField]: parameters.optional() })
  const schema = contract.chat.unknownMembers === 'refused' ? known.extend(furtherMembers).strict() : known

  return (value, model) => {
    const result = schema.safeParse(value)
    if (!result.success)
      return { issues: result.error.issues.map(({ code, path, message }) => ({ code, path, message })) }
    const request = body.parse(value)
    const sent: Readonly<Record<string, unknown>> | undefined = parameters
      .optional()
      .parse(result.data[parametersField])
    const asked =
      request.max_completion_tokens ??
      (request.max_tokens !== undefined && request.max_tokens > 0 ? request.max_tokens : Infinity)
    return {
      stream: request.stream,
      choices: request.n,
      promptTokens: request.messages.reduce(
        (total, { content }) => total + tokensPerMessage + contentTokens(content),
        tokensPerPrompt + (sent?.[systemPromptOption] === false ? 0 : systemPromptTokens),
      ),
      maxCompletionTokens: Math.min(asked, model.maxCompletionTokens),
      topLogprobs: request.logprobs === true && model.logprobs === true ? (request.top_logprobs ?? 0) : null,
      thinks: model.tier === 'L' && sent?.disable_thinking !== true,
      parameters: sent,
    }
  }
}

function contentTokens(content: z.infer<typeof message>['content']): number {
  if (content === null || content === undefined) return 0
  if (typeof content === 'string') return countTokens(content)
  return content.reduce(
    (total, part) => total + (part.type === 'text' ? countTokens(part.text) : tokensPerAttachment),
    0,
  )
}
