import { describe, expect, test } from 'vitest'
import { createMask } from '../../../../src/lib/mask/mask.ts'
import { randomStream } from '../../../../src/lib/random.ts'
import { createStreamReader } from '../../../../src/produce/calls/stream-reader.ts'
import { type Read, readSseFixtures, type SseFixture } from '../../../contract/sse/read-sse-fixture.ts'
import { todays } from '../../../support/nightly.ts'
import { reveals } from '../../../support/secret-forms.ts'

const readAll = (reads: readonly Read[]) => {
  const reader = createStreamReader({ doneMarker: '[DONE]', echoField: null, mask: createMask([]) })
  for (const { bytes, atMs } of reads) reader.push(bytes, atMs)
  return reader.end()
}

const fixtures = readSseFixtures()
const text = (value: unknown): string => JSON.stringify(value)

describe.each(fixtures)('$name.sse', fixture => {
  test('gives the result in the header of the file', () => {
    const { reading, failure } = readAll(fixture.reads)
    const { outcome, detail, tokensAtMs, ids, ...expected } = fixture.expected
    expect(failure?.reason ?? 'complete').toBe(outcome)
    if (detail !== null) expect(failure?.detail).toBe(detail)
    if (ids !== null) expect(reading.ids).toEqual(ids)
    expect(reading).toMatchObject({
      ...expected,
      tokenChunks: tokensAtMs.length,
      firstTokenMs: tokensAtMs[0] ?? null,
      lastTokenMs: tokensAtMs.at(-1) ?? null,
      gapsMs: tokensAtMs.slice(1).map((atMs, index) => atMs - (tokensAtMs[index] ?? Number.NaN)),
    })
  })

  test('gives the same result and times if its reads are split at any byte', () => {
    const expected = text(readAll(fixture.reads))
    for (const [index, { atMs, bytes }] of fixture.reads.entries()) {
      for (let at = 1; at < bytes.length; at++) {
        const halves = [bytes.subarray(0, at), bytes.subarray(at)].map(half => ({ atMs, bytes: half }))
        const actual = text(readAll(fixture.reads.toSpliced(index, 1, ...halves)))
        if (actual !== expected) expect.fail(`cut at byte ${at} of read ${index}: ${actual} and not ${expected}`)
      }
    }
  })

  test('gives the same result except for times in one read, two, three, and byte by byte', () => {
    const whole = Buffer.concat(fixture.reads.map(({ bytes }) => bytes))
    const expected = text(readAll([{ atMs: 0, bytes: whole }]))
    expect(text(withoutInstants(fixture))).toBe(expected)
    for (const cuts of cutsOf(whole.length)) {
      const actual = text(readAll(cutAt(whole, cuts)))
      if (actual !== expected) expect.fail(`cut at ${cuts}: ${actual} and not ${expected}`)
    }
    expect(text(readAll([...whole].map(byte => ({ atMs: 0, bytes: Buffer.from([byte]) }))))).toBe(expected)
  })
})

/** Every offset; every pair of offsets of a short stream within ten days, and some pairs of a long one. */
function cutsOf(length: number): readonly (readonly number[])[] {
  const offsets = Array.from({ length: length + 1 }, (_, at) => at)
  const inside = offsets.slice(1, -1)
  const random = randomStream(1, 'cuts')
  const drawn = Array.from({ length: 2_000 }, () => [random.int(length), random.int(length)].toSorted((a, b) => a - b))
  const pairs: readonly (readonly number[])[] =
    length <= 320 ? inside.flatMap(first => inside.slice(first).map(second => [first, second])) : drawn
  return [...offsets.map(at => [at]), ...todays(pairs, 10)]
}

const cutAt = (bytes: Buffer, cuts: readonly number[]): readonly Read[] =>
  [0, ...cuts].map((from, index) => ({ atMs: 0, bytes: bytes.subarray(from, cuts[index]) }))

const withoutInstants = (fixture: SseFixture) => readAll(fixture.reads.map(({ bytes }) => ({ atMs: 0, bytes })))

const event = (value: unknown): Buffer => Buffer.from(`data: ${JSON.stringify(value)}\n\n`)
const content = (said: string) => ({ id: 'c1', choices: [{ delta: { content: said } }] })
const done = Buffer.from('data: [DONE]\n\n')
const readEvents = (...events: readonly Buffer[]) => readAll(events.map((bytes, atMs) => ({ bytes, atMs })))

describe('the record of a stream is bounded', () => {
  test('at most 2,000 gaps, but all tokens are counted and the last is stamped', () => {
    const { reading } = readEvents(...Array.from({ length: 2_500 }, () => event(content('a'))))
    expect(reading.gapsMs).toEqual(Array.from({ length: 2_000 }, () => 1))
    expect(reading).toMatchObject({ tokenChunks: 2_500, lastTokenMs: 2_499 })
  })

  test('64 runs of parts, and then each part once, in the order in which they occurred last', () => {
    const turns = Array.from({ length: 50 }, () => [event(content('a')), event({})]).flat()
    const finish = event({ choices: [{ finish_reason: 'stop' }] })
    const { reading } = readEvents(...turns, finish, ...turns, finish, finish, event(content('a')), done, done)
    expect(new Set(reading.grammar.slice(0, 64).map(([, count]) => count))).toEqual(new Set([1]))
    expect(reading.grammar.slice(64)).toEqual([
      ['empty', 18 + 50],
      ['finish', 3],
      ['content', 18 + 51],
      ['done', 1],
      ['after-done', 1],
    ])
  })

  test('at most 3 ids, 16 finish reasons and 3 malformed events of 200 characters', () => {
    const many = Array.from({ length: 40 }, (_, i) => event({ id: `c${i}`, choices: [{ finish_reason: `r${i}` }] }))
    const bad = Array.from({ length: 40 }, (_, i) => Buffer.from(`data: ${i}${'x'.repeat(300)}\n\n`))
    const { reading } = readEvents(...many, ...bad)
    expect(reading.ids).toEqual(['c0', 'c1', 'c2'])
    expect(reading.finishReasons).toHaveLength(16)
    expect(reading.malformed).toEqual([0, 1, 2].map(i => `${i}${'x'.repeat(199)}`))
  })

  test('an event above one mebibyte is malformed, and the events after it are read', () => {
    const { reading, failure } = readEvents(event(content('x'.repeat(1_048_576))), event(content('a')), done)
    expect(failure?.reason).toBe('stream-malformed')
    expect(reading.contentCharacters).toBe(1)
    expect(reading.malformed[0]).toMatch(/^\{"id":"c1".*x$/)
  })

  test('an event above one mebibyte is malformed even if its beginning is JSON', () => {
    const { reading } = readEvents(
      Buffer.from(`data: ${JSON.stringify(content('a'))}${' '.repeat(1_048_576)}\n\n`),
      done,
    )
    expect(reading.grammar).toEqual([
      ['malformed', 1],
      ['done', 1],
    ])
  })

  test('long, wide and deep values of error, usage and cost are cut', () => {
    const deep = JSON.parse(`${'['.repeat(5_000)}${']'.repeat(5_000)}`)
    const wide = Object.fromEntries(Array.from({ length: 500 }, (_, i) => [`k${i}`, i]))
    const { reading } = readEvents(event({ error: { message: 'x'.repeat(9_000) }, usage: wide, cost: deep }))
    expect(reading.error).toEqual({ message: 'x'.repeat(256) })
    expect(Object.keys(Object(reading.usage))).toHaveLength(32)
    expect(JSON.stringify(reading.cost)).toBe('[[[[[[null]]]]]]')
  })
})

test('the creation time is the first one in the stream', () => {
  const { reading } = readEvents(event({ created: null }), event({ created: 7 }), event({ created: 8 }))
  expect(reading.created).toBe(7)
})

describe('the detail of a failure', () => {
  test('does not contain the message of an error, which could quote the request', () => {
    const { failure } = readEvents(event({ error: { message: 'bad key sk-1', type: 'auth_error', code: 7 } }))
    expect(failure).toEqual({ reason: 'stream-error', detail: 'auth_error' })
  })

  test('describes the first error, which is also the recorded error', () => {
    const { reading, failure } = readEvents(event({ error: { type: 'first' } }), event({ error: { type: 'second' } }))
    expect(failure?.detail).toBe('first')
    expect(reading.error).toEqual({ type: 'first' })
  })
})

describe('the reader never throws', () => {
  const oddities = [null, true, 0, -1.5, '', 'x', [], [null], {}, { a: 1 }, [[]], [{}]]
  const members = ['id', 'object', 'model', 'created', 'choices', 'usage', 'cost', 'error']
  const deltaMembers = ['role', 'content', 'reasoning_content', 'reasoning', 'tool_calls']

  test('on any value of any field', () => {
    const chunks = [
      ...oddities,
      ...members.flatMap(name => oddities.map(odd => ({ ...content('a'), [name]: odd }))),
      ...oddities.flatMap(odd => [
        { choices: [odd] },
        { choices: [{ delta: odd }] },
        { choices: [{ finish_reason: odd }] },
      ]),
      ...deltaMembers.flatMap(name => oddities.map(odd => ({ choices: [{ delta: { [name]: odd } }] }))),
    ]
    for (const chunk of chunks) expect(() => readEvents(event(chunk), done)).not.toThrow()
    expect(() => readEvents(...chunks.map(event), done)).not.toThrow()
  })

  test('on fixtures with bytes changed, removed and repeated at random', () => {
    const all = Array.from({ length: 200 }, (_, round) => round)
    for (const { reads } of fixtures) {
      for (const round of todays(all, 8)) {
        const random = randomStream(round, 'damage')
        const bytes = [...Buffer.concat(reads.map(read => read.bytes))]
        for (let i = 0; i < 3; i++) {
          const at = random.int(bytes.length + 1)
          bytes.splice(at, random.int(3), ...Array.from({ length: random.int(3) }, () => random.int(256)))
        }
        const { reading } = readEvents(Buffer.from(bytes))
        expect(reading.gapsMs.length).toBe(Math.max(0, reading.tokenChunks - 1))
      }
    }
  })

  test('on names that every object has', () => {
    const { reading } = readEvents(
      Buffer.from('data: {"__proto__":{"choices":[{"delta":{"content":"a"}}]},"usage":{"__proto__":{"a":1}}}\n\n'),
    )
    expect(reading.tokenChunks).toBe(0)
    expect(JSON.stringify(reading.usage)).toBe('{"__proto__":{"a":1}}')
  })
})

describe('secrets in a stream', () => {
  const key = 'sk-Abc123xyz-9f-Qq7-mM4'
  const mask = createMask([key])
  const random = randomStream(5, 'secrets')

  /** What is kept of these events, whose bytes arrive in random reads. */
  const recordOf = (events: readonly string[]): string => {
    const reader = createStreamReader({ doneMarker: '[DONE]', echoField: 'service_parameters', mask })
    const bytes = Buffer.from(events.map(event => `data: ${event}\n\n`).join(''))
    for (let at = 0; at < bytes.length; ) {
      const size = 1 + random.int(30)
      reader.push(bytes.subarray(at, at + size), at)
      at += size
    }
    return JSON.stringify(reader.end())
  }
  const chunk = (delta: object, more: object = {}) =>
    JSON.stringify({ id: 'c-1', object: 'chat.completion.chunk', choices: [{ index: 0, delta }], ...more })

  test('are masked wherever a text of an event is kept', () => {
    const kept: Readonly<Record<string, string>> = {
      id: chunk({ content: 'a' }, { id: `c-${key}` }),
      model: chunk({ content: 'a' }, { model: key }),
      content: chunk({ content: `it is ${key}` }),
      role: chunk({ role: key }),
      tool: chunk({ tool_calls: [{ function: { name: `call_${key}` } }] }),
      details: chunk({ reasoning_details: [{ text: Buffer.from(key).toString('base64') }] }),
      error: JSON.stringify({ error: { type: `invalid ${key}`, code: encodeURIComponent(key), message: key } }),
      'a long error': JSON.stringify({ error: { message: `${'x'.repeat(245)}${key}` } }),
      usage: chunk({}, { usage: { [key]: 1 } }),
      cost: chunk({}, { cost: { usd: key } }),
      echo: chunk({}, { service_parameters: { character_slug: key, [key]: true } }),
      finish: JSON.stringify({ choices: [{ index: key, finish_reason: key, stop_reason: key, delta: {} }] }),
      malformed: `{"error": ${key}`,
      'half an event': `{"error":"${'x'.repeat(170)}${key}`,
    }
    for (const [name, event] of Object.entries(kept)) {
      const record = recordOf([chunk({ role: 'assistant' }), event, '[DONE]'])
      expect(reveals(record, key), `${name}: ${record}`).toBe(false)
      expect(record.includes('abc123xyz'), name).toBe(false)
      expect(mask.isIn(event), name).toBe(true)
    }
  })

  test('are masked if they are split over deltas, and the lengths are those of the stream', () => {
    for (let round = 0; round < 100; round++) {
      const pieces: string[] = []
      for (let at = 0; at < key.length; ) {
        const size = 1 + random.int(14)
        pieces.push(key.slice(at, at + size))
        at += size
      }
      const record = recordOf([...['the key ', ...pieces, ' ends'].map(content => chunk({ content })), '[DONE]'])
      expect(reveals(record, key), record).toBe(false)
      const { reading } = JSON.parse(record)
      expect(reading).toMatchObject({ text: 'the key *** ends', contentCharacters: 8 + key.length + 5 })
    }
  })

  test('are masked if the stream starts or breaks off inside of one', () => {
    expect(recordOf([chunk({ content: key.slice(0, 12) })])).not.toContain(key.slice(0, 8))
    const long = 'x'.repeat(4_090)
    expect(recordOf([chunk({ content: long }), chunk({ content: key }), '[DONE]'])).not.toContain(key.slice(0, 6))
  })
})

describe('the fingerprint of a stream', () => {
  const event = (chunk: object) => `data: ${JSON.stringify(chunk)}\n\n`
  const chunkOf = (delta: object, index = 0, id = 'c1') => event({ id, model: 'm', choices: [{ index, delta }] })
  const usage = (total: number) => event({ id: 'c1', model: 'm', choices: [], usage: { total_tokens: total } })
  const read = (events: readonly string[], digest = true) => {
    const reader = createStreamReader({ doneMarker: '[DONE]', echoField: null, mask: createMask([]), digest })
    for (const [atMs, each] of [...events, 'data: [DONE]\n\n'].entries()) reader.push(Buffer.from(each), atMs)
    return reader.end().reading.digest
  }
  const words = (...pieces: readonly string[]) => pieces.map(content => chunkOf({ content }))
  const call = (piece: string) =>
    chunkOf({ tool_calls: [{ index: 0, id: 't1', function: { name: 'look_up', arguments: piece } }] })

  test('is the same however the answer is cut into chunks and reads', () => {
    const one = read([...words('one two three four'), chunkOf({ reasoning: 'because' }), call('{"a":1}'), usage(4)])
    const parts = [...words('one', ' two', ' three', ' f', 'our'), chunkOf({ reasoning: 'bec' })]
    expect(one).toBe(read([...parts, chunkOf({ reasoning: 'ause' }), call('{"a"'), call(':1}'), usage(4)]))
    expect(one).toBe(read([[...parts, chunkOf({ reasoning: 'ause' }), call('{"a":1}'), usage(4)].join('')]))
  })

  test.each<[string, readonly string[]]>([
    ['a word less', [...words('one', ' two'), usage(4)]],
    ['another word', [...words('one', ' two', ' tree'), usage(4)]],
    ['another usage', [...words('one', ' two', ' three'), usage(5)]],
    ['no usage', words('one', ' two', ' three')],
    ['another id', [...['one', ' two', ' three'].map(content => chunkOf({ content }, 0, 'c2')), usage(4)]],
    ['reasoning', [...words('one', ' two', ' three'), chunkOf({ reasoning: 'x' }), usage(4)]],
    ['a tool call', [...words('one', ' two', ' three'), call('{}'), usage(4)]],
  ])('is another one with %s', (_, events) => {
    expect(read(events)).not.toBe(read([...words('one', ' two', ' three'), usage(4)]))
  })

  test('is missing if nobody asks for it, and for several choices, whose chunks may come in any order', () => {
    expect(read(words('one'), false)).toBeUndefined()
    expect(read([chunkOf({ content: 'a' }), chunkOf({ content: 'b' }, 1)])).toBeUndefined()
  })
})
