import type { ChatAsked, Observation } from '../observation/observation.ts'
import { asObject, jsonObject } from '../observation/scope.ts'
import { type Check, quote } from './check.ts'
import { checkCompletion, finishReasons } from './completion.ts'

/** An unstreamed completion. */
export const checkChatAnswer: Check<'chat-answer'> = (observation, contract, say) => {
  const { answer, asked, seq, outcome } = observation
  if (!isChat(observation) || asked.kind !== 'chat' || asked.stream) return
  if (answer?.status !== 200 || outcome.kind !== 'answered') return
  const expect = (clause: Parameters<typeof say.kept>[0], kept: boolean, because: () => string) =>
    kept ? say.kept(clause) : say.broken(clause, because(), [seq])

  const type = answer.headers['content-type']
  expect('chat.content-type', isJson(type), () => `content-type is ${quote(type)}, expected application/json`)
  const body = jsonObject(answer)
  expect(
    'chat.object',
    body?.object === 'chat.completion',
    () => `object is ${quote(body?.object)}, expected "chat.completion"`,
  )
  checkCompletion(
    { id: body?.id, created: body?.created, model: body?.model, usage: body?.usage, cost: body?.cost },
    observation,
    contract,
    say,
  )

  // Choices may be absent.
  if (body?.choices === undefined) return
  const choices = Array.isArray(body.choices) ? body.choices.map(asObject) : [null]
  for (const choice of choices) {
    const { index, finish_reason: reason, message } = choice ?? {}
    const whole = Number.isInteger(index) && asObject(message) !== null && choice !== null && 'logprobs' in choice
    expect('chat.choice', whole, () => `a choice is ${quote(choice)}, expected index, message and logprobs`)
    expect(
      'chat.choice.finish-reason',
      finishReasons.includes(reason),
      () => `finish_reason is ${quote(reason)}, expected stop, length or tool_calls`,
    )
    const wrong = wrongMessage(asObject(message) ?? {})
    expect('chat.message', wrong === null, () => `a message has ${wrong}`)
  }
}

/** Content or tool calls, one of which may be null; null when nothing is wrong. */
function wrongMessage(message: Readonly<Record<string, unknown>>): string | null {
  const { role, content, tool_calls: calls } = message
  if (role === 'tool')
    return typeof content === 'string' && typeof message.tool_call_id === 'string'
      ? null
      : 'no content or no tool_call_id'
  if (role !== 'assistant') return `role ${quote(role)}, expected assistant or tool`
  const hasContent = typeof content === 'string' || Array.isArray(content)
  if (!hasContent && content !== null && content !== undefined) return `content ${quote(content)}`
  return hasContent || Array.isArray(calls) ? null : 'neither content nor tool_calls'
}

export const isChat = (o: Observation): o is Observation & { readonly asked: ChatAsked } => o.asked.kind === 'chat'

const isJson = (type: string | undefined): boolean => /^application\/json\s*(;|$)/i.test(type ?? '')
