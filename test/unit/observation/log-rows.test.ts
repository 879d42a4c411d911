import { describe, expect, test } from 'vitest'
import { createRowReader, createRowWriter, type RowLine, WrongRow } from '../../../src/observation/log-rows.ts'
import type { Observation, ObservedResponse } from '../../../src/observation/observation.ts'

const answer = (members: Partial<ObservedResponse> = {}): ObservedResponse => ({
  status: 200,
  headers: { 'content-type': 'application/json', 'x-request-id': 'a1' },
  bytes: 40,
  body: { kind: 'json', value: { jsonrpc: '2.0', id: 1, result: '0x1' }, digest: null },
  ...members,
})

const observation = (members: Partial<Observation> = {}): Observation => ({
  ...{ id: 1, seq: 1, stage: 'steady', call: 'rpc', caller: 'c1', key: 0, accountTier: 'default' },
  request: { kind: 'models' },
  ...{ dueMs: 10, sentMs: 10.125, headersMs: 15.5, endMs: 16 },
  outcome: { kind: 'answered', status: 200 },
  response: answer(),
  ...members,
})

/** The lines that a log has for these observations. */
function linesOf(observations: readonly Observation[]): readonly string[] {
  const write = createRowWriter()
  return observations.flatMap(each => write(each).split('\n'))
}

const isWhole = (line: RowLine): boolean => 'call' in line

/** What a reader of these lines gets. */
function read(lines: readonly string[]): readonly unknown[] {
  const readRow = createRowReader()
  return lines.flatMap(text => {
    const line: RowLine = JSON.parse(text)
    const found = isWhole(line) ? line : readRow(line)
    return found === null ? [] : [found]
  })
}

/** The observations as the JSON of a log without rows would have them. */
const asJson = (observations: readonly Observation[]): readonly unknown[] =>
  observations.map(each => JSON.parse(JSON.stringify(each)))

function expectKept(observations: readonly Observation[]): readonly string[] {
  const lines = linesOf(observations)
  expect(read(lines)).toEqual(asJson(observations))
  // Members keep their order.
  expect(JSON.stringify(read(lines))).toBe(JSON.stringify(observations))
  return lines
}

const withBody = (value: unknown) => observation({ response: answer({ body: { kind: 'json', value, digest: null } }) })
const repeat = (count: number, of: (index: number) => Observation) => Array.from({ length: count }, (_, i) => of(i))

describe('rows', () => {
  test('have an entry only for what varies, and times as thousandths', () => {
    const at = (ms: number): Partial<Observation> => ({
      dueMs: ms,
      sentMs: ms + 0.25,
      headersMs: ms + 2,
      endMs: ms + 3,
    })
    const lines = expectKept([
      observation(at(10)),
      observation({ ...at(20), id: 5 }),
      observation({ ...at(30), id: 9 }),
    ])
    expect(lines.slice(1)).toEqual([
      '{"shape":0,"varies":[0,8,9,10,11]}',
      '[0,4000,10000,250,1750,1000]',
      '[0,4000,10000,250,1750,1000]',
    ])
  })

  test('of equal observations are empty', () => {
    expect(expectKept([observation(), observation()]).slice(1)).toEqual(['[0]'])
  })

  test('state once for each further value that it varies', () => {
    const lines = expectKept([
      observation(),
      observation({ caller: 'c2' }),
      observation({ caller: 'c3' }),
      observation({ caller: 'c3', key: 7 }),
      observation({ caller: 'c1', key: 0 }),
    ])
    expect(lines.slice(1)).toEqual([
      '{"shape":0,"varies":[4]}',
      '[0,"c2"]',
      '[0,"c3"]',
      '{"shape":0,"varies":[4,5]}',
      '[0,0,7000]',
      '[0,"c1",-7000]',
    ])
  })

  test('refer to the row before of their own shape', () => {
    const failed = (caller: string) =>
      observation({
        caller,
        headersMs: null,
        outcome: { kind: 'failed', reason: 'connection-lost', detail: 'x' },
        response: null,
      })
    const lines = expectKept(
      repeat(20, index => (index % 3 === 0 ? failed(`f${index}`) : observation({ caller: `c${index}` }))),
    )
    expect(lines.filter(line => line.includes('"first"'))).toHaveLength(2)
  })

  test.each<[string, readonly unknown[]]>([
    [
      'numbers of any kind',
      [0, -0, 1, -1, 0.1, 0.30000000000000004, 1e-9, 1e300, -1e21, 9007199254740991, 1.0005, 2.5],
    ],
    ['numbers, null and texts in turn', [1, null, 2, 'a', 3, true, '3', false, null, 0, [], {}, 0]],
    ['texts of any kind', ['', '0', 'é\u2028\n"', '\ud800', '\u0000', '[1]', 'null']],
    ['lists of any length', [[], [1], [1, 2], [1, 2, 3, 4], [1, 2, 3, 4, 5], [5, 4, 3, 2, 1, [0]], [], [[[]]]]],
    ['objects with other members', [{ a: 1 }, { b: 1 }, { a: 1, b: 2 }, { b: 2, a: 1 }, {}, { a: { a: {} } }]],
    [
      'names that objects inherit',
      [JSON.parse('{"__proto__":1,"constructor":2}'), JSON.parse('{"__proto__":{"a":2}}')],
    ],
    [
      'names that are numbers',
      [
        { 1: 'a', 0: 'b', x: 1 },
        { x: 2, 1: 'c', 0: 'd' },
      ],
    ],
    ['times in a body', [{ endMs: 5, dueMs: 7 }, { endMs: 6, dueMs: 'x' }, { endMs: null, dueMs: 9 }, { sentMs: 1 }]],
    ['values that look like lines of the log', [{ shape: 1 }, { varies: [1] }, [0, 1], { skipped: 3 }]],
  ])('keep %s', (_, values) => {
    expectKept([...values, ...values.toReversed(), ...values].map(withBody))
  })

  test('keep what JSON changes as JSON does', () => {
    const values = [1, Number.NaN, 2, Number.POSITIVE_INFINITY, [Number.NaN, 1, 2, 3, 4], [undefined, 1]]
    const observations = [...values, ...values].map(withBody)
    expect(read(linesOf(observations))).toEqual(asJson(observations))
  })

  test('leave out members without a value, which then form no shape of their own', () => {
    const chain: unknown = undefined
    const lines = linesOf([
      observation(),
      { ...observation(), ...(chain as object) },
      observation({ trial: undefined }),
    ])
    expect(lines.filter(line => line.includes('"first"'))).toHaveLength(1)
  })

  test('keep thousands of drawn observations', () => {
    const draw = (index: number): number => Math.abs(Math.sin(index) * 1e4) % 1
    const pick = <T>(index: number, of: readonly T[]): T => of[Math.floor(draw(index) * of.length)] as T
    const body = (index: number) =>
      pick(index, [{ result: draw(index) }, { result: `${index}` }, { error: { code: -32000 - (index % 7) } }, [index]])
    const observations = repeat(3_000, index => {
      const dueMs = Math.round(draw(index) * 1e6) / 1e3 + index
      return observation({
        ...{ id: index * 4, seq: index, caller: `c${index % 4}`, call: pick(index + 1, ['rpc', 'chat', 'list']) },
        ...{
          dueMs,
          sentMs: dueMs + draw(index + 2),
          headersMs: pick(index + 3, [null, dueMs + 2]),
          endMs: dueMs + 3.001,
        },
        response: pick(index + 4, [
          null,
          answer({ bytes: index, body: { kind: 'json', value: body(index), digest: null } }),
        ]),
      })
    })
    const lines = expectKept(observations)
    expect(lines.join('\n').length).toBeLessThan(JSON.stringify(observations).length / 4)
  })
})

describe('the number of shapes', () => {
  test('has a bound for each call; what fits none is a line of its own', () => {
    const lines = expectKept(repeat(100, index => withBody({ [`name${index}`]: 1 })))
    expect(lines.filter(line => line.startsWith('{"shape"'))).toHaveLength(32)
    expect(lines.filter(line => isWhole(JSON.parse(line)))).toHaveLength(68)
  })

  test('has a bound for a log', () => {
    const lines = expectKept(repeat(1_100, index => observation({ call: `call${index}` })))
    expect(lines.filter(line => line.startsWith('{"shape"'))).toHaveLength(1_024)
  })
})

describe('a reader of rows rejects', () => {
  const first = JSON.stringify({ shape: 0, first: observation() })
  test.each([
    ['a row of a shape that did not begin', ['[1]'], 'the unknown shape 1'],
    ['a row without a shape', ['[]'], 'the unknown shape undefined'],
    ['a row of too many entries', ['[0,1]'], 'a row of 1 entries where 0 values vary'],
    ['a row of too few entries', ['{"shape":0,"varies":[0]}', '[0]'], 'a row of 0 entries where 1 values vary'],
    ['an entry that is an object', ['{"shape":0,"varies":[0]}', '[0,{}]'], 'the entry {}'],
    ['an entry that is a fraction', ['{"shape":0,"varies":[0]}', '[0,0.5]'], 'the entry 0.5'],
    ['an entry of two values', ['{"shape":0,"varies":[0]}', '[0,[1,2]]'], 'the entry [1,2]'],
    ['positions in another order', ['{"shape":0,"varies":[2,1]}'], 'the positions 2,1'],
    ['a position twice', ['{"shape":0,"varies":[2,2]}'], 'the positions 2,2'],
    ['a position that no value has', ['{"shape":0,"varies":[99]}'], 'the positions 99'],
    ['positions of an unknown shape', ['{"shape":4,"varies":[1]}'], 'the unknown shape 4'],
    ['a shape twice', [first], 'the shape 0'],
    ['a shape whose number is too high', [JSON.stringify({ shape: 7, first: {} })], 'the shape 7'],
    ['a shape without an observation', ['{"shape":1,"first":3}'], 'a damaged shape'],
    ['a shape that says nothing', ['{"shape":0}'], 'a damaged shape'],
  ])('%s', (_, lines, message) => {
    const readAll = () => read([first, ...lines])
    expect(readAll).toThrow(WrongRow)
    expect(readAll).toThrow(message)
  })
})
