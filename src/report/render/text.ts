import {
  clip,
  heading,
  type Page,
  paint,
  type Style,
  type TableCell,
  table,
  tableWidth,
  wrap,
} from '../../lib/text-layout.ts'
import { oneLine } from '../../lib/visible.ts'
import {
  type Block,
  blocksIn,
  type Cause,
  type Column,
  type FindingBlock,
  type Heading,
  type List,
  plainWords,
  statusTones,
  type Table,
  type Text,
  type Tone,
  type Words,
} from '../blocks.ts'

type Lines = readonly string[]

/** The content of a section is indented by this many columns. */
const step = 2

/** Longer commands are only in the run directory. */
const maxCommand = 1_500

/** For a terminal. No line is wider than the page, except commands and code, which must stay whole to be pasted. */
export function renderTextPage(blocks: readonly Block[], page: Page): string {
  let indent = 0
  const lines = blocksIn('text', blocks).flatMap(block => {
    if (block.kind === 'heading' && block.id !== undefined) indent = step
    return blockLines(block, page, indent)
  })
  return `${lines.map(line => line.trimEnd()).join('\n')}\n`
}

function blockLines(block: Block<Words>, page: Page, indent: number): Lines {
  switch (block.kind) {
    case 'heading':
      return headingLines(block, page)
    case 'text':
      return textLines(block, page, indent)
    case 'code':
      return block.lines.map(line => ' '.repeat(indent + step) + line)
    case 'list':
      return [...gap(block), ...listLines(block, page, indent)]
    case 'table':
      return tableLines(block, page)
    case 'finding':
      return findingLines(block, page)
    case 'details':
    case 'chart':
      return []
  }
}

const gap = ({ afterGap }: { readonly afterGap?: true }): Lines => (afterGap ? [''] : [])

function headingLines({ text, verdict }: Heading<Words>, page: Page): Lines {
  const name = plainWords(text)
  if (verdict === undefined) return heading(page, name)
  const words = plainWords(verdict.words).toUpperCase()
  return table(page, 0, [
    [
      { text: words, style: styles[statusTones[verdict.status]] },
      { text: name, style: 'bold' },
    ],
  ])
}

function listLines({ items, look, terms = [] }: List<Words>, page: Page, indent: number): Lines {
  if (look === 'reasons') return items.flatMap(item => wrap(page, plainWords(item), indent + step, '- '))
  const width = Math.max(0, ...terms.map(term => term.length + step))
  return items.flatMap((item, index) => wrap(page, plainWords(item), indent, (terms[index] ?? '').padEnd(width)))
}

function textLines(block: Text<Words>, page: Page, indent: number): Lines {
  if (block.look === 'headline') return table(page, indent, [[block.text].flat().map(cell)])
  const { text, style } = cell(block.text)
  const wrapped = wrap(page, text, indent + (block.isNested ? step : 0))
  return [...gap(block), ...wrapped.map(line => paint(page, style, line))]
}

function tableLines(block: Table<Words>, page: Page): Lines {
  const { rows } = block
  const [titles = '', ...body] = table(page, indentOf(block), fittingCells(block, block.columns, page))
  const lines = rows.flatMap(({ group, notes = [] }, index) => [
    ...(group === undefined || group === rows[index - 1]?.group
      ? []
      : [...(index === 0 ? [] : ['']), ...wrap(page, group, step)]),
    body[index] ?? '',
    ...notes.flatMap(({ text, lead }) => wrap(page, text, indentOf(block) + step, lead)),
  ])
  return [paint(page, 'dim', titles.trimEnd()), ...lines]
}

type Cells = readonly (readonly TableCell[])[]

/** Titles and rows, without the columns that do not fit the page. */
function fittingCells(block: Table<Words>, shown: readonly Column<Words>[], page: Page): Cells {
  const cells = [
    shown.map(column => columnCell(column, column.title)),
    ...block.rows.map(row => shown.map(column => columnCell(column, row.cells[block.columns.indexOf(column)] ?? ''))),
  ]
  const last = Math.max(0, ...shown.map(({ priority = 0 }) => priority))
  if (tableWidth(indentOf(block), cells) <= page.columns || last === 0) return cells
  return fittingCells(
    block,
    shown.filter(({ priority }) => priority !== last),
    page,
  )
}

function columnCell({ align, maxWidth }: Column<Words>, words: Words): TableCell {
  const { text, ...style } = cell(words)
  const fitted = maxWidth === undefined ? text : clip(text, maxWidth)
  return { text: fitted, ...style, ...(align === undefined ? {} : { align }) }
}

const indentOf = ({ isNested }: Table<Words>): number => (isNested ? 2 * step : step)

/** Lines of evidence are cut to the width of the page; commands are not. */
function findingLines({ number, name, where, tally, text, causes, others }: FindingBlock, page: Page): Lines {
  return [
    ...table(page, step, [[{ text: `${number}.` }, { text: name, style: 'red' }, { text: where }, { text: tally }]]),
    ...(text === null ? [] : wrap(page, text, 2 * step, 'documented  ')),
    ...causes.flatMap(cause => causeLines(cause, page)),
    ...(others === null ? [] : wrap(page, others, 2 * step)),
  ]
}

function causeLines({ seen, tally, requests, evidence, rest }: Cause, page: Page): Lines {
  const dim = (line: string) => `    ${paint(page, 'dim', clip(line, page.columns - 2 * step))}`
  const facts = [tally, evidence.length === 0 && requests !== '' ? requests : null].filter(each => each !== null)
  return [
    ...wrap(page, facts.length === 0 ? seen : `${seen} (${facts.join(', ')})`, 2 * step, 'observed    '),
    ...evidence.flatMap(({ lines, curl }) => [
      ...lines.map(dim),
      ...(curl === null ? [] : [`    $ ${curl.length > maxCommand ? commandElsewhere : oneLine(curl)}`]),
    ]),
    ...(rest === null ? [] : [dim(rest)]),
  ]
}

const commandElsewhere = '(see findings.ndjson for the command)'

const styles: Readonly<Record<Tone, Style>> = {
  good: 'green',
  bad: 'red',
  doubtful: 'yellow',
  quiet: 'dim',
  strong: 'bold',
}

/** A cell has one style, which its outermost words have. */
function cell(words: Words): TableCell {
  const tone = typeof words === 'object' && 'words' in words ? words.tone : undefined
  return { text: plainWords(words), ...(tone === undefined ? {} : { style: styles[tone] }) }
}
