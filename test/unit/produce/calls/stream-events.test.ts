import { describe, expect, test } from 'vitest'
import { createMask } from '../../../../src/lib/mask/mask.ts'
import { createStreamReader } from '../../../../src/produce/calls/stream-reader.ts'

const event = (value: unknown): Buffer => Buffer.from(`data: ${JSON.stringify(value)}\n\n`)
const content = (said: string) => ({ id: 'c1', choices: [{ delta: { content: said } }] })
const done = Buffer.from('data: [DONE]\n\n')

const readWith = (echoField: string | null, events: readonly Buffer[]) => {
  const reader = createStreamReader({ doneMarker: '[DONE]', echoField, mask: createMask([]) })
  for (const [atMs, bytes] of events.entries()) reader.push(bytes, atMs)
  return reader.end().reading
}
const readPlain = (...events: readonly Buffer[]) => readWith(null, events)
const readOptioned = (...events: readonly Buffer[]) => readWith('options', events)

describe('a response to a request with options', () => {
  const citations = [{ title: 'A page', url: 'https://example.com' }]

  test('has its text and the position of the search results recorded', () => {
    const results = event({ choices: [], options: { web_search_citations: citations } })
    const { text, grammar } = readOptioned(results, event(content('Hel')), event(content('lo')), done)
    expect(text).toBe('Hello')
    expect(grammar).toEqual([
      ['results', 1],
      ['content', 2],
      ['done', 1],
    ])
  })

  test('has its echo recorded, merged from all chunks', () => {
    const first = event({ choices: [], options: { web_search_citations: citations, mode: 'on' } })
    const { parameters, grammar } = readOptioned(
      first,
      event({ options: { mode: 'auto' } }),
      event({ options: 7 }),
      done,
    )
    expect(parameters).toEqual({ web_search_citations: citations, mode: 'auto' })
    expect(grammar.map(([part]) => part)).toEqual(['results', 'empty', 'done'])
  })

  test('has at most 4,096 characters of its text recorded', () => {
    const { text, contentCharacters } = readOptioned(
      ...Array.from({ length: 5 }, () => event(content('x'.repeat(1_000)))),
    )
    expect(text).toHaveLength(4_096)
    expect(contentCharacters).toBe(5_000)
  })

  test('has neither recorded if the request had no options', () => {
    const reading = readPlain(event({ ...content('Hello'), options: { web_search_citations: citations } }), done)
    expect(reading).toMatchObject({ text: null, parameters: null })
    expect(reading.grammar[0]).toEqual(['content', 1])
  })
})

describe('the record of a choice', () => {
  const delta = (members: object) => event({ choices: [{ delta: members }] })

  test('has at most 3 tool names', () => {
    const call = (name: unknown) => delta({ tool_calls: [{ function: { name } }, 7] })
    const reading = readPlain(call('a'), call(undefined), call('a'), call('b'), call('c'), call('d'))
    expect(reading.toolNames).toEqual(['a', 'b', 'c'])
  })

  test('has the tool calls joined from their pieces, if the request had options', () => {
    const piece = (index: unknown, id: unknown, name: unknown, said: unknown, choice = 0) =>
      event({
        choices: [{ index: choice, delta: { tool_calls: [{ index, id, function: { name, arguments: said } }] } }],
      })
    const pieces = [
      piece(0, 'a', 'first', ''),
      piece(1, 'b', 'second', '{"b"'),
      piece(0, undefined, undefined, '{"a"'),
      // Some servers make up an id for each piece.
      piece(0, 'x', undefined, ':1}'),
      piece(1, 'b', 'second', ':2}'),
      piece(0, 'c', 'of another choice', '{}', 1),
      // Some give several calls one index, or none.
      piece(0, 'd', 'third', '{}'),
      piece(undefined, 'e', 'fourth', '{'),
      piece(undefined, undefined, undefined, '}'),
      piece(undefined, 'f', 'fifth', 7),
    ]
    expect(readOptioned(...pieces).toolCalls).toEqual([
      { name: 'first', arguments: '{"a":1}' },
      { name: 'second', arguments: '{"b":2}' },
      { name: 'of another choice', arguments: '{}' },
      { name: 'third', arguments: '{}' },
      { name: 'fourth', arguments: '{}' },
      { name: 'fifth', arguments: '' },
    ])
    expect(readPlain(...pieces)).not.toHaveProperty('toolCalls')
    const long = piece(0, 'a', 'long', 'x'.repeat(5_000))
    expect(readOptioned(long).toolCalls?.[0]?.arguments).toHaveLength(4_096)
    const many = Array.from({ length: 99 }, (_, index) => piece(index, `${index}`, 'each', '{}'))
    expect(readOptioned(...many).toolCalls).toHaveLength(16)
  })

  test('has at most 16 indices', () => {
    const at = (index: unknown) => event({ choices: [{ index }] })
    expect(readPlain(at(0), at(1), at(0), at(undefined), at('a')).indices).toEqual([0, 1, null, 'a'])
    expect(readPlain(...Array.from({ length: 40 }, (_, index) => at(index))).indices).toHaveLength(16)
  })

  test('has at most 3 stop reasons of any type', () => {
    const stop = (stop_reason: unknown) => event({ choices: [{ stop_reason }] })
    const reading = readPlain(stop(null), stop('stop'), stop('stop'), stop(7), stop('x'.repeat(999)), stop('y'))
    expect(reading.stopReasons).toEqual(['stop', 7, 'x'.repeat(256)])
  })

  const fields = [
    ...['role', 'content', 'reasoning_content', 'name', 'thought_signature', 'tool_calls', 'reasoning_details'],
  ]

  test.each(fields)('has each type of %s once, with its first value, except null', field => {
    const values = [null, 'a', 'b', 7, null, 8, false, true, [1], [], { a: 1 }, {}, 'c']
    const reading = readPlain(...values.map(value => delta({ [field]: value })), delta({}))
    expect(reading.deltaTypes).toEqual([
      [field, 'string', '"a"'],
      [field, 'number', '7'],
      [field, 'boolean', 'false'],
      [field, 'array', '[1]'],
      [field, 'object', '{"a":1}'],
    ])
  })

  test('has types in order of arrival, and within a delta in the order of fields', () => {
    const reading = readPlain(delta({ tool_calls: {}, role: 'assistant' }), delta({ content: 7 }), delta({ role: 7 }))
    expect(reading.deltaTypes.map(([field, type]) => `${field} ${type}`)).toEqual([
      'role string',
      'tool_calls object',
      'content number',
      'role number',
    ])
  })

  test('has no types of other fields', () => {
    expect(readPlain(delta({ own: 7, reasoning: 7 })).deltaTypes).toEqual([])
  })

  test('has at most 80 characters of a first value of any size or depth', () => {
    const deep = Buffer.from(
      `data: {"choices":[{"delta":{"role":${'['.repeat(200_000)}${']'.repeat(200_000)},"name":"${'x'.repeat(9_000)}"}}]}\n\n`,
    )
    const wide = delta({ content: Array.from({ length: 9_000 }, () => 'abc') })
    const { deltaTypes } = readPlain(deep, wide)
    expect(deltaTypes).toEqual([
      ['role', 'array', '[[[[[[null]]]]]]'],
      ['name', 'string', `"${'x'.repeat(79)}`],
      ['content', 'array', expect.stringMatching(/^\[("abc",){13}"$/)],
    ])
  })
})
