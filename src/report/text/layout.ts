import { styleText } from 'node:util'
import type { Status } from '../../thresholds.ts'

export type Style = 'bold' | 'dim' | 'red' | 'green' | 'yellow'

/** Where text is laid out: how wide it may be, and whether a style is seen. */
export type Page = { readonly columns: number; readonly colour: boolean }

export type TableCell = { readonly text: string; readonly style?: Style; readonly align?: 'right' }

/** The page decides about colour, not the stream that the text may end up in. */
export const paint = (page: Page, style: Style | undefined, text: string): string =>
  page.colour && style !== undefined ? styleText(style, text, { validateStream: false }) : text

/** One line of what came from outside: it must not move the cursor, colour the terminal or reverse the text. */
export const oneLine = (text: string): string => text.replace(/[\p{Cc}\p{Cf}\u2028\u2029]+/gu, ' ')

export function clip(text: string, columns: number): string {
  const characters = [...oneLine(text)]
  return characters.length <= columns
    ? characters.join('')
    : `${characters.slice(0, Math.max(0, columns - 1)).join('')}…`
}

/** Words on as many lines as it takes, each behind `indent` blanks, the first behind `lead`. */
export function wrap(page: Page, text: string, indent: number, lead = ''): readonly string[] {
  const width = Math.max(20, page.columns - indent)
  const lines: string[] = []
  let line = lead
  for (const word of oneLine(text).split(' ').filter(Boolean)) {
    const joined = line === '' || line === lead ? line + word : `${line} ${word}`
    if (joined.length > width && line !== '' && line !== lead) {
      lines.push(line)
      line = ' '.repeat(lead.length) + word
    } else line = joined
  }
  return [...lines, line].map(wrapped => ' '.repeat(indent) + clip(wrapped, width))
}

/** One line a row; a column is as wide as its widest cell, and what does not fit the page is clipped. */
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
      // Blanks stay outside of the style, so that those at the end of a line can be cut off.
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

export const right = (text: string): TableCell => ({ text, align: 'right' })

export const verdictStyles: Readonly<Record<Status, Style>> = { pass: 'green', fail: 'red', inconclusive: 'yellow' }
