import { expect, test } from 'vitest'
import { type Block, blocksIn, code, plainWords, toned } from '../../../src/report/blocks.ts'

const table: Block = {
  kind: 'table',
  columns: [{ title: 'name' }, { title: { markdown: 'notes' } }, { title: { text: '', html: 'value' } }],
  rows: [{ cells: ['a', 'first', '1'] }, { cells: ['b', 'second', { text: '2', html: 'two' }], in: ['html'] }],
}

test('a column is shown by the media that have a title for it, and a row by those that it names', () => {
  expect(blocksIn('html', [table])).toMatchObject([{ rows: [{ cells: ['a', '1'] }, { cells: ['b', 'two'] }] }])
  expect(blocksIn('text', [table])).toMatchObject([{ columns: [{ title: 'name' }, { title: '' }] }])
  expect(blocksIn('markdown', [table])).toMatchObject([{ rows: [{ cells: ['a', 'first'] }] }])
})

test('a block that a medium has no words for is left out of it, and so is a table without rows', () => {
  const page: readonly Block[] = [
    { kind: 'text', text: { html: 'on a page' } },
    { kind: 'list', look: 'lines', items: [{ html: 'one' }, 'both'] },
    { ...table, rows: table.rows.slice(1) },
    { kind: 'text', text: 'not on a page', in: ['text', 'markdown'] },
  ]
  expect(blocksIn('html', page).map(({ kind }) => kind)).toEqual(['text', 'list', 'table'])
  expect(blocksIn('text', page)).toEqual([
    { kind: 'list', look: 'lines', items: ['both'] },
    { kind: 'text', text: 'not on a page', in: ['text', 'markdown'] },
  ])
})

test('what is folded is of the same medium', () => {
  const details: Block = {
    kind: 'details',
    summary: 'more',
    blocks: [{ kind: 'text', text: { html: 'here', markdown: 'there' } }],
  }
  expect(blocksIn('markdown', [details])).toMatchObject([{ blocks: [{ text: 'there' }] }])
})

test('words without their style are the words', () => {
  expect(plainWords([code('a'), ' and ', toned('bad', ['b', toned('strong', 'c')])])).toBe('a and bc')
})
