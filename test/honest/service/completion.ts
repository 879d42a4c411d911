import type { ChatRequest } from './chat-request.ts'
import type { Json } from './reply.ts'
import { numbers, type Variant } from './variant.ts'

/** One choice as tokens. Each token is one piece of text, with the space before it. */
export type Choice = {
  readonly index: number
  readonly reasoning: readonly string[]
  readonly text: readonly string[]
  readonly call: { readonly id: string; readonly name: string; readonly pieces: readonly string[] } | null
  readonly finish: 'stop' | 'length' | 'tool_calls'
  /** All generated tokens, shown or not. */
  readonly generated: number
}

export type Completion = {
  readonly choices: readonly Choice[]
  readonly promptTokens: number
  readonly completionTokens: number
  readonly reasoningTokens: number
  readonly found: readonly Json[]
  readonly lookups: number
}

const vocabulary =
  'the river runs under an old bridge where two boats wait for the tide and a heron stands still in shallow water'.split(
    ' ',
  )

/** Each word is a token, and each message has three more. */
export const countTokens = (text: string): number => text.split(/\s+/).filter(word => word !== '').length

const systemPrompt = 212

export function complete(request: ChatRequest, seed: number, id: string): Completion {
  const next = numbers(seed)
  const { found, lookups } = search(request)
  const choices = Array.from({ length: request.choices }, (_, index) => choose(request, { index, next, found, id }))
  const own = request.parameters.include_venice_system_prompt ? systemPrompt : 0
  return {
    choices,
    promptTokens: countTokens(request.promptText) + 3 * request.messageCount + own,
    completionTokens: choices.reduce((sum, { generated }) => sum + generated, 0),
    reasoningTokens: choices.reduce((sum, { reasoning }) => sum + reasoning.length, 0),
    found,
    lookups,
  }
}

/** Pages named in the question, or the results of a search. */
function search({ parameters, question }: ChatRequest): { readonly found: readonly Json[]; readonly lookups: number } {
  const page = (url: string, index: number): Json => ({
    title: `Page ${index + 1}`,
    url,
    content: 'A page about rivers.',
    date: '2026-05-04',
  })
  if (parameters.enable_web_scraping) {
    const urls = [...new Set(question.match(/https?:\/\/[^\s)]+/g) ?? [])].slice(0, 5)
    if (urls.length > 0) return { found: urls.map(page), lookups: urls.length }
  }
  if (parameters.enable_web_search !== 'on' && !parameters.enable_x_search) return { found: [], lookups: 0 }
  const urls = ['https://rivers.example/heron', 'https://rivers.example/tide', 'https://boats.example/']
  return { found: urls.map(page), lookups: 1 }
}

type Source = {
  readonly index: number
  readonly next: () => number
  readonly found: readonly Json[]
  readonly id: string
}

function choose(request: ChatRequest, { index, next, found, id }: Source): Choice {
  const { model, bound, parameters, tool } = request
  const word = () => ` ${vocabulary[Math.floor(next() * vocabulary.length)]}`
  const words = (count: number) => Array.from({ length: count }, word)
  const documents = parameters.return_search_results_as_documents && found.length > 0
  const name = documents ? 'service_web_search_documents' : tool
  if (name !== null) {
    const pieces = documents ? [JSON.stringify({ documents: found })] : ['{"', 'city', '":', ' "', 'Basel', '"}']
    if (pieces.length + 4 <= bound) {
      const call = { id: `call_${id}_${index}`, name, pieces }
      return { index, reasoning: [], text: [], call, finish: 'tool_calls', generated: pieces.length + 4 }
    }
  }
  const thinks = model.thinking !== 'none' && !parameters.disable_thinking
  const thought = words(thinks ? 3 + Math.floor(next() * 6) : 0)
  const answer = words(12 + Math.floor(next() * 60))
  if (parameters.enable_web_citations && found.length > 0) {
    answer.splice(2, 0, '[REF]0[/REF]')
    answer.push(`[REF]${found.length - 1}[/REF]`)
  }
  const tagged = model.thinking === 'tags' && thinks
  const opening = tagged ? ['<think>', ...thought, '</think>'] : thought
  const finish = opening.length + answer.length > bound ? 'length' : 'stop'
  const head = opening.slice(0, bound)
  const tail = answer.slice(0, bound - head.length)
  const shown = tagged && !parameters.strip_thinking_response ? [...head, ...tail] : tail
  return {
    index,
    reasoning: tagged ? [] : head,
    text: shown,
    call: null,
    finish,
    generated: head.length + tail.length,
  }
}

/** The log probabilities of these tokens, in the layout of the variant. */
export function logprobsOf(tokens: readonly string[], top: number, { logprobs }: Variant): Json | null {
  const rows = tokens.map((token, position) => {
    const row = (text: string, rank: number) => ({
      token: text,
      logprob: -0.1 - rank - position / 1000,
      bytes: [...Buffer.from(text)],
    })
    return {
      ...row(token, 0),
      top_logprobs: Array.from({ length: top }, (_, rank) => row(rank === 0 ? token : ' x', rank)),
    }
  })
  return logprobs === 'per-token' ? { content: rows } : (rows[0] ?? null)
}

const joined = (tokens: readonly string[]): string => tokens.join('').trimStart()

/** What the model thought, in the layout of the variant. */
export function reasoningMembers(tokens: readonly string[], { reasoning }: Variant, index = 0): Json {
  if (tokens.length === 0) return {}
  switch (reasoning) {
    case 'content':
      return { reasoning_content: tokens.join('') }
    case 'details':
      return {
        reasoning_details: [{ type: 'reasoning.text', text: tokens.join(''), format: 'plain', id: 'r1', index }],
      }
    case 'hidden':
      return {}
  }
}

export function toolCallOf({ call }: Choice): readonly Json[] | null {
  if (call === null) return null
  return [{ id: call.id, type: 'function', function: { name: call.name, arguments: call.pieces.join('') } }]
}

export function messageOf(choice: Choice, variant: Variant): Json {
  const calls = toolCallOf(choice)
  const empty: Json =
    variant.details === 'absent' ? {} : { name: null, reasoning_content: null, thought_signature: null }
  return {
    role: 'assistant',
    content: calls === null ? joined(choice.text) : null,
    ...empty,
    ...reasoningMembers(choice.reasoning, variant),
    ...(calls !== null ? { tool_calls: calls } : variant.details === 'absent' ? {} : { tool_calls: null }),
  }
}
