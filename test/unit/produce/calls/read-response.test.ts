import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { createMask } from '../../../../src/lib/mask/mask.ts'
import type { Body } from '../../../../src/observation/observation.ts'
import { decodeBody, maskExchange, outcomeOf, responseOf } from '../../../../src/produce/calls/read-response.ts'
import type { Exchange } from '../../../../src/produce/transport/transport.ts'

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

const maxBytes = 4_194_304
const key = 'sk-Abc123xyz-9f-Qq7-mM4'
const mask = createMask([key])
const bodyOf = (bytes: Buffer | string, digest = false): Body | undefined =>
  responseOf(exchange(bytes), null, { digest, maxBytes, mask })?.body
const jsonOf = (bytes: Buffer | string): unknown => {
  const body = bodyOf(bytes)
  return body?.kind === 'json' ? body.value : expect.fail(`it is read as ${body?.kind}`)
}
const depthOf = (value: unknown): number => (Array.isArray(value) ? 1 + depthOf(value[0]) : 0)

describe('a body', () => {
  test('without bytes is empty', () => {
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

  test('of text is cut at 512 characters', () => {
    expect(bodyOf('x'.repeat(100_000))).toEqual({ kind: 'text', head: 'x'.repeat(512), digest: null })
  })

  test('of short JSON is not cut', () => {
    const value = { text: 'x'.repeat(4_000) }
    expect(jsonOf(JSON.stringify(value))).toEqual(value)
  })

  test('of long JSON has its strings cut at 256 characters, and keeps its shape', () => {
    const value = { text: 'x'.repeat(5_000), list: ['y'.repeat(300), 1, null, true, { short: 'z' }] }
    expect(jsonOf(JSON.stringify(value))).toEqual({
      text: 'x'.repeat(256),
      list: ['y'.repeat(256), 1, null, true, { short: 'z' }],
    })
  })

  test('of short JSON is not cut if an id in it looks like a large exponent', () => {
    const value = { error: 'x'.repeat(400), id: 'e7e641fe-4ff3' }
    expect(bodyOf(JSON.stringify(value))).toEqual({ kind: 'json', value, digest: null })
  })

  test('of a long error says that its message is cut', () => {
    const body = Buffer.from(JSON.stringify({ error: 'x'.repeat(5_000) }))
    const error = responseOf({ ...exchange(body), status: 400 }, null, { digest: false, maxBytes, mask })?.body
    expect(error).toEqual({ kind: 'json', value: { error: 'x'.repeat(256) }, cut: true, digest: null })
  })

  test('may have a field called __proto__', () => {
    const value = jsonOf(`{"__proto__":{"admin":true},"pad":"${'x'.repeat(5_000)}"}`)
    expect(Object.keys(Object(value))).toEqual(['__proto__', 'pad'])
    expect(Object(value).admin).toBeUndefined()
  })
})

describe('a deeply nested body', () => {
  const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth)

  test.each([2_047, 5_000, 100_000, 2_000_000])('of %i levels is read, and can be serialized', depth => {
    expect(() => JSON.stringify(bodyOf(nested(depth)))).not.toThrow()
  })

  test('keeps its first 128 levels', () => {
    expect(depthOf(jsonOf(nested(100_000)))).toBe(128)
  })

  test('of objects is cut, too', () => {
    const depth = 100_000
    expect(() => JSON.stringify(bodyOf(`${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`))).not.toThrow()
  })
})

describe('a body of many values', () => {
  const cutOf = (text: string) => {
    const body = bodyOf(text)
    return body?.kind === 'json' ? { value: body.value, cut: body.cut } : expect.fail('it is not read')
  }

  test('keeps the first 1,024 members of a list and of an object, and says so', () => {
    const list = JSON.stringify(Array.from({ length: 5_000 }, (_, index) => index))
    expect(cutOf(list)).toEqual({ value: Array.from({ length: 1_024 }, (_, index) => index), cut: true })
    const object = cutOf(
      JSON.stringify(Object.fromEntries(Array.from({ length: 5_000 }, (_, index) => [`k${index}`, 1]))),
    )
    expect([Object.keys(Object(object.value)).length, object.cut]).toEqual([1_024, true])
  })

  test('of exactly this many is not cut', () => {
    const list = Array.from({ length: 1_024 }, () => 'abcdefgh')
    expect(cutOf(JSON.stringify(list))).toEqual({ value: list, cut: undefined })
  })

  test('keeps its outer levels, wherever its many values are', () => {
    const many = Array.from({ length: 1_000 }, () => Array.from({ length: 1_000 }, () => 1))
    const { value, cut } = cutOf(JSON.stringify({ many, usage: { total_tokens: 3 } }))
    expect([Object(value).usage, cut]).toEqual([{ total_tokens: 3 }, true])
    expect(JSON.stringify(value).length).toBeLessThan(300_000)
  })

  test.each(['1e999', '-1e400', '9'.repeat(400)])('has null for the number %s, as in the log', number => {
    expect(jsonOf(`{"cost":${number}}`)).toEqual({ cost: null })
    expect(jsonOf(`{"cost":${number},"pad":"${'x'.repeat(5_000)}"}`)).toMatchObject({ cost: null })
  })
})

describe('a digest', () => {
  const digestOf = (bytes: Buffer | string) => {
    const body = bodyOf(bytes, true)
    return body?.kind === 'json' || body?.kind === 'text' ? body.digest : null
  }

  test('depends on the bytes of a body, not on its value', () => {
    expect(digestOf('{"a":1}')).toBe(digestOf('{"a":1}'))
    expect(digestOf('{"a":1}')).not.toBe(digestOf('{"a": 1}'))
    expect(digestOf('{"a":1}')).toMatch(/^[\w-]{22}$/)
  })

  test('differs for bodies that differ after the recorded part', () => {
    expect(digestOf(`${'x'.repeat(600)}a`)).not.toBe(digestOf(`${'x'.repeat(600)}b`))
  })

  test('is not computed unless requested', () => {
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
  deltaTypes: [],
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
const cut = { reason: 'stream-truncated', detail: 'no [DONE]' } as const

describe('an answer', () => {
  test('is null before the headers', () => {
    expect(responseOf(exchange('', { status: null }), null, { digest: false, maxBytes, mask })).toBeNull()
  })

  test('has the status, the headers and the number of bytes on the wire', () => {
    const headers = { date: 'today' }
    const response = responseOf(exchange('{}', { status: 503, headers, bytes: 99 }), null, {
      digest: false,
      maxBytes,
      mask,
    })
    expect(response).toEqual({ status: 503, headers, bytes: 99, body: { kind: 'json', value: {}, digest: null } })
  })

  test('of a stream is the stream record', () => {
    const response = responseOf(exchange(''), { reading, failure: null }, { digest: false, maxBytes, mask })
    expect(response?.body).toEqual({ kind: 'stream', stream: reading })
  })
})

describe('an outcome', () => {
  test.each([200, 204, 301, 404, 429, 500])('of status %i is answered: no status is a failure', status => {
    expect(outcomeOf(exchange('', { status }), null)).toEqual({ kind: 'answered', status })
  })

  test('of a failed request is the failure, even with a status', () => {
    const failure = { reason: 'idle-timeout', detail: 'nothing for 10 ms' } as const
    expect(outcomeOf(exchange('', { failure }), null)).toEqual({ kind: 'failed', ...failure })
  })

  test('of a truncated stream is a failure, even with status 200', () => {
    expect(outcomeOf(exchange(), { reading, failure: cut })).toEqual({ kind: 'failed', ...cut })
  })

  test('of a stream with a connection failure is the connection failure', () => {
    const failure = { reason: 'connection-lost', detail: 'ECONNRESET' } as const
    expect(outcomeOf(exchange('', { failure }), { reading, failure: cut })).toEqual({ kind: 'failed', ...failure })
  })
})

const maxDecodedBytes = 10_000
const text = JSON.stringify({ choices: ['a', 'b'] })
const decodedText = (bytes: Buffer, encoding: string | undefined): string => {
  const decoded = decodeBody(bytes, encoding, maxDecodedBytes)
  return decoded.kind === 'decoded' ? decoded.bytes.toString() : expect.fail(decoded.why)
}

describe('a body is read', () => {
  test.each([
    ['unchanged without an encoding', undefined, Buffer.from(text)],
    ['unchanged with the encoding identity', 'identity', Buffer.from(text)],
    ['from gzip', 'gzip', gzipSync(text)],
    ['from gzip by its old name, in upper case', ' X-GZIP ', gzipSync(text)],
    ['from br', 'br', brotliCompressSync(text)],
    ['from deflate, which is not requested', 'deflate', deflateSync(text)],
  ])('%s', (_, encoding, bytes) => {
    expect(decodedText(bytes, encoding)).toBe(text)
  })

  test('as empty if it has no bytes, with any encoding', () => {
    expect(decodedText(Buffer.alloc(0), 'gzip')).toBe('')
  })

  test('up to exactly the bound', () => {
    const atBound = gzipSync(Buffer.alloc(maxDecodedBytes))
    const over = gzipSync(Buffer.alloc(maxDecodedBytes + 1))
    expect(decodeBody(atBound, 'gzip', maxDecodedBytes).kind).toBe('decoded')
    expect(decodeBody(over, 'gzip', maxDecodedBytes)).toMatchObject({ kind: 'undecodable', encoding: 'gzip' })
  })

  test('only up to the bound if a kilobyte decompresses to a megabyte', () => {
    const bomb = brotliCompressSync(Buffer.alloc(50_000_000))
    expect(bomb.length).toBeLessThan(1_000)
    expect(decodeBody(bomb, 'br', maxDecodedBytes).kind).toBe('undecodable')
  })
})

describe('a body is undecodable', () => {
  test.each([
    ['without the announced encoding', 'gzip', Buffer.from(text)],
    ['that is not brotli', 'br', Buffer.from(text)],
    ['that was truncated', 'gzip', gzipSync(text).subarray(0, -8)],
    ['that was truncated after its first byte', 'gzip', gzipSync(text).subarray(0, 1)],
    ['in an unknown encoding', 'rot13', Buffer.from(text)],
    ['in two encodings', 'gzip, br', gzipSync(text)],
  ])('%s', (_, encoding, bytes) => {
    expect(decodeBody(bytes, encoding, maxDecodedBytes)).toMatchObject({ kind: 'undecodable', encoding })
  })

  test('with a bounded length of the encoding name', () => {
    const decoded = decodeBody(Buffer.from(text), 'x'.repeat(5_000), maxDecodedBytes)
    expect(decoded.kind === 'undecodable' && decoded.encoding.length).toBe(64)
  })

  test('if any byte of it is wrong', () => {
    const whole = gzipSync(text)
    for (let at = 0; at < whole.length; at++) {
      const broken = Buffer.from(whole)
      broken[at] = (broken[at] ?? 0) ^ 0xff
      expect(['decoded', 'undecodable']).toContain(decodeBody(broken, 'gzip', maxDecodedBytes).kind)
    }
  })
})

describe('secrets', () => {
  test('are masked in JSON, in names and values, and nothing else changes', () => {
    const value = { id: 7, error: { message: `no ${key}`, [key]: [null, 1.5, true] } }
    expect(jsonOf(JSON.stringify(value))).toEqual({ id: 7, error: { message: 'no ***', '***': [null, 1.5, true] } })
    expect(jsonOf(JSON.stringify({ sent: Buffer.from(`a${key}b`), list: [1, 2, 3] }))).toEqual({
      sent: { type: 'Buffer', data: [97, ...[...key].map(() => 42), 98] },
      list: [1, 2, 3],
    })
  })

  test('are masked before long strings are cut', () => {
    for (let before = 230; before < 260; before++) {
      const long = { text: `${'x'.repeat(before)}${key}`, more: 'y'.repeat(5_000) }
      const { text } = jsonOf(JSON.stringify(long)) as { text: string }
      expect(text).toBe(`${'x'.repeat(before)}***`.slice(0, 256))
    }
  })

  test('are masked before a text is cut, also if the body ends inside of one', () => {
    for (let before = 480; before < 520; before++)
      expect(bodyOf(`${' '.repeat(before)}${key}`)).toMatchObject({ head: `${' '.repeat(before)}***`.slice(0, 512) })
    expect(bodyOf(`{"error":"${key.slice(0, 14)}`)).toMatchObject({ kind: 'text', head: '{"error":"***' })
  })

  test('are masked in a compressed body, in headers and in the message of a failure', () => {
    const failure = { reason: 'tls', detail: `not in DNS:${key}.example` } as const
    const headers = { 'content-encoding': 'gzip', [`x-${key.toLowerCase()}`]: 'a', location: `/login?key=${key}` }
    const masked = maskExchange(exchange(gzipSync(`{"a":"${key}"}`), { headers, failure }), mask)
    expect(masked.headers).toEqual({ 'content-encoding': 'gzip', 'x-***': 'a', location: '/login?key=***' })
    expect(masked.failure).toEqual({ reason: 'tls', detail: 'not in DNS:***.example' })
    expect(responseOf(masked, null, { digest: false, maxBytes, mask })?.body).toMatchObject({ value: { a: '***' } })
  })

  test('do not change an exchange without any', () => {
    const plain = exchange('{}', { headers: { 'cf-ray': '8f1d-FRA' } })
    expect(maskExchange(plain, mask)).toBe(plain)
  })
})
