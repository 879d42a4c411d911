import { describe, expect, test } from 'vitest'
import { createStreamReader } from '../../../../src/produce/calls/stream-reader.ts'

const event = (value: unknown): Buffer => Buffer.from(`data: ${JSON.stringify(value)}\n\n`)
const content = (said: string) => ({ id: 'c1', choices: [{ delta: { content: said } }] })
const done = Buffer.from('data: [DONE]\n\n')

const readWith = (echoField: string | null, events: readonly Buffer[]) => {
  const reader = createStreamReader({ doneMarker: '[DONE]', echoField })
  for (const [atMs, bytes] of events.entries()) reader.push(bytes, atMs)
  return reader.end().reading
}
const readPlain = (...events: readonly Buffer[]) => readWith(null, events)
const readOptioned = (...events: readonly Buffer[]) => readWith('options', events)

describe('where options were asked for', () => {
  const citations = [{ title: 'A page', url: 'https://example.com' }]

  test('the text is kept, and where the search results stood', () => {
    const results = event({ choices: [], options: { web_search_citations: citations } })
    const { text, grammar } = readOptioned(results, event(content('Hel')), event(content('lo')), done)
    expect(text).toBe('Hello')
    expect(grammar).toEqual([
      ['results', 1],
      ['content', 2],
      ['done', 1],
    ])
  })

  test('the echo is kept, put together of all chunks that have a part of it', () => {
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

  test('at most 4,096 characters of the text are kept', () => {
    const { text, contentCharacters } = readOptioned(
      ...Array.from({ length: 5 }, () => event(content('x'.repeat(1_000)))),
    )
    expect(text).toHaveLength(4_096)
    expect(contentCharacters).toBe(5_000)
  })

  test('of a plain call neither is kept', () => {
    const reading = readPlain(event({ ...content('Hello'), options: { web_search_citations: citations } }), done)
    expect(reading).toMatchObject({ text: null, parameters: null })
    expect(reading.grammar[0]).toEqual(['content', 1])
  })
})

describe('of what a choice says', () => {
  const delta = (members: object) => event({ choices: [{ delta: members }] })

  test('the names of tools are kept, at most 3', () => {
    const call = (name: unknown) => delta({ tool_calls: [{ function: { name } }, 7] })
    const reading = readPlain(call('a'), call(undefined), call('a'), call('b'), call('c'), call('d'))
    expect(reading.toolNames).toEqual(['a', 'b', 'c'])
  })

  test('the indices of choices are kept, at most 16', () => {
    const at = (index: unknown) => event({ choices: [{ index }] })
    expect(readPlain(at(0), at(1), at(0), at(undefined), at('a')).indices).toEqual([0, 1, null, 'a'])
    expect(readPlain(...Array.from({ length: 40 }, (_, index) => at(index))).indices).toHaveLength(16)
  })

  test('stop reasons are kept, at most 3, whatever they are', () => {
    const stop = (stop_reason: unknown) => event({ choices: [{ stop_reason }] })
    const reading = readPlain(stop(null), stop('stop'), stop('stop'), stop(7), stop('x'.repeat(999)), stop('y'))
    expect(reading.stopReasons).toEqual(['stop', 7, 'x'.repeat(256)])
  })

  const fields = [
    ...['role', 'content', 'reasoning_content', 'name', 'thought_signature', 'tool_calls', 'reasoning_details'],
  ]

  test.each(fields)('each type that %s has is kept once, with the first value, and null is none', field => {
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

  test('types are kept in the order in which they came, and in one delta in the order of its fields', () => {
    const reading = readPlain(delta({ tool_calls: {}, role: 'assistant' }), delta({ content: 7 }), delta({ role: 7 }))
    expect(reading.deltaTypes.map(([field, type]) => `${field} ${type}`)).toEqual([
      'role string',
      'tool_calls object',
      'content number',
      'role number',
    ])
  })

  test('types of other fields are not kept', () => {
    expect(readPlain(delta({ own: 7, reasoning: 7 })).deltaTypes).toEqual([])
  })

  test('80 characters of the first value are kept, however long, wide or deep it is', () => {
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
