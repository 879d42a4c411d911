import { expect, test } from 'vitest'
import { isChat } from '../../../../src/observation/requests/chat.ts'
import type { ArrivalStep, ConversationCall } from '../../../../src/plan/plan.ts'
import { sendArrival } from '../../../../src/produce/calls/send.ts'
import { evidenceOf } from '../../../../src/run/evidence.ts'
import { arrival, type Reply, sendContext } from './send-context.ts'

const talk: ConversationCall = {
  ...{ kind: 'conversation', stream: false, model: 'ref-small-24b', modelTier: 'S' },
  turns: { from: 2, to: 2 },
  userTokens: { from: 5, to: 9 },
  maxCompletionTokens: { from: 8, to: 8 },
  thinkMs: { from: 200, to: 200 },
  ...{ systemTokens: 20, systemGroups: 1, ownSystemRatio: 0, history: 'target' },
  ...{ sessionHeader: null, sessionField: null, after429: 'go-on', afterFailure: 'give-up' },
  replays: { ratio: 1, duplicates: 2, conflictRatio: 0, otherKeyRatio: 0, otherCallerRatio: 0 },
}

const answer = (content: string): Reply => ({
  headers: { 'content-type': 'application/json' },
  text: JSON.stringify({ choices: [{ message: { role: 'assistant', content } }] }),
})

async function converse(
  replies: readonly Reply[],
  changes: Partial<ConversationCall> = {},
  steps: readonly ArrivalStep[] = ['turn', 'duplicate', 'duplicate', 'turn'],
  onReply: (count: number, stop: AbortController) => void = () => {},
) {
  let sent = 0
  let seq = 43
  const session = sendContext(() => {
    onReply(sent + 1, session.stop)
    return replies[sent++] ?? answer('last')
  })
  const call = { ...talk, ...changes }
  const nextSeq = (requests: number) => {
    seq += requests
    return seq - requests
  }
  const context = { ...session.context, calls: { talk: call }, nextSeq }
  await session.clock.run(sendArrival(arrival('talk', steps), context))
  return { ...session, context, call }
}

const messagesOf = (body: string | null | undefined) => JSON.parse(body ?? '{}').messages
const endings = ({ observations }: Awaited<ReturnType<typeof converse>>) =>
  observations
    .toSorted((a, b) => a.seq - b.seq)
    .map(({ outcome }) => (outcome.kind === 'answered' ? outcome.status : 'reason' in outcome && outcome.reason))

test('a replay has the body and the key of its turn, and the next turn has another key or none', async () => {
  const { requests } = await converse([])
  const keys = requests.map(({ headers }) => headers['idempotency-key'])
  expect(keys).toEqual([...Array(3).fill('20260115T120000Z-a1b2c3-40'), undefined])
  expect(new Set(requests.slice(0, 3).map(({ body }) => body)).size).toBe(1)
  const two = await converse([], {}, ['turn', 'duplicate', 'turn', 'duplicate'])
  expect(two.requests.map(({ headers }) => headers['idempotency-key']?.split('-').at(-1))).toEqual([
    ...['40', '40', '46', '46'],
  ])
})

test('the next turn has the first answer before it, whatever the replays get', async () => {
  const { requests } = await converse([answer('one'), answer('other'), { status: 500 }])
  const [first, , , next] = requests.map(({ body }) => messagesOf(body))
  expect(next.slice(0, -1)).toEqual([...first, { role: 'assistant', content: 'one' }])
})

test('replays are due one after another, and the next turn when its think time after them ends', async () => {
  const { observations } = await converse([])
  const [first, one, two, next] = observations
  expect(one?.dueMs).toBe(first?.endMs)
  expect(two?.dueMs).toBe(one?.endMs)
  expect((next?.dueMs ?? 0) - (two?.endMs ?? 0)).toBe(200)
})

test('their ids and numbers follow those of their turn', async () => {
  const { observations } = await converse([])
  expect(observations.map(({ id, seq }) => [id, seq])).toEqual([
    [40, 40],
    [43, 41],
    [46, 42],
    [49, 43],
  ])
  const described = observations.map(({ request }) => (isChat(request) ? request : null))
  expect(described.map(each => each?.replay?.role)).toEqual(['original', 'duplicate', 'duplicate', undefined])
  expect(described.map(each => [each?.turn?.number, each?.turn?.turns, each?.turn?.place?.number])).toEqual([
    [0, 4, 0],
    [1, 4, 0],
    [2, 4, 0],
    [3, 4, 1],
  ])
})

test('a replay is built again for a report, with its key', async () => {
  const { observations, requests, context, call } = await converse([], { history: 'synthetic' }, [
    ...(['turn', 'duplicate', 'duplicate', 'turn', 'duplicate', 'duplicate'] as const),
  ])
  const head = { target: 'http://127.0.0.1', startedAtMs: 0, runId: context.runId }
  const last = observations.at(-1)
  if (last === undefined) throw new Error('no replay')
  const { request, position } = evidenceOf(last, { talk: call }, context, head)
  // Its command sends the turn first, with the same key.
  expect(request?.curl?.split('idempotency-key: 20260115T120000Z-a1b2c3-49')).toHaveLength(3)
  expect(position).toMatchObject({ firstId: 40, step: 'duplicate', turn: { number: 5, turns: 4, group: 49 } })
  expect(request?.body).toBe(requests.at(-1)?.body)
  expect(request?.headers['idempotency-key']).toBe(requests.at(-1)?.headers['idempotency-key'])
})

test('a turn without an answer is not sent again', async () => {
  const session = await converse([{ status: 429, headers: { 'retry-after': '1' } }])
  expect(endings(session)).toEqual([429, 'no-response', 'no-response', 200])
  expect(endings(await converse([{ status: 503 }]))).toEqual([503, ...Array(3).fill('no-response')])
})

test('each request is observed once if the run ends within a session', async () => {
  const steps = ['turn', 'duplicate', 'duplicate', 'turn', 'duplicate', 'duplicate'] as const
  for (const last of [1, 2, 3, 4, 5]) {
    const session = await converse([], {}, steps, (count, stop) => void (count === last && stop.abort()))
    expect(endings(session)).toEqual([...Array(last).fill(200), ...Array(6 - last).fill('interrupted')])
    expect(session.observations.map(({ seq }) => seq).toSorted()).toEqual([40, 41, 42, 43, 44, 45])
    expect(new Set(session.observations.map(({ id }) => id)).size).toBe(6)
  }
})
