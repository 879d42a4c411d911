import { styleText } from 'node:util'
import { oneLine } from './visible.ts'

export type Style = 'bold' | 'dim' | 'red' | 'green' | 'yellow'

/** How text is laid out: its width in columns, and whether styles are used. */
export type Page = { readonly columns: number; readonly color: boolean }

export type TableCell = { readonly text: string; readonly style?: Style; readonly align?: 'right' }

/** The layout decides about color, not the stream that the text is written to. */
export const paint = (page: Pick<Page, 'color'>, style: Style | undefined, text: string): string =>
  page.color && style !== undefined ? styleText(style, text, { validateStream: false }) : text

export function clip(text: string, columns: number): string {
  const characters = [...oneLine(text)]
  return characters.length <= columns
    ? characters.join('')
    : `${characters.slice(0, Math.max(0, columns - 1)).join('')}…`
}

/** Wraps words to the page, each line indented by `indent` blanks. The first line starts with `lead`. */
export function wrap(page: Page, text: string, indent: number, lead = ''): readonly string[] {
  const width = Math.max(20, page.columns - indent)
  return wrapWords(text, width, lead).map(line => ' '.repeat(indent) + clip(line, width))
}

/** Lines of at most `width` characters; a longer word gets its own line. `lead` starts the first line and indents the others. */
function wrapWords(text: string, width: number, lead = ''): readonly string[] {
  const lines: string[] = []
  let line = lead
  for (const word of oneLine(text).split(' ').filter(Boolean)) {
    const isFirst = line === '' || line === lead
    const joined = isFirst ? line + word : `${line} ${word}`
    if (joined.length > width && !isFirst) {
      lines.push(line)
      line = ' '.repeat(lead.length) + word
    } else line = joined
  }
  return [...lines, line]
}

/** One line per row. Each column has the width of its widest cell; text beyond the page width is clipped. */
export function table(page: Page, indent: number, rows: readonly (readonly TableCell[])[]): readonly string[] {
  const widths = columnWidths(rows)
  return rows.map(row => {
    let line = ' '.repeat(indent)
    let left = page.columns - indent
    row.forEach(({ text, style, align }, column) => {
      const gap = column === 0 ? '' : '  '
      const width = Math.min(widths[column] ?? 0, left - gap.length)
      if (width <= 0) return
      const fitted = clip(text, width)
      // Blanks stay outside of the style, so that trailing ones can be removed.
      const blanks = ' '.repeat(width - [...fitted].length)
      const painted = paint(page, style, fitted)
      line += gap + (align === 'right' ? blanks + painted : painted + blanks)
      left -= width + gap.length
    })
    return line
  })
}

export const tableWidth = (indent: number, rows: readonly (readonly TableCell[])[]): number =>
  columnWidths(rows).reduce((sum, width) => sum + width + 2, indent - 2)

function columnWidths(rows: readonly (readonly TableCell[])[]): readonly number[] {
  const columns = Math.max(0, ...rows.map(row => row.length))
  return Array.from({ length: columns }, (_, column) =>
    Math.max(...rows.map(row => [...oneLine(row[column]?.text ?? '')].length)),
  )
}

export const heading = (page: Page, text: string): readonly string[] => ['', paint(page, 'bold', text)]

const rightCell = (text: string): TableCell => ({ text, align: 'right' })

/** A column of sentences that is narrower is hard to read. */
const minLastColumn = 30

/**
 * A table without styles. An empty header is omitted. Columns of numbers are aligned to the right. The last column is
 * wrapped so that lines have at most `columns` characters, or below the others if they leave it too little; nothing is
 * clipped.
 */
export function plainTable(
  header: readonly string[],
  rows: readonly (readonly string[])[],
  columns = Number.POSITIVE_INFINITY,
): string {
  const all = header.length === 0 ? rows : [header, ...rows]
  const last = Math.max(0, ...all.map(row => row.length)) - 1
  const isNumeric = Array.from(
    { length: last + 1 },
    (_, column) => column > 0 && rows.every(row => /^([\d,.]+( ?m?s|%)?)?$/.test(row[column] ?? '')),
  )
  const toCell = (text: string, column: number): TableCell => (isNumeric[column] ? rightCell(text) : { text })
  const before = tableWidth(
    2,
    all.map(row => row.slice(0, last).map(toCell)),
  )
  const isTooNarrow =
    columns - before < Math.min(minLastColumn, before) && rows.some(row => before + (row[last] ?? '').length > columns)
  if (isTooNarrow)
    return all
      .flatMap(row => [
        ...wrapWords(row.slice(0, last).join(' '), columns),
        ...(row[last] ? wrapWords(row[last], columns - 4).map(line => `    ${line}`) : []),
      ])
      .join('\n')
  const lines = all.flatMap(row => {
    const blank = Array.from({ length: last }, () => '')
    const first = blank.map((_, column) => row[column] ?? '')
    return wrapWords(row[last] ?? '', columns - before).map((text, line) => [...(line === 0 ? first : blank), text])
  })
  return table(
    { columns: Number.POSITIVE_INFINITY, color: false },
    0,
    lines.map(line => line.map(toCell)),
  )
    .map(line => line.trimEnd())
    .join('\n')
}
