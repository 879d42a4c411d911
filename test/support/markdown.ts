/** The testable parts of a Markdown document. Supports only the Markdown that this project uses. */
export type Heading = { readonly text: string; readonly anchor: string }
export type Link = { readonly text: string; readonly target: string }

/** The document with empty fenced blocks, so that code is not read as text. Line numbers stay. */
export const withoutBlocks = (markdown: string): string =>
  markdown.replace(/^```[\s\S]*?^```/gm, block => block.replace(/[^\n]/g, ''))

/** The contents of the fenced blocks, of one language or of all. */
export function blocksOf(markdown: string, language?: string): readonly string[] {
  return [...markdown.matchAll(/^```(\S*)\n([\s\S]*?)^```/gm)]
    .filter(([, written]) => language === undefined || written === language)
    .map(([, , text = '']) => text)
}

/** The inline code of the text. */
export const spansOf = (markdown: string): readonly string[] =>
  [...withoutBlocks(markdown).matchAll(/`([^`\n]+)`/g)].map(([, text = '']) => text)

export const headingsOf = (markdown: string): readonly Heading[] =>
  [...withoutBlocks(markdown).matchAll(/^#{1,6} +(.+)$/gm)].map(([, text = '']) => ({ text, anchor: anchorOf(text) }))

/** As GitHub creates them: lower case, without punctuation, a hyphen for each space. */
const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\- _]/gu, '')
    .replaceAll(' ', '-')

/** Links of the form `[text](target)`, outside of code. */
export const linksOf = (markdown: string): readonly Link[] =>
  [
    ...withoutBlocks(markdown)
      .replace(/`[^`\n]*`/g, '``')
      .matchAll(/\[([^\]]*)\]\(([^)\s]+)\)/g),
  ].map(([, text = '', target = '']) => ({ text, target }))

export type Row = Readonly<Record<string, string>>

/** The rows of the tables below a heading, each cell by the title of its column. */
export function tableUnder(markdown: string, heading: string): readonly Row[] {
  const start = markdown.split('\n').findIndex(line => /^#+ /.test(line) && line.replace(/^#+ +/, '') === heading)
  if (start < 0) throw new Error(`no heading "${heading}"`)
  const section = withoutBlocks(markdown)
    .split('\n')
    .slice(start + 1)
  const end = section.findIndex(line => /^#+ /.test(line))
  const tables =
    section
      .slice(0, end < 0 ? undefined : end)
      .join('\n')
      .match(/(?:^\|.*\n?)+/gm) ?? []
  return tables.flatMap(rowsOf)
}

function rowsOf(table: string): readonly Row[] {
  const [titles = [], , ...rows] = table.trim().split('\n').map(cellsOf)
  return rows.map(cells => Object.fromEntries(titles.map((title, column) => [title, cells[column] ?? ''])))
}

/** A pipe inside a cell is escaped by a backslash. */
const cellsOf = (line: string): readonly string[] =>
  line
    .split(/(?<!\\)\|/)
    .slice(1, -1)
    .map(cell => cell.trim().replaceAll('\\|', '|'))

/** A cell without backticks. */
export const plain = (cell: string): string => cell.replaceAll('`', '')
