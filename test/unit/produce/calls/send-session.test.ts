import { describe, expect, test } from 'vitest'
import { isChat } from '../../../../src/observation/requests/chat.ts'
import type { ConversationCall } from '../../../../src/plan/plan.ts'
import { sendArrival } from '../../../../src/produce/calls/send.ts'
import { evidenceOf } from '../../../../src/run/evidence.ts'
import { arrival, type Reply, sendContext } from './send-context.ts'

const talk: ConversationCall = {
  ...{ kind: 'conversation', stream: false, model: 'ref-small-24b', modelTier: 'S' },
  turns: { from: 3, to: 3 },
  userTokens: { from: 5, to: 9 },
  maxCompletionTokens: { from: 8, to: 8 },
  thinkMs: { from: 200, to: 400 },
  ...{ systemTokens: 20, systemGroups: 1, ownSystemRatio: 0, history: 'target' },
  ...{ sessionHeader: null, sessionField: null, after429: 'go-on', afterFailure: 'give-up' },
}

const json = { 'content-type': 'application/json' }
const answer = (content: string): Reply => ({
  headers: json,
  text: JSON.stringify({ choices: [{ message: { role: 'assistant', content } }] }),
})
const refusal = (seconds: number): Reply => ({ status: 429, headers: { ...json, 'retry-after': String(seconds) } })

const turns = (count: number) => Array<'turn'>(count).fill('turn')

/** Sends a session. The replies are to its requests in order. */
async function converse(changes: Partial<ConversationCall>, replies: readonly Reply[]) {
  let sent = 0
  const session = sendContext(() => {
    return replies[sent++] ?? answer('last')
  })
  const call = { ...talk, ...changes }
  const context = { ...session.context, calls: { talk: call } }
  const steps = turns(call.turns.to)
  const run = session.clock.run(sendArrival(arrival('talk', steps), context))
  return { ...session, context, call, wasSent: await run }
}

type Session = Awaited<ReturnType<typeof converse>>

const messagesOf = ({
  requests,
}: Pick<Session, 'requests'>): readonly (readonly { role: string; content: string }[])[] =>
  requests.map(({ body }) => JSON.parse(body ?? '{}').messages)
const endings = ({ observations }: Session) =>
  observations.map(({ outcome }) =>
    outcome.kind === 'answered' ? outcome.status : 'reason' in outcome && outcome.reason,
  )

describe('the turns of a session', () => {
  test('have the earlier ones before them, with the answers of the target', async () => {
    const session = await converse({}, [answer('one'), answer('two'), answer('three')])
    const [first = [], second = [], third = []] = messagesOf(session)
    expect(first.map(({ role }) => role)).toEqual(['system', 'user'])
    expect(second.slice(0, 3)).toEqual([...first, { role: 'assistant', content: 'one' }])
    expect(third.slice(0, 5)).toEqual([...second, { role: 'assistant', content: 'two' }])
    expect(third).toHaveLength(6)
    expect(first[0]?.content.split(' ')).toHaveLength(20)
  })

  test('have the streamed text of the target, whole', async () => {
    const chunk = (content: string) => `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content } }] })}\n\n`
    const words = Array.from({ length: 2_000 }, (_, index) => `word${index} `)
    const text = `${words.map(chunk).join('')}data: [DONE]\n\n`
    const streamed = { headers: { 'content-type': 'text/event-stream' }, text }
    const session = await converse({ stream: true, turns: { from: 2, to: 2 } }, [streamed, streamed])
    expect(messagesOf(session)[1]?.[2]).toEqual({ role: 'assistant', content: words.join('') })
  })

  test('have synthetic answers of the maximum length, if the scenario says so', async () => {
    const session = await converse({ history: 'synthetic' }, [answer('one'), answer('two')])
    const answers = messagesOf(session)[2]?.filter(({ role }) => role === 'assistant') ?? []
    expect(answers.map(({ content }) => content.split(' ').length)).toEqual([8, 8])
    expect(answers.map(({ content }) => content)).not.toContain('one')
  })

  test('are due when the think time after the answer ends', async () => {
    const { observations } = await converse({}, [])
    const waits = observations.slice(1).map(({ dueMs }, index) => dueMs - (observations[index]?.endMs ?? 0))
    expect(waits.every(ms => ms >= 200 && ms <= 400)).toBe(true)
    expect(waits[0]).not.toBe(waits[1])
    expect(observations.map(({ sentMs, dueMs }) => sentMs === dueMs)).toEqual([true, true, true])
  })

  test('are requests of their own, with an id in the session and a number in the order of sending', async () => {
    const { observations } = await converse({}, [])
    expect(observations.map(({ id }) => id)).toEqual([40, 43, 46])
    expect(observations.map(({ seq }) => seq)).toEqual([40, 41, 42])
    expect(observations.map(({ request }) => isChat(request) && request.turn?.number)).toEqual([0, 1, 2])
    const described = observations.map(({ request }) => (isChat(request) ? request : null))
    expect(described.every(each => each?.turn?.session === 40 && each.turn.turns === 3)).toBe(true)
    // 20 of the system prompt, then 8 of each answer.
    const user = described.map(each => each?.turn?.newTokens ?? 0)
    expect(described.map(each => each?.promptTokens)).toEqual([
      20 + (user[0] ?? 0),
      28 + (user[0] ?? 0) + (user[1] ?? 0),
      36 + (user[0] ?? 0) + (user[1] ?? 0) + (user[2] ?? 0),
    ])
  })

  test('say which session they are of', async () => {
    const { requests } = await converse({ sessionHeader: 'X-Session', sessionField: 'prompt_cache_key' }, [])
    const session = '20260115T120000Z-a1b2c3-40'
    expect(requests.map(({ headers }) => headers['x-session'])).toEqual([session, session, session])
    expect(requests.map(({ body }) => JSON.parse(body ?? '').prompt_cache_key)).toEqual([session, session, session])
  })

  test('are built again for a report, with synthetic answers', async () => {
    const { observations, context, call, requests } = await converse({ history: 'synthetic' }, [])
    const head = { target: 'http://127.0.0.1', startedAtMs: 0, runId: context.runId }
    const [, , third] = observations
    if (third === undefined) throw new Error('no third turn')
    const { request, position } = evidenceOf(third, { talk: call }, context, head)
    expect(position).toMatchObject({ firstId: 40, step: 'turn', turn: { number: 2, turns: 3 } })
    expect(request?.body).toBe(requests[2]?.body)
  })
})

describe('calls of tools', () => {
  const tools = { ratio: 1, resultTokens: { from: 12, to: 12 }, timeMs: { from: 50, to: 60 } }
  const called = (id: string, said = '{"word":"time"}') => ({
    ...{ id, type: 'function' },
    function: { name: 'look_up', arguments: said },
  })
  const calls = (...tool_calls: readonly unknown[]): Reply => ({
    headers: json,
    text: JSON.stringify({ choices: [{ finish_reason: 'tool_calls', message: { role: 'assistant', tool_calls } }] }),
  })
  const lastOf = (messages: readonly unknown[] | undefined, count: number) => messages?.slice(-count)
  const words = (tokens: number) => expect.stringMatching(new RegExp(`^\\w+( \\w+){${tokens - 1}}$`))
  const resultOf = (id: string, tokens = 12) => ({ role: 'tool', tool_call_id: id, content: words(tokens) })

  test('are asked for in every turn but the last, and the next turn has their results, as the target named them', async () => {
    const session = await converse({ tools }, [
      calls(called('x-1')),
      calls(called('x-2'), called('x-3')),
      answer('end'),
    ])
    expect(session.requests.map(({ body }) => JSON.parse(body ?? '').tool_choice)).toEqual([
      ...['required', 'required', 'none'],
    ])
    const [first, second, third] = messagesOf(session)
    expect(lastOf(second, 2)).toEqual([
      { role: 'assistant', content: null, tool_calls: [called('x-1')] },
      resultOf('x-1'),
    ])
    expect(second?.slice(0, -2)).toEqual(first)
    // The length is that of all results of a turn.
    expect(lastOf(third, 2)).toEqual([resultOf('x-2', 6), resultOf('x-3', 6)])
    const [, turn] = session.observations.map(({ request }) => isChat(request) && request.turn)
    expect(turn).toMatchObject({ number: 1, newTokens: 12 })
  })

  test('are due when the tools have ended, not when the user has thought', async () => {
    const { observations } = await converse({ tools }, [calls(called('a')), answer('none')])
    const [toolMs = 0, thinkMs = 0] = observations
      .slice(1)
      .map(({ dueMs }, at) => dueMs - (observations[at]?.endMs ?? 0))
    expect([toolMs >= 50 && toolMs <= 60, thinkMs >= 200 && thinkMs <= 400]).toEqual([true, true])
  })

  test('are put together from a stream', async () => {
    const deltas = [
      { tool_calls: [{ index: 0, id: 'a', type: 'function', function: { name: 'look_up', arguments: '' } }] },
      { tool_calls: [{ index: 0, function: { arguments: '{"word"' } }] },
      {
        tool_calls: [
          { index: 1, ...called('b') },
          { index: 0, function: { arguments: ':"time"}' } },
        ],
      },
    ]
    const events = deltas.map(delta => `data: ${JSON.stringify({ choices: [{ index: 0, delta }] })}\n\n`)
    const streamed = { headers: { 'content-type': 'text/event-stream' }, text: `${events.join('')}data: [DONE]\n\n` }
    const session = await converse({ tools, stream: true }, [streamed, streamed, streamed])
    expect(lastOf(messagesOf(session)[1], 3)).toEqual([
      { role: 'assistant', content: null, tool_calls: [called('a'), called('b')] },
      ...[resultOf('a', 6), resultOf('b', 6)],
    ])
  })

  test('have their results in the turn after a refusal, too', async () => {
    const session = await converse({ tools }, [calls(called('a')), refusal(1), answer('end')])
    expect(lastOf(messagesOf(session)[2], 1)).toEqual([resultOf('a')])
  })

  test('that no result can name are left out', async () => {
    const session = await converse({ tools }, [calls({ ...called('a'), id: null }), answer('end')])
    expect(messagesOf(session)[1]?.map(({ role }) => role)).toEqual(['system', 'user'])
  })

  test('are synthetic with a synthetic history, and are built again for a report', async () => {
    const { observations, context, call, requests } = await converse({ history: 'synthetic', tools }, [answer('one')])
    const third = JSON.parse(requests[2]?.body ?? '').messages
    const [{ id } = { id: '' }] = third[2].tool_calls
    expect(third[3]).toEqual(resultOf(id))
    const [, , last] = observations
    const head = { target: 'http://127.0.0.1', startedAtMs: 0, runId: context.runId }
    if (last === undefined) throw new Error('no third turn')
    expect(evidenceOf(last, { talk: call }, context, head).request?.body).toBe(requests[2]?.body)
  })
})

describe('system prompts', () => {
  const firstMessage = async (changes: Partial<ConversationCall>, id: number) => {
    const session = sendContext(() => answer('yes'))
    const context = { ...session.context, calls: { talk: { ...talk, ...changes } } }
    await session.clock.run(sendArrival({ ...arrival('talk', turns(1)), id }, context))
    const [observation] = session.observations
    const turn = observation && isChat(observation.request) ? observation.request.turn : undefined
    return { text: messagesOf(session)[0]?.[0]?.content, newTokens: turn?.newTokens ?? 0 }
  }
  const ids = Array.from({ length: 40 }, (_, index) => index)

  test('are shared by the sessions of a group', async () => {
    const texts = await Promise.all(ids.map(async id => (await firstMessage({ systemGroups: 3 }, id)).text))
    expect(new Set(texts).size).toBe(3)
  })

  test('belong to one session in a chosen share of them, and are new then', async () => {
    const all = await Promise.all(ids.map(id => firstMessage({ ownSystemRatio: 0.5 }, id)))
    const counts = new Map<string | undefined, number>()
    for (const { text } of all) counts.set(text, (counts.get(text) ?? 0) + 1)
    const own = all.filter(({ text }) => counts.get(text) === 1)
    expect(own.length).toBeGreaterThan(10)
    expect(own.length).toBeLessThan(30)
    expect(all.filter(({ newTokens }) => newTokens >= 20)).toEqual(own)
  })
})

describe('after a refusal', () => {
  test('a session goes on when the response allows it, without the refused turn', async () => {
    const session = await converse({}, [answer('one'), refusal(2), answer('three')])
    expect(endings(session)).toEqual([200, 429, 200])
    const [, refused, last] = session.observations
    expect(last?.dueMs).toBe((refused?.endMs ?? 0) + 2_000)
    expect(messagesOf(session)[2]?.map(({ role }) => role)).toEqual(['system', 'user', 'assistant', 'user'])
  })

  test('a session waits for the reset of the limit that is used up', async () => {
    const headers = { ...json, 'x-ratelimit-remaining-requests': '0', 'x-ratelimit-reset-requests': '' }
    const at = sendContext().clock.wallMs() + 30_000
    const used = { ...headers, 'x-ratelimit-reset-requests': String(Math.ceil(at / 1_000)) }
    const { observations } = await converse({}, [{ status: 429, headers: used }])
    const waitMs = (observations[1]?.dueMs ?? 0) - (observations[0]?.endMs ?? 0)
    expect(waitMs).toBeGreaterThan(29_900)
    expect(waitMs).toBeLessThan(31_000)
  })

  test('a session gives up, if the scenario says so', async () => {
    const session = await converse({ after429: 'give-up' }, [answer('one'), refusal(2)])
    expect(endings(session)).toEqual([200, 429, 'no-response'])
    expect(session.requests).toHaveLength(2)
  })

  test('a session gives up if the wait is too long', async () => {
    expect(endings(await converse({}, [refusal(121)]))).toEqual([429, 'no-response', 'no-response'])
  })
})

describe('after a failure', () => {
  const failure = { status: 500, headers: json }

  test('a session gives up', async () => {
    const session = await converse({}, [failure])
    expect(endings(session)).toEqual([500, 'no-response', 'no-response'])
    expect(session.wasSent).toBe(true)
  })

  test('a session goes on after its think time, if the scenario says so', async () => {
    const session = await converse({ afterFailure: 'go-on' }, [failure, answer('two')])
    expect(endings(session)).toEqual([500, 200, 200])
    expect(messagesOf(session)[1]?.map(({ role }) => role)).toEqual(['system', 'user'])
  })
})

test('when sending stops, the turns that are left are interrupted', async () => {
  const stop = new AbortController()
  const session = sendContext(() => {
    stop.abort()
    return answer('one')
  })
  const context = { ...session.context, calls: { talk }, stop: stop.signal }
  await session.clock.run(sendArrival(arrival('talk', turns(3)), context))
  expect(session.observations.map(({ outcome }) => outcome.kind)).toEqual(['answered', 'dropped', 'dropped'])
  expect(session.observations[2]?.outcome).toEqual({ kind: 'dropped', reason: 'interrupted' })
})
