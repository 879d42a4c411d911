import { describe, expect, test } from 'vitest'
import { traceIdsOf } from '../../../../src/observation/trace-id.ts'
import type { ReplayStep } from '../../../../src/plan/plan.ts'
import { dropArrival, sendArrival } from '../../../../src/produce/calls/send.ts'
import { arrival, type Reply, sendContext } from './send-context.ts'

const wholeReplay: readonly ReplayStep[] = ['original', 'duplicate', 'duplicate', 'conflict', 'other-caller']

describe('an arrival that is sent', () => {
  test('is observed with its origin, and with its due, sent and end times', async () => {
    const { send, observations, clock } = sendContext()
    await clock.advanceTo(3)
    await send(arrival('rpc', ['only'], 1))
    expect(observations).toEqual([
      {
        id: 40,
        seq: 40,
        stage: 'steady',
        call: 'rpc',
        caller: 'b',
        key: 0,
        accountTier: 'partner',
        request: expect.objectContaining({ kind: 'rpc' }),
        dueMs: 0,
        sentMs: 3,
        headersMs: 8,
        endMs: 13,
        outcome: { kind: 'answered', status: 200 },
        response: { status: 200, headers: {}, bytes: 2, body: { kind: 'json', value: {}, digest: null } },
      },
    ])
  })

  test('has its key in the request and nowhere else', async () => {
    const { send, observations, requests } = sendContext()
    await send(arrival('replay', wholeReplay))
    expect(requests.every(({ headers }) => headers.authorization?.startsWith('Bearer key-of-'))).toBe(true)
    expect(JSON.stringify(observations)).not.toContain('key-of-')
  })

  test('carries a trace id of its own in each request, only if the run is traced', async () => {
    const traced = sendContext()
    const traceIds = traceIdsOf('r1')
    await traced.clock.run(sendArrival(arrival('replay', wholeReplay), { ...traced.context, traceIds }))
    const sent = traced.observations.map(({ id }) => traceIds.traceparent(id))
    expect(traced.requests.map(({ headers }) => headers.traceparent).sort()).toEqual(sent.sort())
    expect(new Set(sent).size).toBe(wholeReplay.length)
    const untraced = sendContext()
    await untraced.send(arrival('replay', wholeReplay))
    expect(untraced.requests.filter(({ headers }) => 'traceparent' in headers)).toEqual([])
    // The rest of the request, and the record of it, stay the same.
    expect(traced.requests.map(({ headers: { traceparent: _, ...headers } }) => headers)).toEqual(
      untraced.requests.map(({ headers }) => headers),
    )
    expect(traced.observations).toEqual(untraced.observations)
  })

  test('for which this machine has no file descriptor is dropped, not failed', async () => {
    const { context, observations } = sendContext()
    const failure = { reason: 'no-file-descriptors', detail: 'EMFILE' } as const
    const transport: typeof context.transport = async () => {
      return {
        sentMs: 0,
        headersMs: null,
        endMs: 1,
        status: null,
        headers: {},
        body: Buffer.alloc(0),
        bytes: 0,
        failure,
      }
    }
    await sendArrival(arrival('rpc'), { ...context, transport })
    expect(observations).toMatchObject([
      { outcome: { kind: 'dropped', reason: 'no-file-descriptors' }, sentMs: null, endMs: null, response: null },
    ])
  })

  test('notes a second attempt, and that headers are missing', async () => {
    const { context, observations } = sendContext()
    const exchange = { sentMs: 0, headersMs: 1, endMs: 1, status: 200, headers: {}, body: Buffer.from('{}'), bytes: 2 }
    const transport: typeof context.transport = async () => {
      return { ...exchange, failure: null, retried: true, headersCut: true }
    }
    await sendArrival(arrival('rpc'), { ...context, transport })
    expect(observations).toMatchObject([{ retried: true, response: { headersCut: true } }])
  })

  test('with an unknown call is an error', async () => {
    const { send, context } = sendContext()
    await expect(send(arrival('unheard-of'))).rejects.toThrow('unheard-of')
    expect(() => dropArrival(arrival('unheard-of'), 'stage-over', context)).toThrow('unheard-of')
  })
})

describe('a caller with several keys', () => {
  test('uses the key of the arrival, and a different key for the step other-key', async () => {
    const { send, observations, requests } = sendContext()
    await send({ ...arrival('replay', ['original', 'other-key', 'other-caller']), key: 1 })
    expect(requests.map(({ headers }) => headers.authorization)).toEqual([
      'Bearer key-of-a-2',
      'Bearer key-of-a',
      'Bearer key-of-b-2',
    ])
    expect(observations.map(({ caller, key }) => [caller, key])).toEqual([
      ['a', 1],
      ['a', 0],
      ['b', 1],
    ])
  })
})

describe('a probe of a special account', () => {
  test('is sent with the key of that account', async () => {
    const { send, requests } = sendContext()
    await send(arrival('empty-account'))
    expect(requests.map(({ headers }) => headers.authorization)).toEqual(['Bearer key-without-balance'])
  })

  test('is dropped if no key was given', async () => {
    const { send, requests, observations } = sendContext()
    await send(arrival('free-user'))
    expect(requests).toEqual([])
    expect(observations.map(({ outcome }) => outcome)).toEqual([{ kind: 'dropped', reason: 'no-credentials' }])
  })
})

describe('a replay', () => {
  test('in sequence has each request due when the previous one has ended', async () => {
    const { send, observations } = sendContext()
    await send(arrival('replay', wholeReplay))
    expect(observations.map(({ id, dueMs, sentMs }) => [id, dueMs, sentMs])).toEqual([
      [40, 0, 0],
      [43, 10, 10],
      [46, 20, 20],
      [49, 30, 30],
      [52, 40, 40],
    ])
  })

  test('with concurrency sends the original and its duplicates together, and the rest after them', async () => {
    const { send, observations } = sendContext()
    await send(arrival('race', wholeReplay))
    expect(observations.map(({ id, dueMs, sentMs }) => [id, dueMs, sentMs])).toEqual([
      [40, 0, 0],
      [43, 0, 0],
      [46, 0, 0],
      [49, 10, 10],
      [52, 20, 20],
    ])
  })

  test('with a late repeat sends it at the planned time after all others have ended', async () => {
    const { send, observations } = sendContext()
    await send(arrival('late', ['original', 'duplicate', 'late-repeat']))
    expect(observations.map(({ id, dueMs, sentMs }) => [id, dueMs, sentMs])).toEqual([
      [40, 0, 0],
      [43, 10, 10],
      [46, 3_020, 3_020],
    ])
  })

  test('or twins at once sends the form alone after the wait, even if another form is left out', async () => {
    for (const others of [['other-key', 'other-caller'], ['other-caller']] as const) {
      const { send, observations } = sendContext()
      await send(arrival('twins', ['original', ...others, 'alone']))
      expect(observations.map(({ sentMs }) => sentMs)).toEqual([0, ...others.map(() => 0), 3_010])
    }
  })

  test('that waits for its late repeat drops it immediately on a stop', async () => {
    const { clock, context, stop, observations } = sendContext()
    const sent = sendArrival(arrival('late', ['original', 'late-repeat']), context)
    await clock.advanceTo(500)
    stop.abort()
    await clock.run(sent)
    expect(clock.nowMs()).toBe(500)
    expect(observations.map(({ outcome }) => outcome.kind)).toEqual(['answered', 'dropped'])
  })

  test('sends the foreign request as the next caller, or as the previous one for the last caller', async () => {
    const { send, observations, requests } = sendContext()
    await send(arrival('replay', wholeReplay, 2))
    expect(observations.map(({ caller }) => caller)).toEqual(['c', 'c', 'c', 'c', 'b'])
    expect(requests.map(({ headers }) => headers.authorization)).toEqual([
      ...Array(4).fill('Bearer key-of-c'),
      'Bearer key-of-b',
    ])
  })

  test('has a digest of each response, so that responses can be compared', async () => {
    const { send, observations } = sendContext()
    await send(arrival('replay', ['original', 'duplicate']))
    const digests = observations.map(({ response }) => (response?.body.kind === 'json' ? response.body.digest : null))
    expect(digests).toEqual([expect.stringMatching(/^[\w-]{22}$/), digests[0]])
  })

  test('that is stopped drops its remaining requests', async () => {
    const { clock, context, stop, observations } = sendContext()
    const sent = sendArrival(arrival('replay', wholeReplay), context)
    await clock.advanceTo(15)
    stop.abort()
    await clock.run(sent)
    expect(observations.map(({ outcome }) => (outcome.kind === 'dropped' ? outcome.reason : outcome.kind))).toEqual([
      'answered',
      'answered',
      'interrupted',
      'interrupted',
      'interrupted',
    ])
  })
})

describe('a streamed chat', () => {
  const stream = 'data: {"id":"x","choices":[{"index":0,"delta":{"content":"hi"}}]}\n\ndata: [DONE]\n\n'
  const outcomes = async (reply: Reply) => {
    const { send, observations } = sendContext(() => reply)
    await send(arrival('chat'))
    return observations.map(({ outcome, response }) => [outcome, response?.body.kind])
  }

  test.each(['text/event-stream', 'text/event-stream; charset=utf-8', 'Text/Event-Stream'])(
    'with a response of type %s is read as a stream',
    async type => {
      const lower = { 'content-type': type }
      const { send, observations } = sendContext(() => ({ headers: lower, text: stream }))
      await send(arrival('chat'))
      expect(observations[0]?.response?.body.kind).toBe('stream')
    },
  )

  test('with an error response has an ordinary body', async () => {
    const headers = { 'content-type': 'application/json' }
    expect(await outcomes({ status: 429, headers, text: '{"error":"slow down"}' })).toEqual([
      [{ kind: 'answered', status: 429 }, 'json'],
    ])
  })

  test('with an ordinary completion has it as its body', async () => {
    expect(await outcomes({ headers: { 'content-type': 'application/json' }, text: '{"choices":[]}' })).toEqual([
      [{ kind: 'answered', status: 200 }, 'json'],
    ])
  })

  test('is a failure if it is truncated', async () => {
    const headers = { 'content-type': 'text/event-stream' }
    const [[outcome] = []] = await outcomes({ headers, text: 'data: {"id":"x"}\n\n' })
    expect(outcome).toMatchObject({ kind: 'failed', reason: 'stream-truncated' })
  })
})

test('a dropped arrival gives one observation for each of its requests', () => {
  const { context, observations } = sendContext()
  dropArrival(arrival('replay', wholeReplay), 'max-in-flight', context)
  expect(observations.map(({ id, caller, sentMs, endMs }) => [id, caller, sentMs, endMs])).toEqual([
    [40, 'a', null, null],
    [43, 'a', null, null],
    [46, 'a', null, null],
    [49, 'a', null, null],
    [52, 'b', null, null],
  ])
  expect(observations.every(({ outcome }) => outcome.kind === 'dropped' && outcome.reason === 'max-in-flight')).toBe(
    true,
  )
})
