import { isDeepStrictEqual } from 'node:util'
import { isPresent, toObject } from '../../lib/json.ts'
import { memoizeLast } from '../../lib/memoize.ts'
import {
  type ObservationOf,
  type ObservedResponse,
  recordedLength,
  type StreamRecord,
} from '../../observation/observation.ts'
import type { ChatDescriptor } from '../../observation/requests/chat.ts'
import { jsonObject } from '../../observation/response.ts'
import type { Expect } from './check.ts'
import { isCount, tokenCounts } from './completion.ts'

/** What a completion shows of its tokens. */
export type ShownText = {
  readonly characters: number
  /** All tokens of the completion. */
  readonly most: number
  /** Its tokens, without the reasoning that is stated and not shown. */
  readonly tokens: number
  readonly reasoning: 'shown' | 'counted' | 'none'
  /** Whether the usage states how many tokens are reasoning. Otherwise any of them may be hidden. */
  readonly isStated: boolean
  readonly finish: unknown
}

/**
 * What a response to a request shows; null: not all of the text is known, or some of its tokens may be no text. Several judges
 * ask for it, so it is computed once.
 */
export const shownText = memoizeLast(
  (response: ObservedResponse | null, { options }: ChatDescriptor): ShownText | null => {
    const isStream = response?.body.kind === 'stream'
    const shown = isStream ? charactersOfStream(response.body.stream) : charactersOfBody(jsonObject(response)?.choices)
    const usage = isStream ? response.body.stream.usage : jsonObject(response)?.usage
    const counts = tokenCounts(usage)
    const asked = JSON.stringify(options?.parameters ?? {}) + (options?.suffix ?? '')
    if (shown === null || counts === null || changesText.test(asked)) return null
    const { content, reasoning, finish } = shown
    if (typeof finish === 'string' && !textEnds.includes(finish)) return null
    const thought = toObject(toObject(usage)?.completion_tokens_details)?.reasoning_tokens
    const hidden = reasoning === 0 && isCount(thought) ? thought : 0
    return {
      characters: content + reasoning,
      most: counts.completion,
      // Some services count reasoning in addition to the completion.
      tokens: Math.max(0, counts.completion - hidden),
      reasoning: reasoning > 0 ? 'shown' : hidden > 0 ? 'counted' : 'none',
      isStated: isCount(thought),
      finish,
    }
  },
)

/** How a text ends of which nothing was taken away. A filter leaves none, or one of its own. */
const textEnds: readonly string[] = ['stop', 'length']

/** Options that take a part of the text away, or encrypt it. */
const changesText = /strip_thinking|disable_thinking|e2ee/

type Characters = { readonly content: number; readonly reasoning: number; readonly finish: unknown }

function charactersOfStream(stream: StreamRecord): Characters | null {
  const { grammar, deltaTypes, contentCharacters: content, reasoningCharacters: reasoning, finishReasons } = stream
  const isOther = deltaTypes.some(
    ([field, type]) => field === 'reasoning_details' || (field === 'content' && type !== 'string'),
  )
  if (isOther || stream.toolNames.length > 0 || grammar.some(([part]) => part === 'tool-call' || part === 'error'))
    return null
  return { content, reasoning, finish: finishReasons.length === 1 ? finishReasons[0] : null }
}

function charactersOfBody(choices: unknown): Characters | null {
  if (!Array.isArray(choices)) return null
  const sum = { content: 0, reasoning: 0 }
  for (const choice of choices) {
    const message = toObject(toObject(choice)?.message) ?? {}
    // Another clause judges a message without content.
    const { content } = message
    const reasoning = message.reasoning_content ?? message.reasoning ?? ''
    if (typeof content !== 'string' || typeof reasoning !== 'string') return null
    if ([content, reasoning].some(text => text.length === recordedLength.body)) return null
    if (noText.some(name => isPresent(message[name]) && !isDeepStrictEqual(message[name], []))) return null
    sum.content += content.length
    sum.reasoning += reasoning.length
  }
  return { ...sum, finish: choices.length === 1 ? toObject(choices[0])?.finish_reason : null }
}

/** Members of a message that tokens may have become. */
const noText = ['tool_calls', 'function_call', 'reasoning_details', 'refusal', 'audio', 'images'] as const

/** How many texts of a model were measured, and their least and most characters per token. */
export type TextLengths = { count: number; least: number; most: number }

export const noLengths = (): TextLengths => ({ count: 0, least: Number.POSITIVE_INFINITY, most: 0 })

export function addLength(lengths: TextLengths, perToken: number): void {
  lengths.count++
  lengths.least = Math.min(lengths.least, perToken)
  lengths.most = Math.max(lengths.most, perToken)
}

const minTexts = 5
/** Texts of one model do not differ so much in the length of a token, or their tokens are not all shown. */
export const usualRatio = 2

/** Whether the texts of a model show all of their tokens. */
export const areUsual = ({ count, least, most }: TextLengths): boolean =>
  count >= minTexts && most <= least * usualRatio

/** No token of a known tokenizer is longer: it is a run of spaces. */
const maxPerToken = 128
/** A glyph of many bytes takes at most 4 tokens, and a joined one at most this many. */
const maxPerCharacter = 16
/** Fewer tokens than this may all be marks that no text shows. */
const minShown = 16

export function checkText(
  { request, response }: ObservationOf<ChatDescriptor>,
  expect: Expect<'chat.usage.text'>,
): void {
  const shown = shownText(response, request)
  if (shown === null) return
  const { characters, most, tokens, reasoning, isStated } = shown
  const max = (most + 1) * maxPerToken
  // Of reasoning, some services show a summary.
  const min = isStated && reasoning !== 'shown' && tokens >= minShown ? Math.ceil(tokens / maxPerCharacter) : 0
  expect('chat.usage.text', characters >= min && characters <= max, () => {
    const [counted, expected] = characters < min ? [tokens, `at least ${min}`] : [most, `at most ${max}`]
    return `the text of ${counted} completion tokens has ${characters} characters, expected ${expected}`
  })
}
