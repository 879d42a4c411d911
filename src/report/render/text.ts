import {
  type Block,
  contentIn,
  type FindingBlock,
  type Heading,
  isIn,
  plainWords,
  statusTones,
  type Table,
  type Text,
  type Tone,
  tableIn,
  type Words,
} from '../blocks.ts'
import {
  clip,
  heading,
  oneLine,
  type Page,
  paint,
  type Style,
  type TableCell,
  table,
  tableWidth,
  wrap,
} from '../text/layout.ts'

type Lines = readonly string[]

/** What stands below the heading of a section is indented by as much. */
const step = 2

/** A longer command is in the run directory, where it can be copied as a whole. */
const maxCommand = 1_500

/** For a terminal. No line is wider than the page, but for commands that are to be pasted. */
export function renderTextPage(blocks: readonly Block[], page: Page): string {
  let indent = 0
  const lines = blocks
    .filter(block => isIn('text', block))
    .flatMap(block => {
      if (block.kind === 'heading' && block.id !== undefined && contentIn('text', block.text) !== null) indent = step
      return blockLines(block, page, indent)
    })
  return `${lines.map(line => line.trimEnd()).join('\n')}\n`
}

function blockLines(block: Block, page: Page, indent: number): Lines {
  switch (block.kind) {
    case 'heading':
      return headingLines(block, page)
    case 'text':
      return textLines(block, page, indent)
    case 'list': {
      const items = block.items.map(item => contentIn('text', item)).filter(item => item !== null)
      const [at, lead] = block.look === 'reasons' ? [indent + step, '- '] : [indent, '']
      return [...gap(block), ...items.flatMap(item => wrap(page, plainWords(item), at, lead))]
    }
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

function headingLines({ text, verdict, beside }: Heading, page: Page): Lines {
  const words = contentIn('text', text)
  if (words === null) return []
  const name: TableCell = { text: plainWords(words), style: 'bold' }
  if (verdict !== undefined) {
    const status = cell({ words: contentIn('text', verdict.words) ?? '', tone: statusTones[verdict.status] })
    return table(page, 0, [[{ ...status, text: status.text.toUpperCase() }, name]])
  }
  if (beside !== undefined) return ['', ...table(page, 0, [[name, { text: beside }]])]
  return heading(page, name.text)
}

function textLines(block: Text, page: Page, indent: number): Lines {
  const words = contentIn('text', block.text)
  if (words === null) return []
  if (block.look === 'headline') return table(page, indent, [[words].flat().map(cell)])
  const { text, style } = cell(words)
  const wrapped = wrap(page, text, indent + (block.isNested ? step : 0))
  return [...gap(block), ...wrapped.map(line => paint(page, style, line))]
}

function tableLines(block: Table, page: Page): Lines {
  const { columns, rows } = fitting(block, page)
  if (rows.length === 0) return []
  const [titles = '', ...body] = table(page, indentOf(block), cellsOf(columns, rows))
  const lines = rows.flatMap(({ group, notes = [] }, index) => [
    ...(group === undefined || group === rows[index - 1]?.group ? [] : ['', ...wrap(page, group, step)]),
    body[index] ?? '',
    ...notes.flatMap(({ text, lead }) => wrap(page, text, indentOf(block) + step, lead)),
  ])
  return block.isBare ? lines : [paint(page, 'dim', titles.trimEnd()), ...lines]
}

type ShownTable = ReturnType<typeof tableIn>

/** The table without the columns that do not fit the page. */
function fitting(block: Table, page: Page): ShownTable {
  const shown = tableIn('text', block)
  const width = tableWidth(indentOf(block), cellsOf(shown.columns, shown.rows))
  const lowest = Math.max(0, ...shown.columns.map(({ priority = 0 }) => priority))
  if (width <= page.columns || lowest === 0) return shown
  const columns = block.columns.map(column => (column.priority === lowest ? { ...column, title: {} } : column))
  return fitting({ ...block, columns }, page)
}

const cellsOf = (columns: ShownTable['columns'], rows: ShownTable['rows']): readonly (readonly TableCell[])[] =>
  [columns.map(({ title }) => title), ...rows.map(({ cells }) => cells)].map(cells =>
    cells.map((words, index) => {
      const { align, maxWidth } = columns[index] ?? {}
      const { text, style } = cell(words)
      const fitted = maxWidth === undefined ? text : clip(text, maxWidth)
      return { text: fitted, ...(style === undefined ? {} : { style }), ...(align === undefined ? {} : { align }) }
    }),
  )

const indentOf = ({ isNested }: Table): number => (isNested ? 2 * step : step)

/** Without its command, each line of evidence is cut to the width of the page. */
function findingLines({ name, where, tally, says, seen, requests, evidence }: FindingBlock, page: Page): Lines {
  const place = where === '' ? [] : [{ text: where }]
  const cited = requests.length < 2 ? '' : ` (requests ${requests.join(', ')})`
  return [
    ...table(page, step, [[{ text: name, style: 'red' }, ...place, { text: tally }]]),
    ...(says === null ? [] : wrap(page, says, 2 * step, 'says ')),
    ...(seen === null ? [] : wrap(page, seen + cited, 2 * step, 'seen ')),
    ...evidence.flatMap(({ lines, curl }) => [
      ...lines.map(line => `    ${paint(page, 'dim', clip(line, page.columns - 2 * step))}`),
      ...(curl === null ? [] : [`    $ ${curl.length > maxCommand ? commandElsewhere : oneLine(curl)}`]),
    ]),
  ]
}

const commandElsewhere = '(the command is in findings.ndjson)'

const styles: Readonly<Record<Tone, Style>> = {
  good: 'green',
  bad: 'red',
  doubtful: 'yellow',
  quiet: 'dim',
  strong: 'bold',
}

/** Words in the style of all of them: a cell has one. */
function cell(words: Words): TableCell {
  const tone = typeof words === 'object' && 'words' in words ? words.tone : undefined
  return { text: plainWords(words), ...(tone === undefined ? {} : { style: styles[tone] }) }
}
