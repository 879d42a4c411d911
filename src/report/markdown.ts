import type { Status } from '../thresholds.ts'

/** Before what has this status. */
export const signs: Readonly<Record<Status, string>> = { pass: '✅', fail: '❌', inconclusive: '⚠️' }

/** What has a meaning in Markdown, or in the HTML that it may hold. */
const marks = /[\\`*_[\]<>&|~#!]/g

/**
 * Words from outside as one line of plain text: no markup, no link, no mention. `https:` and `www.` lose the sign by
 * which GitHub knows them, and behind an @ stands a blank of no width.
 */
export const plainText = (text: string): string =>
  text
    .replace(unfit, ' ')
    .replace(marks, mark => (mark === '<' ? '&lt;' : mark === '>' ? '&gt;' : mark === '&' ? '&amp;' : `\\${mark}`))
    .replace(/:(?=\/\/)/g, '\\:')
    .replace(/www\./gi, word => `${word.slice(0, 3)}\\.`)
    .replaceAll('@', '@\u200B')

/** As it is, in one line. */
export function code(text: string): string {
  const line = text.replace(unfit, ' ').replaceAll('|', '\u00A6')
  const fence = '`'.repeat(longestRun(line) + 1)
  return line.includes('`') ? `${fence} ${line} ${fence}` : `${fence}${line}${fence}`
}

/** As it is, on lines of its own. No text can end the block, for its fence is longer than any run of it. */
export function codeBlock(lines: readonly string[], language: string): readonly string[] {
  const safe = lines.map(line => line.replace(unfit, ' '))
  const fence = '`'.repeat(Math.max(3, longestRun(safe.join('\n')) + 1))
  return [`${fence}${language}`, ...safe, fence]
}

/** `cells` are Markdown already. */
export function markdownTable(
  titles: readonly string[],
  aligned: readonly ('left' | 'right')[],
  rows: readonly (readonly string[])[],
): readonly string[] {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`
  return [line(titles), line(aligned.map(side => (side === 'right' ? '--:' : ':--'))), ...rows.map(line)]
}

/** Unfolded by a click. The blank lines make what is inside Markdown again. */
export const details = (summary: string, lines: readonly string[]): readonly string[] => [
  '<details>',
  `<summary>${summary}</summary>`,
  '',
  ...lines,
  '',
  '</details>',
]

const unfit = /[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029]+/gu

const longestRun = (text: string): number => Math.max(0, ...(text.match(/`+/g) ?? []).map(run => run.length))
