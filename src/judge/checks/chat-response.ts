import type { Contract } from '../../contract/contract.ts'
import { quote } from '../../lib/format.ts'
import { isPresent, plainText, toObject } from '../../lib/json.ts'
import type { ChatDescriptor } from '../../observation/requests/chat.ts'
import { hasReplayStatus, is2xx, isJsonType, jsonObject } from '../../observation/response.ts'
import { type Check, checkStatus, type Expect, expectFor } from './check.ts'
import { checkCanary, checkCompletion, checkFinishReason } from './completion.ts'
import { checkText } from './shown-text.ts'

/** Checks an unstreamed completion. */
export const checkChatResponse: Check<'chat-response', ChatDescriptor> = (observation, contract, reporter) => {
  const { response } = observation
  if (observation.request.stream) return
  if (response === null || !is2xx(response.status)) return
  const expect = expectFor(reporter, observation.id)

  if (!hasReplayStatus(response, contract)) checkStatus('chat.status', response, expect)
  const type = response.headers['content-type']
  expect('chat.content-type', isJsonType(type), () => `content-type is ${quote(type)}, expected application/json`)
  // An unreadable body violates the clause of its encoding.
  if (response.body.kind === 'undecodable') return
  const body = jsonObject(response)
  const object = body?.object
  expect('chat.object', object === 'chat.completion', () => `object is ${quote(object)}, expected "chat.completion"`)
  const { id, created, model, usage, cost, choices } = body ?? {}
  const isTruncated = Array.isArray(choices) && choices.some(choice => toObject(choice)?.finish_reason === 'length')
  checkCompletion({ id, created, model, usage, cost, isTruncated }, observation, contract, reporter)
  checkText(observation, expect)

  if (Array.isArray(choices))
    for (const choice of choices) {
      checkChoice(toObject(choice), choices.length, contract, expect)
      checkCanary(plainText(toObject(toObject(choice)?.message)?.content ?? ''), observation.request, expect)
    }
  // Choices may be absent. If present, they must be a list.
  else if (choices !== undefined) expect('chat.choice', false, () => `choices is ${quote(choices)}, expected a list`)
}

type Fields = Readonly<Record<string, unknown>>

type ChoiceClause =
  | 'chat.choice'
  | 'chat.choice.finish-reason'
  | 'chat.choice.stop-reason'
  | 'chat.choice.tool-calls'
  | 'chat.message'
  | 'chat.message.members'

function checkChoice(choice: Fields | null, count: number, contract: Contract, expect: Expect<ChoiceClause>): void {
  const wrongField = choice === null ? 'no fields' : wrongChoice(choice, count, contract)
  expect('chat.choice', wrongField === null, () => `a choice has ${wrongField}`)
  checkFinishReason(choice?.finish_reason, contract, expect)
  checkStopReason(choice?.stop_reason, choice?.finish_reason, expect)
  const message = toObject(choice?.message) ?? {}
  checkToolCalls(choice?.finish_reason, Array.isArray(message.tool_calls) ? message.tool_calls.length : 0, expect)
  const wrong = wrongMessage(message, choice?.finish_reason)
  expect('chat.message', wrong === null, () => `a message has ${wrong}`)
  const mistyped = mistypedField(message)
  expect('chat.message.members', mistyped === null, () => `a message has ${mistyped}`)
}

/**
 * Returns null if nothing is wrong. Without an index, the order of the list tells choices apart. That no two indices are
 * equal is judged by the clause of `n`.
 */
function wrongChoice(choice: Fields, count: number, { chat }: Contract): string | null {
  const { index, message } = choice
  if (index === undefined && chat.choiceIndex === 'required') return 'no index, expected one'
  if (index !== undefined && !(Number.isInteger(index) && Number(index) >= 0 && Number(index) < count))
    return `index ${quote(index)}, expected a position among ${count}`
  if (toObject(message) === null) return `message ${quote(message)}, expected an object`
  return 'logprobs' in choice || chat.logprobsKey === 'optional'
    ? null
    : 'no key logprobs, expected the key with null or an object'
}

/**
 * Returns null if nothing is wrong. Of content and tool calls, one may be null, and both if the reasoning took all
 * tokens.
 */
function wrongMessage(message: Fields, finish: unknown): string | null {
  const { role, content, tool_calls: calls, tool_call_id: callId } = message
  if (role === 'tool') {
    if (typeof content !== 'string') return `role tool and content ${quote(content)}, expected a text`
    return typeof callId === 'string' ? null : `role tool and tool_call_id ${quote(callId)}, expected a text`
  }
  if (role !== 'assistant') return `role ${quote(role)}, expected assistant or tool`
  const hasContent = typeof content === 'string' || (Array.isArray(content) && content.every(isTextPart))
  if (!hasContent && content !== null && content !== undefined)
    return `content ${quote(content)}, expected a text, a list of text parts, or null`
  const isReasoningOnly = finish === 'length' && reasoningFields.some(name => typeof message[name] === 'string')
  return hasContent || Array.isArray(calls) || isReasoningOnly
    ? null
    : 'neither content nor tool_calls, expected one of them'
}

/** Some servers use the second name. */
const reasoningFields = ['reasoning_content', 'reasoning'] as const

function isTextPart(value: unknown): boolean {
  const part = toObject(value)
  return part?.type === 'text' && typeof part.text === 'string'
}

/** The first optional field of a message with a wrong type; null if there is none. */
function mistypedField(message: Fields): string | null {
  for (const name of ['name', 'reasoning_content', 'thought_signature']) {
    const value = message[name]
    if (isPresent(value) && typeof value !== 'string') return `${name} ${quote(value)}, expected a text or null`
  }
  const { reasoning_details: details, tool_calls: calls } = message
  if (isPresent(calls) && !Array.isArray(calls)) return `tool_calls ${quote(calls)}, expected a list or null`
  if (!isPresent(details)) return null
  if (!Array.isArray(details)) return `reasoning_details ${quote(details)}, expected a list`
  const untyped = details.findIndex(detail => typeof toObject(detail)?.type !== 'string')
  return untyped < 0 ? null : `reasoning_details with ${quote(details[untyped])}, expected a type in each`
}

type EndingClause = 'chat.choice.stop-reason' | 'chat.choice.tool-calls'

const stopReasons: readonly unknown[] = ['stop', 'length']

/** Checks the stop reason against the finish reason. The stop reason is optional. */
export function checkStopReason(stop: unknown, finish: unknown, expect: Expect<EndingClause>): void {
  if (stop === undefined) return
  const isKnown = stop === null || stopReasons.includes(stop)
  const isContradicted = stop !== null && stopReasons.includes(finish) && stop !== finish
  expect('chat.choice.stop-reason', isKnown && !isContradicted, () => {
    const expected = isKnown ? `${quote(finish)} as in finish_reason` : 'null, stop or length'
    return `stop_reason is ${quote(stop)}, expected ${expected}`
  })
}

export function checkToolCalls(finish: unknown, calls: number, expect: Expect<EndingClause>): void {
  if (finish !== 'tool_calls') return
  expect(
    'chat.choice.tool-calls',
    calls > 0,
    () => 'finish_reason is "tool_calls", but there are no tool calls, expected one',
  )
}

type LogprobsClause = 'chat.logprobs' | 'chat.logprobs.asked' | 'chat.logprobs.top' | 'chat.prompt-logprobs'

/** Checks the log probabilities of an unstreamed completion: whether they were requested, and their form. */
export function checkLogprobs(
  ofPrompt: unknown,
  choices: readonly unknown[],
  request: ChatDescriptor,
  contract: Contract,
  expect: Expect<LogprobsClause>,
): void {
  if (ofPrompt !== undefined) {
    const isRight = ofPrompt === null || toObject(ofPrompt) !== null
    expect('chat.prompt-logprobs', isRight, () => `prompt_logprobs is ${quote(ofPrompt)}, expected null or an object`)
  }
  const { logprobs: wanted, top_logprobs: top } = request.options?.body ?? {}
  const isRequested = wanted === true
  for (const choice of choices) {
    const said = toObject(choice)?.logprobs
    // A clause of the choice checks that the key is present.
    if (said === undefined) continue
    const positions = said === null ? [] : positionsOf(said)
    const wrong = positions === null ? 'no object' : (positions.map(wrongPosition).find(each => each !== null) ?? null)
    expect('chat.logprobs', wrong === null, () => `logprobs is ${quote(said)}: ${wrong}`)
    if (positions === null) continue
    checkTopLogprobs(positions.length > 0, isRequested, top !== undefined, request.model, contract, expect)
    if (isRequested && typeof top === 'number') {
      const max = positions.reduce(
        (max, { top_logprobs: each }) => (Array.isArray(each) ? Math.max(max, each.length) : max),
        0,
      )
      expect('chat.logprobs.top', max <= top, () => `a position lists ${max} tokens, expected at most ${top}`)
    }
  }
}

function checkTopLogprobs(
  given: boolean,
  isRequested: boolean,
  isTopAsked: boolean,
  model: string,
  { models }: Contract,
  expect: Expect<'chat.logprobs.asked'>,
): void {
  if (isRequested) {
    // Not every model supports them. Unless the profile states it, it is open which models do.
    if (!given && !models.some(({ id, logprobs }) => id === model && logprobs === true)) return
    expect('chat.logprobs.asked', given, () => `${model} returned no log probabilities, expected the requested ones`)
  } else if (!isTopAsked) {
    expect(
      'chat.logprobs.asked',
      !given,
      () => 'the response has log probabilities, expected none, since none were requested',
    )
  }
}

/** One position object, or a list of them; null for anything else. */
function positionsOf(logprobs: unknown): readonly Fields[] | null {
  const said = toObject(logprobs)
  if (said === null) return null
  const { content, token } = said
  const listed = Array.isArray(content) ? content.map(each => toObject(each) ?? {}) : []
  return token === undefined ? listed : [said, ...listed]
}

/** Returns null if nothing is wrong. A token without bytes may omit them, or have null. */
function wrongPosition(position: Fields): string | null {
  const { top_logprobs: top } = position
  const wrong = wrongToken(position)
  if (wrong !== null || top === undefined || top === null) return wrong
  if (!Array.isArray(top)) return `top_logprobs is ${quote(top)}, expected a list`
  return top.map(each => wrongToken(toObject(each) ?? {})).find(each => each !== null) ?? null
}

function wrongToken({ token, logprob, bytes }: Fields): string | null {
  if (typeof token !== 'string') return `token is ${quote(token)}, expected a text`
  if (typeof logprob !== 'number') return `logprob is ${quote(logprob)}, expected a number`
  if (bytes === undefined || bytes === null) return null
  const isNumbers = Array.isArray(bytes) && bytes.every(byte => typeof byte === 'number')
  return isNumbers ? null : `bytes is ${quote(bytes)}, expected a list of numbers`
}
