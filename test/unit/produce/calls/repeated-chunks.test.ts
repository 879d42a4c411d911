import { afterEach, describe, expect, test, vi } from 'vitest'
import { createMask } from '../../../../src/lib/mask/mask.ts'
import { type Random, randomStream } from '../../../../src/lib/random.ts'
import { createStreamReader } from '../../../../src/produce/calls/stream-reader.ts'
import { todays } from '../../../support/nightly.ts'

afterEach(() => vi.restoreAllMocks())

type Read = { readonly bytes: Buffer; readonly atMs: number }
const done = 'data: [DONE]\n\n'

function read(reads: readonly Read[], echoField: string | null) {
  const reader = createStreamReader({ doneMarker: '[DONE]', echoField, mask: createMask([]) })
  for (const { bytes, atMs } of reads) reader.push(bytes, atMs)
  return reader.end()
}

/** No read contains a complete event, so each event is decoded and parsed. */
const byteByByte = (reads: readonly Read[]): readonly Read[] =>
  reads.flatMap(({ bytes, atMs }) => [...bytes].map(byte => ({ bytes: Buffer.from([byte]), atMs })))

function expectSame(reads: readonly Read[], echoField: string | null): void {
  const actual = JSON.stringify(read(reads, echoField))
  const expected = JSON.stringify(read(byteByByte(reads), echoField))
  if (actual !== expected) expect.fail(`${Buffer.concat(reads.map(each => each.bytes))}\n${actual}\nnot ${expected}`)
}

const each = (events: readonly string[]): readonly Read[] =>
  events.map((event, index) => ({ bytes: Buffer.from(event), atMs: index * 20 }))

const chunk = (literal: string, delta = 'content', rest = '"finish_reason":null'): string =>
  `data: {"id":"c1","object":"chat.completion.chunk","created":7,"model":"m","choices":[{"index":0,"delta":{"${delta}":${literal}},${rest}}]}\n\n`

describe('a chunk that repeats another except for its token', () => {
  test('is not parsed, but is counted, measured and stamped', () => {
    const parse = vi.spyOn(JSON, 'parse')
    const events = Array.from({ length: 100 }, (_, index) => chunk(`" w${index}"`))
    const { reading } = read(each([...events, done]), null)
    // The first chunk is parsed twice: the second time to find its text.
    expect(parse).toHaveBeenCalledTimes(2)
    expect(reading).toMatchObject({ chunks: 100, tokenChunks: 100, contentCharacters: 390, lastTokenMs: 1_980 })
    expect(reading.gapsMs).toEqual(Array.from({ length: 99 }, () => 20))
    expect(reading.grammar).toEqual([
      ['content', 100],
      ['done', 1],
    ])
  })

  test('may contain reasoning', () => {
    const parse = vi.spyOn(JSON, 'parse')
    const events = Array.from({ length: 9 }, () => chunk('"hm"', 'reasoning_content'))
    expect(read(each([...events, done]), null).reading).toMatchObject({ reasoningCharacters: 18, firstContentMs: null })
    expect(parse).toHaveBeenCalledTimes(2)
  })

  test('may have a field of an unusual type, which is recorded once', () => {
    const parse = vi.spyOn(JSON, 'parse')
    const events = Array.from({ length: 9 }, () => chunk('"a","name":5'))
    const { reading } = read(each([...events, done]), null)
    expect(parse).toHaveBeenCalledTimes(2)
    expect(reading.deltaTypes).toEqual([
      ['content', 'string', '"a"'],
      ['name', 'number', '5'],
    ])
  })

  test('adds to the recorded text, up to its bound', () => {
    const events = Array.from({ length: 50 }, () => chunk(`"${'é'.repeat(100)}"`))
    const { reading } = read(each(events), 'echo')
    expect(reading.text).toBe('é'.repeat(4_096))
    expect(reading.contentCharacters).toBe(5_000)
  })

  test('is matched after a different layout, and in one read with others', () => {
    const parse = vi.spyOn(JSON, 'parse')
    const events = [...'abc'].map(letter => chunk(`"${letter}"`))
    const escaped = chunk('"\\n"')
    const { reading } = read([{ bytes: Buffer.from([...events, escaped, ...events, done].join('')), atMs: 5 }], null)
    expect(reading).toMatchObject({ chunks: 7, contentCharacters: 7 })
    expect(parse).toHaveBeenCalledTimes(3)
  })

  test('is parsed if layouts keep changing, and then no layout is remembered', () => {
    const parse = vi.spyOn(JSON, 'parse')
    const events = Array.from({ length: 100 }, (_, index) => chunk('"a"', 'content', `"n":${index}`))
    read(each(events), null)
    expect(parse).toHaveBeenCalledTimes(104)
  })
})

describe('any other chunk is parsed', () => {
  const before = [chunk('"a"'), chunk('"b"'), chunk('"c"')]
  const text = [['content', 'string', '"a"']]
  const readingAfter = (event: string) => read(each([...before, event]), null).reading

  test.each([
    ['another id', chunk('"d"').replace('c1', 'c2'), { ids: ['c1', 'c2'] }],
    ['another model', chunk('"d"').replace('"m"', '"n"'), { models: ['m', 'n'] }],
    ['another object', chunk('"d"').replace('.chunk', ''), { objects: ['chat.completion.chunk', 'chat.completion'] }],
    ['another index', chunk('"d"').replace('"index":0', '"index":9'), { indices: [0, 9] }],
    ['a finish reason', chunk('"d"', 'content', '"finish_reason":"stop"'), { finishReasons: ['stop'] }],
    ['a stop reason', chunk('"d"', 'content', '"stop_reason":"x"'), { stopReasons: ['x'] }],
    ['an empty token', chunk('""'), { tokenChunks: 3, chunks: 4 }],
    ['a token that is null', chunk('null'), { tokenChunks: 3, chunks: 4 }],
    ['a token that is a number', chunk('7'), { deltaTypes: [...text, ['content', 'number', '7']] }],
    ['a token with an escape', chunk('"\\u00e9\\""'), { contentCharacters: 5 }],
    ['a token with a bad escape', chunk('"\\x"'), { tokenChunks: 3, chunks: 3 }],
    ['a token with an unescaped tab', chunk('"\t"'), { tokenChunks: 3, chunks: 3 }],
    ['an unterminated token', chunk('"d'), { tokenChunks: 3, chunks: 3 }],
    ['an extra comma', chunk('"d",'), { tokenChunks: 3, chunks: 3 }],
    ['an extra field', chunk('"d","role":3'), { deltaTypes: [...text, ['role', 'number', '3']] }],
    ['a second token of the same name', chunk('"d","content":"ef"'), { contentCharacters: 5 }],
    ['a usage', chunk('"d"').replace('"model"', '"usage":{"a":1},"model"'), { usage: { a: 1 } }],
    ['an extra line', chunk('"d"').replace('\n\n', '\ndata: x\n\n'), { tokenChunks: 3, chunks: 3 }],
  ])('%s', (_, event, expected) => {
    expect(readingAfter(event)).toMatchObject(expected)
  })

  test('a token with the text of the model name is still a token', () => {
    const events = [chunk('"m"'), chunk('"m"'), chunk('"mm"').replace('"model":"m"', '"model":"mm"')]
    expect(read(each(events), null).reading).toMatchObject({ contentCharacters: 4, models: ['m', 'mm'] })
  })

  test('a chunk with a cost, an echo or a usage is not remembered', () => {
    for (const more of ['"cost":{"usd":1}', '"echo":{"web_search_citations":[]}', '"usage":{"a":1}']) {
      const parse = vi.spyOn(JSON, 'parse')
      read(each(Array.from({ length: 5 }, () => chunk('"a"').replace('"model"', `${more},"model"`))), 'echo')
      expect(parse).toHaveBeenCalledTimes(5)
      parse.mockRestore()
    }
  })

  test('chunks after the done marker are not read', () => {
    const { reading } = read(each([...before, done, chunk('"d"')]), null)
    expect(reading).toMatchObject({ chunks: 3, tokenChunks: 3 })
    expect(reading.grammar.at(-1)).toEqual(['after-done', 1])
  })
})

describe('every stream gives the same result as with a full parse', () => {
  const texts = [
    ' the',
    'a',
    '',
    ',',
    ' caf\u00e9',
    '\u65e5\u672c',
    '😀',
    '\\n',
    '\\"',
    '\\u0041',
    '\u2028',
    'm',
    'c1',
    'content',
  ]
  const deltas = [
    (text: string) => `"content":"${text}"`,
    (text: string) => `"content": "${text}"`,
    (text: string) => `"role":"assistant","content":"${text}"`,
    (text: string) => `"content":"","reasoning_content":"${text}"`,
    (text: string) => `"reasoning":"${text}","reasoning_content":"${text}"`,
    (text: string) => `"reasoning":"x","content":"${text}"`,
    (text: string) => `"content":"${text}","content":"content"`,
    (text: string) => `"content":"content","content":"${text}"`,
    (text: string) => `"content":"${text}","tool_calls":[]`,
    (text: string) => `"content":"${text}","name":5`,
  ]
  const layouts = [
    (delta: string) => `{"id":"c1","object":"o","created":7,"model":"m","choices":[{"index":0,"delta":{${delta}}}]}`,
    (delta: string) => `{"choices":[{"delta":{${delta}},"index":0,"finish_reason":null}],"model":"m","id":"c1"}`,
    (delta: string) => `{"choices":[{"delta":{"content":"x"}}],"choices":[{"delta":{${delta}}}]}`,
    (delta: string) => `{"choices":[{"delta":{${delta}}},{"delta":{"content":"y"}}]}`,
    (delta: string) => `{"id":"c1","choices":[{"index":{"a":1},"delta":{${delta}}}],"x":{"delta":{${delta}}}}`,
    (delta: string) => `{"id":"c1","choices":[{"delta":{${delta}},"stop_reason":{"a":1}}]}`,
    (delta: string) => `{"id":"c1","choices":[{"delta":{${delta}}}],"cost":{"usd":1},"echo":{"a":1}}`,
  ]
  const lines = [
    ...Array.from({ length: 6 }, () => (json: string) => `data: ${json}\n\n`),
    (json: string) => `data:${json}\n\n`,
    (json: string) => `data: ${json}\r\n\r\n`,
    (json: string) => `data: ${json}\r\r`,
    (json: string) => `: comment\nid: 1\ndata: ${json}\n\n`,
    (json: string) => `\ufeffdata: ${json}\n\n`,
  ]
  const pick = <T>(random: Random, list: readonly T[]): T => list[random.int(list.length)] as T

  /** A stream has one or two repeated layouts, and sometimes another chunk. */
  function stream(random: Random): readonly Buffer[] {
    const forms = Array.from({ length: 1 + random.int(2) }, () => {
      const [delta, layout, line] = [pick(random, deltas), pick(random, layouts), pick(random, lines)]
      return (text: string) => line(layout(delta(text)))
    })
    return Array.from({ length: 2 + random.int(10) }, () => {
      if (random.int(12) === 0) return Buffer.from(pick(random, [done, 'data: x\n\n', 'data: {}\n\n', '\n']))
      return Buffer.from(pick(random, forms)(pick(random, texts)))
    })
  }

  /** Some reads contain several events. */
  function joinSome(events: readonly Buffer[], random: Random): readonly Buffer[] {
    const reads: Buffer[] = []
    for (const event of events) {
      const last = random.int(3) === 0 ? reads.pop() : undefined
      reads.push(last === undefined ? event : Buffer.concat([last, event]))
    }
    return reads
  }

  function damage(events: readonly Buffer[], random: Random): readonly Buffer[] {
    const at = random.int(events.length)
    const bytes = [...(events[at] ?? [])]
    const inserted = Array.from({ length: random.int(3) }, () =>
      random.int(2) === 0 ? random.int(256) : pick(random, [...Buffer.from('"\\{}[],:\n\r ')]),
    )
    bytes.splice(random.int(bytes.length + 1), random.int(3), ...inserted)
    return events.with(at, Buffer.from(bytes))
  }

  test.each([
    ['streams', 'layout', (events: readonly Buffer[]) => events],
    ['streams with bytes changed, lost and doubled', 'damaged', damage],
  ])('%s: a quarter of 4,000', (_, name, change) => {
    const rounds = Array.from({ length: 4_000 }, (__, round) => round)
    for (const round of todays(rounds, 4)) {
      const random = randomStream(11, `${name}/${round}`)
      const events = change(stream(random), random)
      const reads = joinSome(events, random).map((bytes, index) => ({ bytes, atMs: index * 20 }))
      expectSame(reads, random.int(2) === 0 ? null : 'echo')
    }
  })
})
