import { z } from 'zod'
import type { Contract, Model } from '../../contract/contract.ts'
import { promisesAny } from '../../contract/promises.ts'
import { isObject, toObject } from '../../lib/json.ts'
import { textHash } from '../../lib/random.ts'
import { type AppliedOptions, areInvalid, type OptionRules, optionsReader } from './options.ts'
import { type Prefix, prefixesOf } from './prompt-cache.ts'
import { countTokens, systemPromptTokens, tokensPerAttachment, tokensPerMessage, tokensPerPrompt } from './tokens.ts'

/** A chat request, parsed. */
export type ChatRequest = {
  readonly stream: boolean
  readonly choices: number
  readonly promptTokens: number
  /** Per choice, visible output and reasoning together. */
  readonly maxCompletionTokens: number
  readonly thinks: boolean
  /** How many of the most probable tokens to return for each position; null for no log probabilities. */
  readonly topLogprobs: number | null
  /** Whether the content begins with a think block. */
  readonly thinksInTags: boolean
  readonly options: AppliedOptions
  /** Whether the response echoes the options, since some were sent. */
  readonly echoes: boolean
  /** What decides the completion of a deterministic request; null: it is sampled. */
  readonly fixedBy: string | null
  /** The tool of the caller that the response must call; null for none. */
  readonly tool: Tool | null
  /** The JSON schema that the content must follow; null for text. */
  readonly schema: unknown
  /** The prefixes of the prompt that a cache may store. */
  readonly prefixes: () => readonly Prefix[]
  /** The text of all messages of the user. */
  readonly userText: () => string
}

type Tool = { readonly name: string; readonly parameters?: unknown }

type ChatIssue = { readonly code: string; readonly path: readonly PropertyKey[]; readonly message: string }

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

/** Whether each result is that of a tool call right before it, and another message follows only when all have theirs. */
function hasResultsOfCalls(messages: readonly z.infer<typeof message>[]): boolean {
  const open = new Set<unknown>()
  for (const { role, tool_calls, tool_call_id } of messages) {
    if (role === 'tool') {
      if (!open.delete(tool_call_id)) return false
    } else {
      if (open.size > 0) return false
      for (const call of tool_calls ?? []) open.add(toObject(call)?.id)
    }
  }
  return true
}

const body = z.looseObject({
  model: z.string(),
  messages: z
    .array(message)
    .min(1)
    .refine(hasResultsOfCalls, 'a tool message has the id of a tool call right before it, and each call has one'),
  stream: z.boolean().default(false),
  frequency_penalty: z.number().min(-2).max(2).optional(),
  logprobs: z.boolean().optional(),
  top_logprobs: z.int().min(0).optional(),
  max_completion_tokens: z.int().min(1).optional(),
  max_tokens: z.int().optional(),
  max_temp: z.number().min(0).max(2).optional(),
  // Each choice is generated in full, so their number needs a limit.
  n: z.int().min(1).max(16).default(1),
  prompt_cache_key: z.string().optional(),
  tools: z.array(z.looseObject({ function: z.looseObject({ name: z.string().min(1) }) })).optional(),
  tool_choice: z.unknown().optional(),
  response_format: z.unknown().optional(),
  temperature: z.unknown().optional(),
  seed: z.unknown().optional(),
})

/** Public fields that are not documented. */
const furtherFields = Object.fromEntries(
  (
    'presence_penalty temperature top_p min_p top_k min_temp repetition_penalty seed stop stop_token_ids stream_options ' +
    'reasoning reasoning_effort prompt_cache_retention response_format tools tool_choice parallel_tool_calls verbosity ' +
    'text fallbacks user store include metadata'
  )
    .split(' ')
    .map(name => [name, z.unknown().optional()] as const),
)

/** Parses the body of a chat request for `model` into the request or its issues. */
export function chatRequestParser(
  contract: Contract,
  rules: OptionRules,
): (value: unknown, model: Model) => ChatRequest | { readonly issues: readonly ChatIssue[] } {
  const { lengthField, parametersField, systemPromptOption } = contract.chat
  const readOptions = optionsReader(contract, rules)
  const refusesNegative = lengthField === 'max_tokens' && promisesAny(contract, ['chat.token-limit.below-zero'])
  const checked = refusesNegative ? body.extend({ max_tokens: z.int().min(0).optional() }) : body
  const known = checked.extend({ [parametersField]: z.unknown().optional() })
  const strict = contract.chat.unknownMembers === 'refused' ? known.extend(furtherFields).strict() : null

  return (sent, model) => {
    const value = withoutNulls(sent)
    const result = checked.safeParse(value)
    const { error = strict?.safeParse(value).error } = result
    if (!result.success || error !== undefined)
      return {
        issues: (error?.issues ?? []).map(({ code, path, message }) => ({
          code,
          path,
          message: message.replace(/received undefined$/, 'received nothing'),
        })),
      }
    const request = result.data
    const { [parametersField]: inBody } = request
    const suffix = request.model.slice(model.id.length + 1)
    const options = readOptions(inBody, suffix, request.stream)
    if (areInvalid(options)) return options
    const requested =
      request.max_completion_tokens ??
      (request.max_tokens !== undefined && request.max_tokens > 0 ? request.max_tokens : Infinity)
    return {
      stream: request.stream,
      choices: request.n,
      promptTokens: request.messages.reduce(
        (total, { content, tool_calls: calls }) =>
          total + tokensPerMessage + contentTokens(content) + (calls ? countTokens(JSON.stringify(calls)) : 0),
        tokensPerPrompt +
          (systemPromptOption === null || options[systemPromptOption] === false ? 0 : systemPromptTokens),
      ),
      maxCompletionTokens: Math.min(requested, model.maxCompletionTokens ?? 4_096),
      topLogprobs: request.logprobs === true && model.logprobs === true ? (request.top_logprobs ?? 0) : null,
      thinks: model.tier === 'L' && options.disable_thinking !== true,
      thinksInTags: model.tier === 'M' && rules.thinksInTags(options),
      options,
      echoes: inBody !== undefined || suffix !== '',
      fixedBy:
        request.temperature === 0 && Number.isInteger(request.seed)
          ? `${request.seed}/${textHash(JSON.stringify(request.messages))}`
          : null,
      tool: calledTool(request.tools, request.tool_choice),
      schema: schemaOf(request.response_format),
      prefixes: () => prefixesOf(request.messages),
      userText: () => userText(request.messages),
    }
  }
}

/** Clients of the OpenAI-style interface send null for what they leave open. */
const withoutNulls = (sent: unknown): unknown =>
  isObject(sent) ? Object.fromEntries(Object.entries(sent).filter(([, value]) => value !== null)) : sent

/** The tool that must be called: the named one, or the first if any tool is required. */
function calledTool(tools: z.infer<typeof body>['tools'], choice: unknown): Tool | null {
  if (choice === 'required') return tools?.[0]?.function ?? null
  const named = isObject(choice) && isObject(choice.function) ? choice.function.name : null
  return tools?.find(tool => tool.function.name === named)?.function ?? null
}

/** Of any JSON that was asked for without a schema. */
const anyAnswer = { type: 'object', properties: { answer: { type: 'string' } }, required: ['answer'] }

function schemaOf(format: unknown): unknown {
  const { type, json_schema: named } = toObject(format) ?? {}
  if (type === 'json_schema') return toObject(named)?.schema ?? anyAnswer
  return type === 'json_object' ? anyAnswer : null
}

function userText(messages: z.infer<typeof body>['messages']): string {
  const texts = messages.flatMap(({ role, content }) => {
    if (role !== 'user') return []
    return typeof content === 'string'
      ? [content]
      : (content ?? []).map(part => (part.type === 'text' ? part.text : ''))
  })
  return texts.join('\n')
}

function contentTokens(content: z.infer<typeof message>['content']): number {
  if (content === null || content === undefined) return 0
  if (typeof content === 'string') return countTokens(content)
  return content.reduce(
    (total, part) => total + (part.type === 'text' ? countTokens(part.text) : tokensPerAttachment),
    0,
  )
}
