import { describe, expect, test } from 'vitest'
import { answerOf, outcomeOf } from '../../../src/calls/read-answer.ts'
import type { Body } from '../../../src/observation/observation.ts'
import type { Exchange } from '../../../src/transport/transport.ts'

const exchange = (body: Buffer | string = '', more: Partial<Exchange> = {}): Exchange => {
  const bytes = Buffer.from(body)
  return {
    sentMs: 1,
    headersMs: 2,
    endMs: 3,
    status: 200,
    headers: {},
    body: bytes,
    bytes: bytes.length,
    failure: null,
    ...more,
  }
}

const maxBytes = 1_000_000
const bodyOf = (bytes: Buffer | string, digest = false): Body | undefined =>
  answerOf(exchange(bytes), null, { digest, maxBytes })?.body
const jsonOf = (bytes: Buffer | string): unknown => {
  const body = bodyOf(bytes)
  return body?.kind === 'json' ? body.value : expect.fail(`it is read as ${body?.kind}`)
}
const depthOf = (value: unknown): number => (Array.isArray(value) ? 1 + depthOf(value[0]) : 0)

describe('a body', () => {
  test('of no bytes is empty', () => {
    expect(bodyOf('')).toEqual({ kind: 'empty' })
  })

  test.each(['{"a":[1,null,"x"]}', '[]', 'null', '0', '"text"', 'true', ' {"a":1}\n'])('%s is JSON', text => {
    expect(jsonOf(text)).toEqual(JSON.parse(text))
  })

  test.each(['<html>', '{"a":1', '{"a":1}{"b":2}', 'NaN', "{'a':1}", '{"a":1,}', ' ', '\0'])('%j is text', text => {
    expect(bodyOf(text)).toEqual({ kind: 'text', head: text, digest: null })
  })

  test('that is not UTF-8 is text with replacement characters', () => {
    const bytes = Buffer.from([0x7b, 0xff, 0xfe, 0x80])
    expect(bodyOf(bytes)).toEqual({ kind: 'text', head: '{\ufffd\ufffd\ufffd', digest: null })
  })

  test('that begins with a byte order mark is not the JSON that it may look like', () => {
    expect(bodyOf('\ufeff{"a":1}')?.kind).toBe('text')
  })

  test('of text is kept to 512 characters', () => {
    expect(bodyOf('x'.repeat(100_000))).toEqual({ kind: 'text', head: 'x'.repeat(512), digest: null })
  })

  test('of JSON is whole as long as it is small', () => {
    const value = { text: 'x'.repeat(4_000) }
    expect(jsonOf(JSON.stringify(value))).toEqual(value)
  })

  test('of much JSON has its strings cut at 256 characters, and its shape as it was', () => {
    const value = { text: 'x'.repeat(5_000), list: ['y'.repeat(300), 1, null, true, { short: 'z' }] }
    expect(jsonOf(JSON.stringify(value))).toEqual({
      text: 'x'.repeat(256),
      list: ['y'.repeat(256), 1, null, true, { short: 'z' }],
    })
  })

  test('with a member called __proto__ has it as a member', () => {
    const value = jsonOf(`{"__proto__":{"admin":true},"pad":"${'x'.repeat(5_000)}"}`)
    expect(Object.keys(Object(value))).toEqual(['__proto__', 'pad'])
    expect(Object(value).admin).toBeUndefined()
  })
})

describe('a body that is nested deeper than any real one', () => {
  const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth)

  test.each([2_047, 5_000, 100_000, 2_000_000])('of %i levels is read, and can be written again', depth => {
    expect(() => JSON.stringify(bodyOf(nested(depth)))).not.toThrow()
  })

  test('has its first 64 levels', () => {
    expect(depthOf(jsonOf(nested(100_000)))).toBe(64)
  })

  test('in objects is cut as well', () => {
    const depth = 100_000
    expect(() => JSON.stringify(bodyOf(`${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`))).not.toThrow()
  })
})

describe('a digest', () => {
  const digestOf = (bytes: Buffer | string) => {
    const body = bodyOf(bytes, true)
    return body?.kind === 'json' || body?.kind === 'text' ? body.digest : null
  }

  test('tells bodies apart by their bytes, not by their meaning', () => {
    expect(digestOf('{"a":1}')).toBe(digestOf('{"a":1}'))
    expect(digestOf('{"a":1}')).not.toBe(digestOf('{"a": 1}'))
    expect(digestOf('{"a":1}')).toMatch(/^[\w-]{22}$/)
  })

  test('tells bodies apart that differ behind what is kept of them', () => {
    expect(digestOf(`${'x'.repeat(600)}a`)).not.toBe(digestOf(`${'x'.repeat(600)}b`))
  })

  test('is not made for whom nobody asks', () => {
    expect(bodyOf('{"a":1}')).toMatchObject({ digest: null })
  })
})

const reading = {
  chunks: 0,
  grammar: [],
  ids: [],
  models: [],
  objects: [],
  created: null,
  finishReasons: [],
  indices: [],
  stopReasons: [],
  misshapen: [],
  parameters: null,
  text: null,
  toolNames: [],
  usage: null,
  cost: null,
  error: null,
  contentCharacters: 0,
  reasoningCharacters: 0,
  firstTokenMs: null,
  firstContentMs: null,
  lastTokenMs: null,
  tokenChunks: 0,
  gapsMs: [],
  malformed: [],
}
const cut = { kind: 'failed', reason: 'stream-truncated', detail: 'no [DONE]' } as const

describe('an answer', () => {
  test('is none before the headers', () => {
    expect(answerOf(exchange('', { status: null }), null, { digest: false, maxBytes })).toBeNull()
  })

  test('has status, headers and the bytes on the wire, whatever was kept', () => {
    const headers = { date: 'today' }
    const answer = answerOf(exchange('{}', { status: 503, headers, bytes: 99 }), null, { digest: false, maxBytes })
    expect(answer).toEqual({ status: 503, headers, bytes: 99, body: { kind: 'json', value: {}, digest: null } })
  })

  test('of a stream is what was read of it', () => {
    const answer = answerOf(exchange(''), { reading, failure: null }, { digest: false, maxBytes })
    expect(answer?.body).toEqual({ kind: 'stream', stream: reading })
  })
})

describe('an outcome', () => {
  test.each([200, 204, 301, 404, 429, 500])('of status %i is answered: no status is a failure', status => {
    expect(outcomeOf(exchange('', { status }), null)).toEqual({ kind: 'answered', status })
  })

  test('of a request that failed is its failure, even with a status', () => {
    const failure = { reason: 'idle-timeout', detail: 'nothing for 10 ms' } as const
    expect(outcomeOf(exchange('', { failure }), null)).toEqual({ kind: 'failed', ...failure })
  })

  test('of a stream that broke off is a failure, though its status was 200', () => {
    expect(outcomeOf(exchange(), { reading, failure: cut })).toEqual(cut)
  })

  test('of a stream whose connection broke is that of the connection', () => {
    const failure = { reason: 'connection-lost', detail: 'ECONNRESET' } as const
    expect(outcomeOf(exchange('', { failure }), { reading, failure: cut })).toEqual({ kind: 'failed', ...failure })
  })
})
