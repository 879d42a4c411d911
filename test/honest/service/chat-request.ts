import type { Catalog, Model } from './catalog.ts'
import type { Json } from './reply.ts'

/** The options of a request, each with its value or its default. */
export type ChatParameters = {
  readonly character_slug: string | null
  readonly strip_thinking_response: boolean
  readonly disable_thinking: boolean
  readonly enable_web_search: 'off' | 'on' | 'auto'
  readonly enable_web_scraping: boolean
  readonly enable_x_search: boolean
  readonly enable_web_citations: boolean
  readonly include_search_results_in_stream: boolean
  readonly return_search_results_as_documents: boolean
  readonly include_venice_system_prompt: boolean
  readonly enable_e2ee: boolean
}

const defaults: ChatParameters = {
  character_slug: null,
  strip_thinking_response: false,
  disable_thinking: false,
  enable_web_search: 'off',
  enable_web_scraping: false,
  enable_x_search: false,
  enable_web_citations: false,
  include_search_results_in_stream: false,
  return_search_results_as_documents: false,
  include_venice_system_prompt: true,
  enable_e2ee: false,
}

export type ChatRequest = {
  readonly model: Model
  readonly promptText: string
  readonly messageCount: number
  /** The text of the last user message. */
  readonly question: string
  readonly stream: boolean
  readonly wantsUsage: boolean
  readonly bound: number
  readonly choices: number
  readonly logprobs: boolean
  readonly topLogprobs: number
  /** The function that must be called. */
  readonly tool: string | null
  readonly parameters: ChatParameters
}

export type Parsed<Value> = { readonly ok: true; readonly value: Value } | { readonly ok: false; readonly why: string }
const bad = (why: string): { readonly ok: false; readonly why: string } => ({ ok: false, why })

export const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

export function parseObject(text: string): Json | null {
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) ? value : null
  } catch {
    return null
  }
}

/** The model that a request names, without the options in its suffix. */
export function modelOf({ model }: Json, { models }: Catalog): Model | null {
  if (typeof model !== 'string') return null
  const id = model.split(':')[0]
  return models.find(other => other.id === id) ?? null
}

type Rule = readonly [member: string, fits: (value: unknown) => boolean, expected: string]

const between = (least: number, most: number) => (value: unknown) =>
  typeof value === 'number' && value >= least && value <= most
const whole = (value: unknown) => Number.isInteger(value)
const flag = (value: unknown) => typeof value === 'boolean'

const rules: readonly Rule[] = [
  ['stream', flag, 'true or false'],
  ['frequency_penalty', between(-2, 2), 'a number from -2 to 2'],
  ['max_temp', between(0, 2), 'a number from 0 to 2'],
  ['logprobs', flag, 'true or false'],
  ['top_logprobs', value => whole(value) && Number(value) >= 0, 'a whole number of at least 0'],
  ['max_completion_tokens', value => whole(value) && Number(value) > 0, 'a whole number above 0'],
  ['max_tokens', whole, 'a whole number'],
  ['n', value => whole(value) && Number(value) >= 1 && Number(value) <= 8, 'a whole number from 1 to 8'],
  ['prompt_cache_key', value => typeof value === 'string', 'a text'],
]

/** Parses a request whose model is known. */
export function parseChat(body: Json, model: Model): Parsed<ChatRequest> {
  for (const [member, fits, expected] of rules) {
    const value = body[member]
    if (value !== undefined && value !== null && !fits(value)) return bad(`${member} must be ${expected}`)
  }
  const { messages } = body
  if (!Array.isArray(messages) || messages.length === 0) return bad('messages must be a list of messages')
  const texts: string[] = []
  let question = ''
  for (const message of messages as readonly unknown[]) {
    const text = parseMessage(message)
    if (!text.ok) return text
    texts.push(text.value)
    if (isObject(message) && message.role === 'user') question = text.value
  }
  const parameters = parseParameters(body)
  if (!parameters.ok) return parameters
  const [newer, older] = [body.max_completion_tokens, body.max_tokens]
  const bound = typeof newer === 'number' ? newer : typeof older === 'number' && older > 0 ? older : model.longest
  return {
    ok: true,
    value: {
      model,
      promptText: texts.join('\n'),
      messageCount: texts.length,
      question,
      stream: body.stream === true,
      wantsUsage: isObject(body.stream_options) && body.stream_options.include_usage === true,
      bound: Math.min(bound, model.longest),
      choices: typeof body.n === 'number' ? body.n : 1,
      logprobs: body.logprobs === true,
      topLogprobs: typeof body.top_logprobs === 'number' ? body.top_logprobs : 0,
      tool: forcedTool(body),
      parameters: parameters.value,
    },
  }
}

function parseMessage(message: unknown): Parsed<string> {
  if (!isObject(message) || typeof message.role !== 'string') return bad('a message must have a role')
  const { content } = message
  if (typeof content === 'string') return { ok: true, value: content }
  if (content === null && Array.isArray(message.tool_calls)) return { ok: true, value: '' }
  if (!Array.isArray(content)) return bad('content must be a text or a list of parts')
  const texts: string[] = []
  for (const part of content as readonly unknown[]) {
    if (!isObject(part) || typeof part.type !== 'string') return bad('a part must have a type')
    if (part.type === 'text' && (typeof part.text !== 'string' || part.text === ''))
      return bad('text must not be empty')
    const control = part.cache_control
    if (control !== undefined && control !== null) {
      if (!isObject(control) || control.type !== 'ephemeral') return bad('the type of cache_control must be ephemeral')
      if (control.ttl !== undefined && typeof control.ttl !== 'string') return bad('ttl must be a text')
    }
    texts.push(typeof part.text === 'string' ? part.text : '')
  }
  return { ok: true, value: texts.join(' ') }
}

/** The options in the body, and those in the suffix of the model. */
function parseParameters(body: Json): Parsed<ChatParameters> {
  const given: Record<string, unknown> = { ...(isObject(body.service_parameters) ? body.service_parameters : {}) }
  const suffix = `${body.model}`.split(':').slice(1).join(':')
  for (const pair of suffix.split('&').filter(text => text !== '')) {
    const [name = '', value = ''] = pair.split('=')
    given[name] = value === 'true' ? true : value === 'false' ? false : value
  }
  const known: Record<string, unknown> = { ...defaults }
  for (const [name, value] of Object.entries(given)) {
    if (!Object.hasOwn(defaults, name) || value === null) continue
    if (name === 'enable_web_search') {
      if (value !== 'off' && value !== 'on' && value !== 'auto') return bad(`${name} must be off, on or auto`)
    } else if (name === 'character_slug') {
      if (typeof value !== 'string') return bad(`${name} must be a text`)
    } else if (typeof value !== 'boolean') return bad(`${name} must be true or false`)
    known[name] = value
  }
  return { ok: true, value: known as ChatParameters }
}

/** The name of the function that must be called; null if the model may answer with text. */
function forcedTool({ tools, tool_choice: choice }: Json): string | null {
  if (!Array.isArray(tools)) return null
  const named = (tools as readonly unknown[]).flatMap(tool =>
    isObject(tool) && isObject(tool.function) && typeof tool.function.name === 'string' ? [tool.function.name] : [],
  )
  if (isObject(choice) && isObject(choice.function)) return `${choice.function.name}`
  return choice === 'required' ? (named[0] ?? null) : null
}
