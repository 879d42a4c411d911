import { describe, expect, test } from 'vitest'
import { randomStream } from '../../../../src/lib/random.ts'
import { createSseDecoder } from '../../../../src/produce/transport/sse.ts'

type Decoded = { events: string[]; endsInside: boolean }

/** The events of the pieces; one that was cut is marked with a trailing … */
function decode(pieces: readonly (string | Buffer)[], maxEventBytes?: number): Decoded {
  const events: string[] = []
  const decoder = createSseDecoder((data, cut) => events.push(cut ? `${data}…` : data), { maxEventBytes })
  for (const piece of pieces) decoder.push(Buffer.from(piece))
  return { events, endsInside: decoder.end() }
}

const eventsOf = (...pieces: readonly (string | Buffer)[]): readonly string[] => decode(pieces).events

describe('lines and fields', () => {
  test.each([
    ['LF', 'data: a\ndata: b\n\ndata: c\n\n'],
    ['CRLF', 'data: a\r\ndata: b\r\n\r\ndata: c\r\n\r\n'],
    ['CR', 'data: a\rdata: b\r\rdata: c\r\r'],
    ['a mixture', 'data: a\rdata: b\r\n\ndata: c\n\r'],
  ])('lines may end with %s', (_, text) => {
    expect(eventsOf(text)).toEqual(['a\nb', 'c'])
  })

  test.each([
    ['only one space after the colon is removed', 'data:  a \n\n', [' a ']],
    ['a tab is not removed', 'data:\ta\n\n', ['\ta']],
    ['the space is optional', 'data:a\n\n', ['a']],
    ['a field without colon has an empty value', 'data\n\n', ['']],
    ['two empty values are joined by a line feed', 'data\ndata:\n\n', ['\n']],
    ['an event without data is skipped', 'event: a\nid: 1\n\n', []],
    ['a field name must match exactly', 'dat: a\ndatas: b\nDATA: c\n data: d\n\n', []],
    ['a comment is skipped, even one that looks like data', ': data: a\n:\n\n', []],
    ['other fields do not end an event', 'data: a\nretry: 3\ndata: b\n\n', ['a\nb']],
    ['a ping is skipped', 'event: ping\ndata: {}\n\ndata: a\n\ndata: {}\nevent:ping\n\n', ['a']],
    ['a ping without data ends itself alone', 'event: ping\n\ndata: a\n\n', ['a']],
    ['an event with another name is read', 'event: pings\ndata: a\n\n', ['a']],
    ['empty lines between events are ignored', '\n\n\ndata: a\n\n\n\n\ndata: b\n\n', ['a', 'b']],
    ['a colon in the value is text', 'data: a: b\n\n', ['a: b']],
    ['a null byte is text', 'data: a\0b\n\n', ['a\0b']],
  ])('%s', (_, text, events) => {
    expect(eventsOf(text)).toEqual(events)
  })

  test('invalid UTF-8 becomes U+FFFD and changes nothing else', () => {
    expect(eventsOf(Buffer.from([0x64, 0x61, 0x74, 0x61, 0x3a, 0xff, 0x0a, 0x0a]), 'data: b\n\n')).toEqual(['�', 'b'])
  })

  test('only the first three bytes of a stream can be a byte order mark', () => {
    const mark = '\u{feff}'
    expect(eventsOf(`${mark}data: a\n\n${mark}data: b\n\n`)).toEqual(['a'])
  })
})

describe('an end inside an event is reported', () => {
  test.each([
    ['data: a\n\n', false],
    ['data: a\n\n: comment', false],
    ['data: a\r\r', false],
    ['\u{feff}', false],
    ['', false],
    ['data: a\n', true],
    ['data: a', true],
    ['data: a\n\nda', true],
    ['data: a\n: comment', true],
  ])('%j: %s', (text, endsInside) => {
    expect(decode([text]).endsInside).toBe(endsInside)
    expect(decode([...text]).endsInside).toBe(endsInside)
  })
})

describe('an event above the maximum', () => {
  test('is cut and marked as cut, and the next events are complete', () => {
    expect(decode(['data: 12345678\n\ndata: 123456789\n\ndata: a\n\n'], 8).events).toEqual([
      '12345678',
      '12345678…',
      'a',
    ])
  })

  test('of several lines is cut where the sum of its lines exceeds the maximum', () => {
    expect(decode(['data: 123\ndata: 456\ndata: 789\n\n'], 8).events).toEqual(['123\n456\n…'])
  })

  test.each([
    [
      '\u{feff}data: 1234\r\ndata:56789\r\n\r\n: a comment beyond the bound\r\ndata: 1234567890123456789012345\r\n\r\ndata:ä\r\n\r\n',
      ['1234\n567…', '12345678…', 'ä'],
    ],
    ['\u{feff}data: 123456789\n\n', ['12345678…']],
    ['\u{feff}data: 12345678\n\n', ['12345678']],
  ])('is cut at the same byte for any split into reads: %j', (text, events) => {
    const bytes = Buffer.from(text)
    expect(decode([bytes], 8).events).toEqual(events)
    for (let first = 0; first <= bytes.length; first++) {
      for (let second = first; second <= bytes.length; second++) {
        const pieces = [bytes.subarray(0, first), bytes.subarray(first, second), bytes.subarray(second)]
        expect(decode(pieces, 8).events).toEqual(events)
      }
    }
    const single = [...bytes].map(byte => Buffer.from([byte]))
    expect(decode(single, 8).events).toEqual(events)
  })
})

describe('compared with a literal implementation of the standard', () => {
  /** Applies each step to the whole text: slow and simple. */
  function plainly(text: string): Decoded {
    const lines = text.replace(/^\u{feff}/u, '').split(/\r\n|\n|\r/)
    const rest = lines.pop() ?? ''
    const events: string[] = []
    let data: string[] = []
    for (const line of lines) {
      if (line === '') {
        if (data.length > 0) events.push(data.join('\n'))
        data = []
      }
      const [name, ...value] = line.split(':')
      if (name === 'data') data.push(value.join(':').replace(/^ /, ''))
    }
    return { events, endsInside: data.length > 0 || (rest !== '' && !rest.startsWith(':')) }
  }

  test('10,000 random streams, split at random, give the same events', () => {
    const words = [
      'data',
      ':',
      ' ',
      '\n',
      '\r',
      '\r\n',
      '\n\n',
      'a',
      'é',
      '\u{2028}',
      '😀',
      'data: x\n\n',
      'id: 1',
      '\u{feff}',
    ]
    const random = randomStream(3, 'streams')
    for (let round = 0; round < 10_000; round++) {
      const text = Array.from({ length: random.int(14) }, () => words[random.int(words.length)]).join('')
      const bytes = Buffer.from(text)
      const cuts = [random.int(bytes.length + 1), random.int(bytes.length + 1)].toSorted((a, b) => a - b)
      const pieces = [0, ...cuts].map((from, index) => bytes.subarray(from, cuts[index]))
      expect(decode(pieces), JSON.stringify(text)).toEqual(plainly(text))
    }
  })
})
