import { expect, test } from 'vitest'
import type { ConversationCall } from '../../../../src/plan/plan.ts'
import { sendArrival } from '../../../../src/produce/calls/send.ts'
import { arrival, sendContext } from './send-context.ts'

const talk: ConversationCall = {
  ...{ kind: 'conversation', stream: false, model: 'ref-small-24b', modelTier: 'S' },
  ...{ turns: { from: 2, to: 2 }, userTokens: { from: 5, to: 5 }, maxCompletionTokens: { from: 8, to: 8 } },
  ...{ thinkMs: { from: 0, to: 0 }, systemTokens: 0, systemGroups: 1, ownSystemRatio: 0, history: 'target' },
  ...{ sessionHeader: null, sessionField: null, after429: 'go-on', afterFailure: 'give-up' },
}

/** The message of an answer, as the next turn has it before its own. */
async function returned(message: object): Promise<unknown> {
  const text = JSON.stringify({ choices: [{ message }] })
  const session = sendContext(() => ({ headers: { 'content-type': 'application/json' }, text }))
  const context = { ...session.context, calls: { talk } }
  await session.clock.run(sendArrival(arrival('talk', ['turn', 'turn']), context))
  return JSON.parse(session.requests[1]?.body ?? '{}').messages[1]
}

const details = [
  { type: 'reasoning.text', text: 'First, the é.', index: 0, format: 'f' },
  { data: 'b64==', type: 'reasoning.encrypted', id: null },
]

test('an answer is returned with its reasoning details and its signature, exactly as they came', async () => {
  const message = { role: 'assistant', content: 'one', reasoning_details: details, thought_signature: 'abc_-' }
  expect(await returned(message)).toEqual(message)
})

test('so is an answer that calls a tool', async () => {
  const calls = [{ id: 'a', type: 'function', function: { name: 'look_up', arguments: '{"word":"x"}' } }]
  const message = { role: 'assistant', content: null, tool_calls: calls, reasoning_details: details }
  expect(await returned(message)).toEqual(message)
})

test('an answer without them has no such field, and no other field is returned', async () => {
  const empty = { reasoning_details: null, thought_signature: null, reasoning_content: 'hm', refusal: null, name: 'x' }
  expect(await returned({ role: 'assistant', content: 'one', ...empty })).toEqual({ role: 'assistant', content: 'one' })
})
