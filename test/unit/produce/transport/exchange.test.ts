import { describe, expect, onTestFinished, test } from 'vitest'
import { type Clock, systemClock } from '../../../../src/lib/clock.ts'
import {
  cancelWith,
  createFairQueue,
  endExchange,
  onBody,
  onConnected,
  onHeaders,
  recordExchange,
} from '../../../../src/produce/transport/exchange.ts'
import { createDeadlineWatch } from '../../../../src/produce/transport/timeouts.ts'
import type { Exchange, HttpRequest } from '../../../../src/produce/transport/transport.ts'
import { undiciTransport } from '../../../../src/produce/transport/undici.ts'
import { manualClock } from '../../../../src/prove/manual-clock.ts'
import { ok, plainRequest, responding } from './loopback.ts'

/** An exchange that starts at 0, with all its reports in order. */
function recorded(request: Partial<HttpRequest> = {}) {
  const clock = manualClock()
  const reports: unknown[] = []
  const ends: Exchange[] = []
  const timeouts = { connectMs: 100, headersMs: 50, idleMs: 200, totalMs: 1_000 }
  const recorder = recordExchange(
    clock,
    createDeadlineWatch(clock),
    { ...plainRequest, timeouts, ...request },
    exchange => {
      ends.push(exchange)
      reports.push(exchange.failure?.reason ?? 'complete')
    },
    reason => reports.push(`disconnect: ${reason}`),
  )
  const reporter = (text: string) => onBody(recorder, Buffer.from(text))
  return { clock, recorder, reports, ends, reporter }
}

const stream = ['Content-Type', 'text/event-stream']

describe('an exchange', () => {
  test('that is complete has the time of each event, the headers and the body', async () => {
    const { clock, recorder, reports, ends, reporter } = recorded()
    await clock.advanceTo(3)
    onConnected(recorder, clock.nowMs())
    await clock.advanceTo(10)
    onHeaders(recorder, 201, ['X-Id', 'a', 'x-id', 'b'])
    reporter('one, ')
    await clock.advanceTo(20)
    reporter('two')
    endExchange(recorder, null)
    expect(reports).toEqual(['complete'])
    const [{ headers, body, ...exchange } = expect.fail('it has not ended')] = ends
    expect(exchange).toMatchObject({ sentMs: 0, headersMs: 10, endMs: 20, status: 201, bytes: 8, failure: null })
    expect([{ ...headers }, body.toString()]).toEqual([{ 'x-id': 'a, b' }, 'one, two'])
  })

  test('of an event stream passes on its bytes, each with its time, and keeps none', async () => {
    const reads: unknown[] = []
    const { clock, recorder, ends, reporter } = recorded({
      onStreamBytes: (bytes, atMs) => reads.push([bytes.toString(), atMs]),
    })
    onHeaders(recorder, 200, stream)
    reporter('data: 1')
    await clock.advanceTo(20)
    reporter('\n\n')
    endExchange(recorder, null)
    expect(reads).toEqual([
      ['data: 1', 0],
      ['\n\n', 20],
    ])
    expect(ends[0]).toMatchObject({ bytes: 9, body: Buffer.alloc(0) })
  })

  test.each([
    ['of an error', 500, stream],
    ['of another type', 200, ['content-type', 'text/event-streams']],
    ['without a type', 200, []],
  ])('%s keeps its body, although a stream was requested', (_, status, headers) => {
    const { recorder, ends, reporter } = recorded({ onStreamBytes: () => expect.fail('it was taken for a stream') })
    onHeaders(recorder, status, headers)
    reporter('a body')
    endExchange(recorder, null)
    expect(ends[0]?.body.toString()).toBe('a body')
  })

  test('that is cancelled ends first and then disconnects, each once', () => {
    const { recorder, reports } = recorded()
    cancelWith(recorder, 'cancelled', 'enough')
    cancelWith(recorder, 'cancelled', 'once more')
    endExchange(recorder, null)
    expect(reports).toEqual(['cancelled', 'disconnect: cancelled'])
  })

  test('that has ended ignores later events, and no timeout is left', async () => {
    const { clock, recorder, reports, ends, reporter } = recorded({ onStreamBytes: () => expect.fail('it has ended') })
    endExchange(recorder, { reason: 'connection-lost', detail: 'gone' })
    onConnected(recorder, 0)
    onHeaders(recorder, 200, stream)
    reporter('late')
    await clock.advanceTo(5_000)
    expect(reports).toEqual(['connection-lost'])
    expect(ends[0]).toMatchObject({ endMs: 0, headersMs: null, status: null, bytes: 0 })
  })

  test('with a body above the maximum is cancelled, and keeps the earlier bytes', () => {
    const { recorder, reports, ends, reporter } = recorded({ maxBodyBytes: 5 })
    onHeaders(recorder, 200, [])
    for (const part of ['12345', '6', '7']) reporter(part)
    expect(reports).toEqual(['body-too-large', 'disconnect: body-too-large'])
    expect(ends[0]).toMatchObject({ bytes: 6, body: Buffer.from('12345'), failure: { detail: 'more than 5 bytes' } })
  })

  test('has a timeout for each phase', async () => {
    const connecting = recorded()
    await connecting.clock.advanceTo(5_000)
    const sent = recorded()
    onConnected(sent.recorder, 0)
    await sent.clock.advanceTo(5_000)
    const answered = recorded()
    onHeaders(answered.recorder, 200, [])
    await answered.clock.advanceTo(150)
    answered.reporter('x')
    await answered.clock.advanceTo(5_000)
    const each = [connecting, sent, answered]
    expect(each.map(({ ends }) => [ends[0]?.endMs, ends[0]?.failure])).toEqual([
      [100, { reason: 'connect-timeout', detail: 'no connection within 100 ms' }],
      [50, { reason: 'headers-timeout', detail: 'no headers within 50 ms' }],
      [350, { reason: 'idle-timeout', detail: 'nothing for 200 ms inside the body' }],
    ])
    for (const { reports } of each) expect(reports).toHaveLength(2)
  })
})

describe('a fair queue', () => {
  test('a callback runs after everything that arrives at the same time has been read', async () => {
    const clock = manualClock()
    const { callLater } = createFairQueue(clock)
    const seen: string[] = []
    for (let response = 0; response < 3; response++) {
      seen.push(`read ${response}`)
      callLater(() => seen.push(`handed ${response}`))
    }
    await clock.advanceTo(0)
    expect(seen).toEqual(['read 0', 'read 1', 'read 2', 'handed 0', 'handed 1', 'handed 2'])
  })

  test('many callbacks run in order and in batches, so that sockets are read in between', async () => {
    const clock = manualClock()
    const { callLater } = createFairQueue(clock)
    const handed: number[] = []
    const found: number[] = []
    for (let response = 0; response < 40; response++) callLater(() => handed.push(response))
    const look = () => {
      found.push(handed.length)
      if (handed.length < 40) clock.at(0, look)
    }
    clock.at(0, look)
    await clock.advanceTo(0)
    expect(handed).toEqual(Array.from({ length: 40 }, (_, response) => response))
    expect(found).toEqual([20, 36, 40])
  })

  test('callbacks do not pile up, however many are added in each turn', async () => {
    const clock = manualClock()
    const { callLater } = createFairQueue(clock)
    let added = 0
    let handed = 0
    let longest = 0
    const arrive = () => {
      for (let response = 0; response < 100; response++) callLater(() => handed++)
      added += 100
      longest = Math.max(longest, added - handed)
      if (added < 10_000) clock.at(0, arrive)
    }
    arrive()
    await clock.advanceTo(0)
    expect(handed).toBe(10_000)
    expect(longest).toBeLessThanOrEqual(300)
  })

  test('a callback may add another', async () => {
    const clock = manualClock()
    const { callLater } = createFairQueue(clock)
    const handed: number[] = []
    const next = (response: number) => {
      handed.push(response)
      if (response < 50) callLater(() => next(response + 1))
    }
    callLater(() => next(0))
    await clock.advanceTo(0)
    expect(handed).toHaveLength(51)
  })

  test('the transport stamps a response when it arrives, and resolves later', async () => {
    const wakes: (() => void)[] = []
    let called = () => {}
    const isRead = new Promise<void>(resolve => {
      called = resolve
    })
    const clock: Clock = {
      ...systemClock(),
      atPrecisely: (_, wake) => {
        wakes.push(wake)
        called()
        return () => {}
      },
    }
    const { url } = await responding(ok('{}'))
    const { send, close } = undiciTransport({ baseUrl: url, clock, maxConnections: 1 })
    onTestFinished(close)
    let handedMs = 0
    const handed = send(plainRequest, new AbortController().signal).then(({ endMs }) => {
      handedMs = clock.nowMs()
      return endMs
    })
    await isRead
    expect(handedMs).toBe(0)
    for (const wake of wakes) wake()
    expect(await handed).toBeLessThan(handedMs)
  })
})
