import type { Contract } from '../contract/contract.ts'
import { quote } from '../lib/format.ts'
import { toObject } from '../lib/json.ts'
import type { ChatAsked, Observation } from '../observation/observation.ts'
import { is2xx, isJsonType, jsonObject } from '../observation/response.ts'
import { type Check, type Expect, expecting } from './check.ts'
import { checkCompletion, checkFinishReason } from './completion.ts'
import { checkStopReason, checkToolCalls } from './ending.ts'
import { wrongMemberOf } from './message-members.ts'

/** An unstreamed completion. */
export const checkChatAnswer: Check<'chat-answer'> = (observation, contract, say) => {
  const { answer, outcome, seq } = observation
  if (!isChat(observation) || observation.asked.stream) return
  if (answer === null || !is2xx(answer.status) || outcome.kind !== 'answered') return
  const expect = expecting(say, seq)

  const type = answer.headers['content-type']
  expect('chat.content-type', isJsonType(type), () => `content-type is ${quote(type)}, expected application/json`)
  // That a body cannot be read is a matter of its encoding.
  if (answer.body.kind === 'undecodable') return
  const body = jsonObject(answer)
  const object = body?.object
  expect('chat.object', object === 'chat.completion', () => `object is ${quote(object)}, expected "chat.completion"`)
  const { id, created, model, usage, cost, choices } = body ?? {}
  const isCut = Array.isArray(choices) && choices.some(choice => toObject(choice)?.finish_reason === 'length')
  checkCompletion({ id, created, model, usage, cost, isCut }, observation, contract, say)

  if (Array.isArray(choices))
    for (const choice of choices) checkChoice(toObject(choice), choices.length, contract, expect)
  // Choices may be absent, but they cannot be anything else than a list.
  else if (choices !== undefined) expect('chat.choice', false, () => `choices is ${quote(choices)}, expected a list`)
}

type Members = Readonly<Record<string, unknown>>

type OfChoice =
  | 'chat.choice'
  | 'chat.choice.finish-reason'
  | 'chat.choice.stop-reason'
  | 'chat.choice.tool-calls'
  | 'chat.message'
  | 'chat.message.members'

function checkChoice(choice: Members | null, count: number, contract: Contract, expect: Expect<OfChoice>): void {
  const misshapen = choice === null ? 'no members' : wrongChoice(choice, count)
  expect('chat.choice', misshapen === null, () => `a choice has ${misshapen}`)
  checkFinishReason(choice?.finish_reason, contract, expect)
  checkStopReason(choice?.stop_reason, choice?.finish_reason, expect)
  const message = toObject(choice?.message) ?? {}
  checkToolCalls(choice?.finish_reason, Array.isArray(message.tool_calls) ? message.tool_calls.length : 0, expect)
  const wrong = wrongMessage(message)
  expect('chat.message', wrong === null, () => `a message has ${wrong}`)
  const misfit = wrongMemberOf(message)
  expect('chat.message.members', misfit === null, () => `a message has ${misfit}`)
}

/** Null when nothing is wrong. The index is the only one of the three that is not said to be required. */
function wrongChoice(choice: Members, count: number): string | null {
  const { index, message } = choice
  if (index !== undefined && !(Number.isInteger(index) && Number(index) >= 0 && Number(index) < count))
    return `index ${quote(index)}, expected a position among ${count}`
  if (toObject(message) === null) return `message ${quote(message)}, expected an object`
  return 'logprobs' in choice ? null : 'no key logprobs, expected it with null or an object'
}

/** Null when nothing is wrong: content or tool calls, the other of which may be null. */
function wrongMessage(message: Members): string | null {
  const { role, content, tool_calls: calls, tool_call_id: callId } = message
  if (role === 'tool') {
    if (typeof content !== 'string') return `role tool and content ${quote(content)}, expected a text`
    return typeof callId === 'string' ? null : `role tool and tool_call_id ${quote(callId)}, expected a text`
  }
  if (role !== 'assistant') return `role ${quote(role)}, expected assistant or tool`
  const hasContent = typeof content === 'string' || (Array.isArray(content) && content.every(isTextPart))
  if (!hasContent && content !== null && content !== undefined)
    return `content ${quote(content)}, expected a text, a list of text parts, or null`
  return hasContent || Array.isArray(calls) ? null : 'neither content nor tool_calls, expected one of them'
}

function isTextPart(value: unknown): boolean {
  const part = toObject(value)
  return part?.type === 'text' && typeof part.text === 'string'
}

export const isChat = (o: Observation): o is Observation & { readonly asked: ChatAsked } => o.asked.kind === 'chat'
