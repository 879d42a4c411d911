import { describe, expect, test } from 'vitest'
import { readReply } from '../../../src/push/reply.ts'
import type { Exchange } from '../../../src/transport/transport.ts'

const answered = (status: number, headers: Exchange['headers'] = {}, body = ''): Exchange => ({
  sentMs: 0,
  headersMs: 1,
  endMs: 2,
  status,
  headers,
  body: Buffer.from(body),
  bytes: body.length,
  failure: null,
})
const nowMs = Date.UTC(2026, 0, 15, 12)
const read = (exchange: Exchange, secrets: readonly string[] = []) => readReply(exchange, nowMs, secrets)

describe('what a receiver made of a request', () => {
  test.each([200, 202, 204])('%i: it is taken', status => {
    expect(read(answered(status))).toEqual({ kind: 'accepted' })
  })

  test.each([500, 502, 503, 429])('%i: it may be taken later', status => {
    expect(read(answered(status))).toEqual({ kind: 'later', because: `status ${status}`, afterMs: null })
  })

  test.each([400, 401, 404, 413])('%i: it is never taken', status => {
    expect(read(answered(status))).toEqual({ kind: 'refused', because: `status ${status}` })
  })

  test('a redirect is not followed', () => {
    expect(read(answered(307, { location: 'http://elsewhere' }))).toMatchObject({ kind: 'refused' })
  })

  test('no answer: it may be taken later', () => {
    const failure = { reason: 'connect-refused', detail: 'ECONNREFUSED' } as const
    expect(read({ ...answered(0), status: null, failure })).toMatchObject({ kind: 'later', afterMs: null })
    // An answer that broke off says nothing for certain.
    expect(read({ ...answered(204), failure })).toMatchObject({ kind: 'later' })
  })

  test.each([
    ['120', 120_000],
    ['0', 0],
    ['Thu, 15 Jan 2026 12:00:30 GMT', 30_000],
    ['Thu, 15 Jan 2026 11:00:00 GMT', 0],
    ['soon', null],
  ])('retry-after: %s', (text, afterMs) => {
    const reply = read(answered(429, { 'retry-after': text }))
    expect(reply).toMatchObject({ kind: 'later', afterMs })
  })

  test('what it said is quoted as one short line', () => {
    const said = `out of\n\u001b[31morder ${'x'.repeat(500)}`
    const reply = read(answered(400, {}, said))
    expect(reply).toMatchObject({ because: expect.stringMatching(/^status 400: out of \[31morder x+$/) })
    expect('because' in reply && reply.because.length).toBeLessThan(200)
  })

  test('a secret that it repeats is not quoted, and neither is what stands around it', () => {
    const reply = read(answered(401, {}, 'no such token hush-93, sorry'), ['aHVzaC05Mw==', 'hush-93'])
    expect(reply).toEqual({ kind: 'refused', because: 'status 401' })
  })
})
