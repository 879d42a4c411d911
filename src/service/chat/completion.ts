import type { Model } from '../../contract/contract.ts'
import { formatPico, pico } from '../../lib/money.ts'
import type { Random } from '../../lib/random.ts'
import { logNormal, type ServiceLatency } from '../capacity.ts'
import type { CacheUse } from './prompt-cache.ts'
import type { ChatRequest } from './request.ts'

/** The generated tokens of one choice. */
export type GeneratedChoice = {
  readonly reasoning: readonly Token[]
  readonly content: readonly Token[]
  /** The part of the content that is sent. */
  readonly shown: readonly Token[]
  /** Sent in place of the content. */
  readonly toolCall: ToolCall | null
  readonly finishReason: FinishReason
}

export type FinishReason = 'stop' | 'length' | 'tool_calls'
export type ToolCall = { readonly name: string; readonly arguments: string }

export type Token = { readonly word: string; readonly afterMs: number }

/** The first fields of a completion and of every chunk. */
export type CompletionHead = {
  readonly id: string
  readonly object: string
  readonly created: number
  readonly model: string
}

export type Choice = {
  readonly index: number
  readonly finish_reason: string | null
  readonly stop_reason: unknown
  readonly logprobs: Logprobs | null
  readonly message: {
    readonly role: 'assistant'
    readonly content: string | null
    readonly reasoning_content: string | null
    readonly reasoning_details?: readonly unknown[]
    readonly thought_signature?: string | null
    readonly tool_calls?: readonly unknown[]
  }
}

export type Usage = {
  readonly prompt_tokens: number
  readonly completion_tokens: number
  readonly total_tokens: number
  readonly prompt_tokens_details: { readonly cached_tokens: number; readonly cache_creation_input_tokens: number }
  readonly completion_tokens_details: { readonly reasoning_tokens: number } | null
}

/** Amounts as JSON numbers. With at most 15 significant digits they parse back to the exact decimal. */
export type Cost = { readonly usd: number; readonly diem: number }

export function costOf(amountPico: bigint, currency: 'usd' | 'diem'): Cost {
  const amount = Number(formatPico(amountPico))
  return currency === 'usd' ? { usd: amount, diem: 0 } : { usd: 0, diem: amount }
}

/** Half of all completions are shorter than this · ln 2, so short bounds are often reached and long ones are not. */
const meanTokens = 96
/** The share of reasoning in a completion of a reasoning model. */
const reasoningShare = 0.3

export function generateChoice(
  request: ChatRequest,
  /** Tokens of the choice, given how many it would have without the requested bound. */
  rules: { readonly completionTokens: (natural: number, bound: number) => number },
  timing: ServiceLatency,
  random: Random,
): GeneratedChoice {
  const bound = request.maxCompletionTokens
  const natural = 1 + Math.floor(random.exponential() * meanTokens)
  const total = rules.completionTokens(natural, bound)
  // The last token is always visible output.
  const thought = request.thinks ? Math.floor(total * reasoningShare) : 0
  let afterMs = logNormal(random, timing.ttftMs, timing.ttftSigma)
  const tokens = Array.from({ length: total }, (_, index): Token => {
    if (index > 0) afterMs += logNormal(random, timing.itlMs, timing.itlSigma)
    return { word: words[random.int(words.length)] ?? '', afterMs }
  })
  const content = tokens.slice(thought)
  return {
    reasoning: tokens.slice(0, thought),
    content,
    shown: content,
    toolCall: null,
    finishReason: natural < bound ? 'stop' : 'length',
  }
}

export const joinTokens = (tokens: readonly Token[]): string => tokens.map(({ word }) => word).join(' ')

export function usageOf(
  promptTokens: number,
  generated: readonly GeneratedChoice[],
  thinks: boolean,
  cache: CacheUse,
): Usage {
  const reasoningTokens = generated.reduce((total, { reasoning }) => total + reasoning.length, 0)
  const completionTokens = generated.reduce((total, { content }) => total + content.length, reasoningTokens)
  return {
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    total_tokens: promptTokens + completionTokens,
    prompt_tokens_details: { cached_tokens: cache.read, cache_creation_input_tokens: cache.written },
    completion_tokens_details: thinks ? { reasoning_tokens: reasoningTokens } : null,
  }
}

/** Without details, nothing was cached. */
type BilledUsage = Pick<Usage, 'prompt_tokens' | 'completion_tokens'> & Partial<Pick<Usage, 'prompt_tokens_details'>>

/** Tokens × price, in 10⁻¹² of either currency, rounded half away from zero. */
export function listPricePico(
  { prompt_tokens, completion_tokens, prompt_tokens_details: details }: BilledUsage,
  { input, output, cacheInput, cacheWrite }: NonNullable<Model['usdPerMillion']>,
): bigint {
  const read = BigInt(details?.cached_tokens ?? 0)
  const written = BigInt(details?.cache_creation_input_tokens ?? 0)
  const fresh = BigInt(prompt_tokens) - read - written
  const perMillion =
    fresh * pico(input) +
    read * pico(cacheInput ?? input) +
    written * pico(cacheWrite ?? input) +
    BigInt(completion_tokens) * pico(output)
  return (perMillion + 500_000n) / 1_000_000n
}

// No word has more than twelve letters, so each is one token by the rule of `countTokens`.
const words = (
  'a an and are as at balance because block bridge by call chain charge clear count credit day each even every first for from ' +
  'gate given has in is it keep large last ledger less limit line long many measure minute more most never node number of on ' +
  'one open or over pass past per price queue rate reads request road second sent several short since small some state still ' +
  'stream sum takes ten than that the then there they this through time to token toll toward two under until value waits ' +
  'was way when where which while window with within word'
).split(' ')

type Candidate = { readonly token: string; readonly logprob: number; readonly bytes: readonly number[] }

/** A generated token with the most probable tokens of its position. */
export type TokenLogprob = Candidate & { readonly top_logprobs: readonly Candidate[] }

/** The first token, and all of them as a list. */
export type Logprobs = TokenLogprob & { readonly content: readonly TokenLogprob[] }

/**
 * Log probabilities of words from the position `from` on, invented from the position alone, so that requesting them changes
 * nothing else. Null without tokens.
 */
export function logprobsOf(words: readonly string[], top: number, from = 0): Logprobs | null {
  const content = words.map((word, offset) => {
    const index = from + offset
    const token = index === 0 ? word : ` ${word}`
    const first = candidate(token, -(1 + (index % 7)) / 16)
    const others = Array.from({ length: Math.max(0, top - 1) }, (_, rank) => candidate(`~${rank}`, -1 - rank))
    return { ...first, top_logprobs: top === 0 ? [] : [first, ...others] }
  })
  const [first] = content
  return first === undefined ? null : { ...first, content }
}

const candidate = (token: string, logprob: number): Candidate => ({ token, logprob, bytes: [...Buffer.from(token)] })
