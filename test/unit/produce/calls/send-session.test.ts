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
const endings = ({ observations }: Pick<Session, 'observations'>) =>
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

describe('branches', () => {
  const always = { ratio: 1, count: { from: 2, to: 2 }, turns: { from: 2, to: 2 } }
  const branch = ['branch', 'branch-turn'] as const

  /** Sends a session of two turns, with two branches of two turns after the first one. */
  async function fork(changes: Partial<ConversationCall>, reply: (content: string) => Reply) {
    const steps = ['turn', ...branch, ...branch, 'turn'] as const
    const session = sendContext(({ body }) => reply(JSON.parse(body ?? '').messages.at(-1).content))
    const call = { ...talk, turns: { from: 2, to: 2 }, branches: always, ...changes }
    const context = { ...session.context, calls: { talk: call } }
    await session.clock.run(sendArrival(arrival('talk', steps), context))
    const byNumber = session.observations.toSorted((a, b) => a.id - b.id)
    const bodyOf = (number: number) => {
      const at = session.observations.findIndex(({ id }) => id === byNumber[number]?.id)
      return session.requests[at]?.body
    }
    return {
      ...session,
      context,
      call,
      byNumber,
      bodyOf,
      messages: (number: number) => JSON.parse(bodyOf(number) ?? '').messages,
    }
  }

  test('each have the history up to them, and no other branch, and the session goes on without them', async () => {
    const { byNumber, messages } = await fork({}, content => answer(`to ${content}`))
    expect(byNumber.map(({ id }) => id)).toEqual([40, 43, 46, 49, 52, 55])
    const shared = [...messages(0), { role: 'assistant', content: `to ${messages(0).at(-1).content}` }]
    for (const first of [1, 3]) {
      expect(messages(first).slice(0, -1)).toEqual(shared)
      expect(messages(first + 1).slice(0, -2)).toEqual(messages(first))
    }
    expect(messages(5).slice(0, -1)).toEqual(shared)
    expect(new Set([1, 3, 5].map(number => messages(number).at(-1).content)).size).toBe(3)
  })

  test('run at once, each turn due when its think time ends, and the session goes on after the last one', async () => {
    const { byNumber } = await fork({}, () => answer('yes'))
    const at = (number: number) => ({ dueMs: byNumber[number]?.dueMs ?? 0, endMs: byNumber[number]?.endMs ?? 0 })
    for (const [number, before] of [
      [1, 0],
      [3, 0],
      [2, 1],
      [4, 3],
    ] as const) {
      const waitMs = at(number).dueMs - at(before).endMs
      expect([number, waitMs >= 200 && waitMs <= 401]).toEqual([number, true])
    }
    expect(at(1).dueMs).toBeLessThan(at(4).dueMs)
    expect(at(3).dueMs).toBeLessThan(at(2).dueMs)
    const waitMs = at(5).dueMs - Math.max(at(2).endMs, at(4).endMs)
    expect(waitMs >= 200 && waitMs <= 401).toBe(true)
    expect(byNumber.map(({ sentMs, dueMs }) => sentMs === dueMs)).toEqual(Array(6).fill(true))
    const sent = byNumber.toSorted((a, b) => a.seq - b.seq).map(({ sentMs }) => sentMs ?? 0)
    expect(sent).toEqual(sent.toSorted((a, b) => a - b))
  })

  test('say their place, and have the tokens of what is before them', async () => {
    const { byNumber } = await fork({}, () => answer('yes'))
    const turns = byNumber.map(({ request }) => (isChat(request) ? request : null))
    expect(turns.map(each => each?.turn?.place)).toEqual([
      { isBranch: false, number: 0 },
      { isBranch: true, number: 0 },
      { isBranch: true, number: 1 },
      { isBranch: true, number: 0 },
      { isBranch: true, number: 1 },
      { isBranch: false, number: 1 },
    ])
    const shared = (turns[0]?.promptTokens ?? 0) + 8
    for (const number of [1, 3, 5])
      expect(turns[number]?.promptTokens).toBe(shared + (turns[number]?.turn?.newTokens ?? 0))
  })

  test('that fail end alone', async () => {
    let count = 0
    const { byNumber } = await fork({}, () => (++count === 2 ? { status: 500, headers: json } : answer('yes')))
    const ended = endings({ observations: byNumber })
    expect(ended.filter(each => each === 200)).toHaveLength(4)
    expect(ended.filter(each => each === 'no-response')).toHaveLength(1)
    expect(ended.at(-1)).toBe(200)
  })

  test('are not due if the session gives up before them', async () => {
    const { byNumber, requests } = await fork({}, () => ({ status: 500, headers: json }))
    expect(endings({ observations: byNumber })).toEqual([500, ...Array(5).fill('no-response')])
    expect(requests).toHaveLength(1)
  })

  test('are built again for a report', async () => {
    const { byNumber, bodyOf, context, call } = await fork({ history: 'synthetic' }, () => answer('yes'))
    const head = { target: 'http://127.0.0.1', startedAtMs: 0, runId: context.runId }
    for (const [number, observation] of byNumber.entries())
      expect(evidenceOf(observation, { talk: call }, context, head).request?.body).toBe(bodyOf(number))
  })

  test('that call tools give the results in their own branch', async () => {
    const tools = { ratio: 1, resultTokens: { from: 12, to: 12 }, timeMs: { from: 50, to: 60 } }
    const { messages, bodyOf } = await fork({ tools, history: 'synthetic' }, () => answer('yes'))
    const choices = [0, 1, 2, 3, 4, 5].map(number => JSON.parse(bodyOf(number) ?? '').tool_choice)
    // The last turn of a branch ends it with a text.
    expect(choices).toEqual(['required', 'required', 'none', 'required', 'none', 'none'])
    for (const number of [1, 2, 3, 4, 5]) {
      const [call, result] = messages(number).slice(-2)
      expect(result).toMatchObject({ role: 'tool', tool_call_id: call.tool_calls[0].id })
    }
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
