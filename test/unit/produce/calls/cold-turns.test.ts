import { expect, test } from 'vitest'
import { isChat } from '../../../../src/observation/requests/chat.ts'
import type { ConversationCall } from '../../../../src/plan/plan.ts'
import { sendArrival } from '../../../../src/produce/calls/send.ts'
import { arrival, sendContext } from './send-context.ts'

const talk: ConversationCall = {
  ...{ kind: 'conversation', stream: false, model: 'ref-small-24b', modelTier: 'S' },
  ...{ turns: { from: 3, to: 3 }, userTokens: { from: 5, to: 9 }, maxCompletionTokens: { from: 8, to: 8 } },
  ...{ thinkMs: { from: 0, to: 0 }, systemTokens: 20, systemGroups: 1, ownSystemRatio: 0, history: 'target' },
  ...{ sessionHeader: null, sessionField: null, after429: 'go-on', afterFailure: 'give-up', cache: 'cold' },
}
const text = JSON.stringify({ choices: [{ message: { role: 'assistant', content: 'An answer.' } }] })

type Sent = readonly { readonly role: string; readonly content: string }[]

test('each turn of a cold session has its own system prompt, so that all words that Turnpike wrote are new', async () => {
  const session = sendContext(() => ({ headers: { 'content-type': 'application/json' }, text }))
  const context = { ...session.context, calls: { talk } }
  await session.clock.run(sendArrival(arrival('talk', ['turn', 'turn', 'turn']), context))
  const sent: readonly Sent[] = session.requests.map(({ body }) => JSON.parse(body ?? '{}').messages)
  expect(sent[2]?.map(({ role }) => role)).toEqual(['system', 'user', 'assistant', 'user', 'assistant', 'user'])
  expect(sent[2]?.[1]).toEqual(sent[0]?.[1])
  const systems = sent.map(([system]) => system?.content ?? '')
  expect(systems.map(content => content.split(' ').length)).toEqual([20, 20, 20])
  expect(new Set(systems).size).toBe(3)
  const words = sent.map(messages =>
    messages.flatMap(({ role, content }) => (role === 'assistant' ? [] : content.split(' '))),
  )
  const stated = session.observations.map(({ request }) => (isChat(request) ? request.turn?.newTokens : null))
  expect(stated).toEqual(words.map(each => each.length))
})
