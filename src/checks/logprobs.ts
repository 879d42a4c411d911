import type { Contract } from '../contract/contract.ts'
import { quote } from '../lib/format.ts'
import { toObject } from '../lib/json.ts'
import type { ChatAsked } from '../observation/observation.ts'
import type { Expect } from './check.ts'

type OfLogprobs = 'chat.logprobs' | 'chat.logprobs.asked' | 'chat.logprobs.top' | 'chat.prompt-logprobs'
type Members = Readonly<Record<string, unknown>>

/** The log probabilities of an unstreamed completion: that they were asked for, and what they look like. */
export function checkLogprobs(
  ofPrompt: unknown,
  choices: readonly unknown[],
  asked: ChatAsked,
  contract: Contract,
  expect: Expect<OfLogprobs>,
): void {
  if (ofPrompt !== undefined) {
    const isRight = ofPrompt === null || toObject(ofPrompt) !== null
    expect('chat.prompt-logprobs', isRight, () => `prompt_logprobs is ${quote(ofPrompt)}, expected null or an object`)
  }
  const { logprobs: wanted, top_logprobs: top } = asked.options?.body ?? {}
  const isAsked = wanted === true
  for (const choice of choices) {
    const said = toObject(choice)?.logprobs
    // That the key is there is a clause of the choice.
    if (said === undefined) continue
    const positions = said === null ? [] : positionsOf(said)
    const wrong = positions === null ? 'no object' : (positions.map(wrongPosition).find(each => each !== null) ?? null)
    expect('chat.logprobs', wrong === null, () => `logprobs is ${quote(said)}: ${wrong}`)
    if (positions === null) continue
    checkAsked(positions.length > 0, isAsked, top !== undefined, asked.model, contract, expect)
    if (isAsked && typeof top === 'number') {
      const longest = positions.reduce(
        (most, { top_logprobs: each }) => (Array.isArray(each) ? Math.max(most, each.length) : most),
        0,
      )
      expect(
        'chat.logprobs.top',
        longest <= top,
        () => `a position has ${longest} tokens with it, expected at most ${top}`,
      )
    }
  }
}

function checkAsked(
  given: boolean,
  isAsked: boolean,
  isTopAsked: boolean,
  model: string,
  { models }: Contract,
  expect: Expect<'chat.logprobs.asked'>,
): void {
  if (isAsked) {
    // Not every model has them, and which do is open where the profile does not say so.
    if (!given && !models.some(({ id, logprobs }) => id === model && logprobs === true)) return
    expect('chat.logprobs.asked', given, () => `${model} gave no log probabilities, expected those that were asked for`)
  } else if (!isTopAsked) {
    expect('chat.logprobs.asked', !given, () => 'log probabilities came back, expected none since none were asked for')
  }
}

/** One object for the position that it is about, or a list of such; null for what is neither. */
function positionsOf(logprobs: unknown): readonly Members[] | null {
  const said = toObject(logprobs)
  if (said === null) return null
  const { content, token } = said
  const listed = Array.isArray(content) ? content.map(each => toObject(each) ?? {}) : []
  return token === undefined ? listed : [said, ...listed]
}

/** Null when nothing is wrong. Bytes are left out, or null, where a token has none. */
function wrongPosition(position: Members): string | null {
  const { top_logprobs: top } = position
  const wrong = wrongToken(position)
  if (wrong !== null || top === undefined || top === null) return wrong
  if (!Array.isArray(top)) return `top_logprobs is ${quote(top)}, expected a list`
  return top.map(each => wrongToken(toObject(each) ?? {})).find(each => each !== null) ?? null
}

function wrongToken({ token, logprob, bytes }: Members): string | null {
  if (typeof token !== 'string') return `token is ${quote(token)}, expected a text`
  if (typeof logprob !== 'number') return `logprob is ${quote(logprob)}, expected a number`
  if (bytes === undefined || bytes === null) return null
  const isNumbers = Array.isArray(bytes) && bytes.every(byte => typeof byte === 'number')
  return isNumbers ? null : `bytes is ${quote(bytes)}, expected a list of numbers`
}
