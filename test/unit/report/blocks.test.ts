import { expect, test } from 'vitest'
import { type Block, blocksIn, code, plainWords, toned } from '../../../src/report/blocks.ts'
import { renderHtmlPage } from '../../../src/report/render/html.ts'
import { renderMarkdownPage } from '../../../src/report/render/markdown.ts'
import { renderTextPage } from '../../../src/report/render/text.ts'

const table: Block = {
  kind: 'table',
  columns: [{ title: 'name' }, { title: { markdown: 'notes' } }, { title: { text: '', html: 'value' } }],
  rows: [{ cells: ['a', 'first', '1'] }, { cells: ['b', 'second', { text: '2', html: 'two' }], in: ['html'] }],
}

test('a medium shows the columns for which it has a title, and the rows that name it', () => {
  expect(blocksIn('html', [table])).toMatchObject([{ rows: [{ cells: ['a', '1'] }, { cells: ['b', 'two'] }] }])
  expect(blocksIn('text', [table])).toMatchObject([{ columns: [{ title: 'name' }, { title: '' }] }])
  expect(blocksIn('markdown', [table])).toMatchObject([{ rows: [{ cells: ['a', 'first'] }] }])
})

test('a medium leaves out blocks without words for it, and tables without rows', () => {
  const page: readonly Block[] = [
    { kind: 'text', text: { html: 'on a page' } },
    { kind: 'list', look: 'counts', items: [{ html: 'one' }, 'both'] },
    { ...table, rows: table.rows.slice(1) },
    { kind: 'text', text: 'not on a page', in: ['text', 'markdown'] },
  ]
  expect(blocksIn('html', page).map(({ kind }) => kind)).toEqual(['text', 'list', 'table'])
  expect(blocksIn('text', page)).toEqual([
    { kind: 'list', look: 'counts', items: ['both'] },
    { kind: 'text', text: 'not on a page', in: ['text', 'markdown'] },
  ])
})

test('folded blocks are of the same medium', () => {
  const details: Block = {
    kind: 'details',
    summary: 'more',
    blocks: [{ kind: 'text', text: { html: 'here', markdown: 'there' } }],
  }
  expect(blocksIn('markdown', [details])).toMatchObject([{ blocks: [{ text: 'there' }] }])
})

test('plainWords removes the style', () => {
  expect(plainWords([code('a'), ' and ', toned('bad', ['b', toned('strong', 'c')])])).toBe('a and bc')
})

test('lines to be pasted keep their blanks in every medium', () => {
  const lines = ['calls:', '  chat: { kind: chat }', '    # <last>']
  const blocks: Block[] = [
    { kind: 'heading', id: 'more', text: 'More' },
    { kind: 'code', lines, language: 'yaml' },
  ]
  const text = renderTextPage(blocks, { columns: 20, color: false })
  expect(text).toContain(lines.map(line => `    ${line}\n`).join(''))
  expect(renderMarkdownPage(blocks)).toContain(`\`\`\`yaml\n${lines.join('\n')}\n\`\`\``)
  expect(renderHtmlPage(blocks)).toContain(`${lines.slice(0, 2).join('\n')}\n    # &lt;last&gt;</pre>`)
})
