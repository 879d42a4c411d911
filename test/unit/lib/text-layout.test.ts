import { describe, expect, test } from 'vitest'
import { plainTable, table, wrap } from '../../../src/lib/text-layout.ts'

const page = { columns: 20, color: false }

describe('a plain table', () => {
  test('has columns as wide as their widest cell, below a header', () => {
    const rows = [
      ['chat', 'steady', 'at most 5'],
      ['rpc', 'burst', ''],
    ]
    expect(plainTable(['call', 'stage', 'limit'], rows)).toBe(
      ['call  stage   limit', 'chat  steady  at most 5', 'rpc   burst'].join('\n'),
    )
    expect(plainTable([], [['a', 'b']])).toBe('a  b')
    expect(plainTable([], [])).toBe('')
  })

  test('aligns a column of numbers to the right, with its header', () => {
    const rows = [
      ['a', '1,200', '9 ms', 'x'],
      ['b', '7', '10.5 ms', 'y'],
    ]
    expect(plainTable(['n', 'count', 'p99', 'z'], rows)).toBe(
      ['n  count      p99  z', 'a  1,200     9 ms  x', 'b      7  10.5 ms  y'].join('\n'),
    )
  })

  test('wraps its last column without clipping', () => {
    expect(plainTable([], [['key', 'one two three fourteen-characters']], 13)).toBe(
      ['key  one two', '     three', '     fourteen-characters'].join('\n'),
    )
    const long = 'word '.repeat(200).trim()
    expect(plainTable([], [['key', long]])).toBe(`key  ${long}`)
  })

  test('has its last column below the others where they leave too little', () => {
    const rows = [
      ['a-name-of-32-characters-as-many-have', 'judge', 'A sentence about what a service does.'],
      ['b', 'judge', 'Short.'],
    ]
    expect(plainTable([], rows, 60)).toBe(
      [
        'a-name-of-32-characters-as-many-have judge',
        '    A sentence about what a service does.',
        'b judge',
        '    Short.',
      ].join('\n'),
    )
  })

  test('takes rows of different lengths', () => {
    expect(plainTable(['a', 'b', 'c'], [['long name'], ['x', 'y', 'z']])).toBe(
      ['a          b  c', 'long name', 'x          y  z'].join('\n'),
    )
  })
})

describe('text on a page', () => {
  test('wraps below its lead, and clips a word that is too long', () => {
    expect(wrap(page, 'some words that do not fit abcdefghijklmnopqrstuvwxyz', 2, '- ')).toEqual([
      '  - some words that do',
      '    not fit',
      '    abcdefghijklmnopq…',
    ])
  })

  test('is clipped at the page width in a table', () => {
    expect(table(page, 2, [[{ text: 'name' }, { text: 'a value that is too long' }]])).toEqual(['  name  a value tha…'])
  })
})
