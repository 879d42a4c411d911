import { oneLine } from '../../lib/visible.ts'
import {
  type Block,
  blocksIn,
  type Cause,
  type FindingBlock,
  type Heading,
  type List,
  type Table,
  type Text,
  type Words,
} from '../blocks.ts'
import type { Verdict } from '../document.ts'

type Lines = readonly string[]

/** GitHub refuses a larger summary of a step: 1 MiB. */
export const maxMarkdownBytes = 1024 * 1024
/** Of one section, to leave room for the others. */
const maxSectionBytes = 700_000
/** Longer commands are only in the run directory. */
const maxCommand = 4_000
/** Of one table or list. */
const maxRows = 300

const signs: Readonly<Record<Verdict, string>> = { pass: '✅', fail: '❌', inconclusive: '⚠️' }

/** For the summary of a CI step, and for pasting. Sections beyond `longestMarkdownBytes` are left out. */
export function renderMarkdownPage(blocks: readonly Block[]): string {
  const sections: Block<Words>[][] = []
  for (const block of blocksIn('markdown', blocks)) {
    if (block.kind === 'heading' || sections.length === 0) sections.push([block])
    else sections.at(-1)?.push(block)
  }
  const parts = sections.map(section => fitting(section.map(blockLines), maxSectionBytes, 'findings'))
  return text(fitting(parts, maxMarkdownBytes - 1_000, 'sections'))
}

const text = (lines: Lines): string => `${lines.join('\n')}\n`

/** The parts, separated by empty lines. Parts that do not fit are left out, and the last line states their number. */
function fitting(parts: readonly Lines[], maxBytes: number, noun: string): Lines {
  const kept: string[] = []
  let left = maxBytes
  let lost = 0
  for (const part of parts.filter(lines => lines.length > 0)) {
    const bytes = Buffer.byteLength(text(part)) + 1
    if (bytes > left) lost++
    else {
      left -= bytes
      kept.push(...(kept.length === 0 ? [] : ['']), ...part)
    }
  }
  return lost === 0 ? kept : [...kept, '', `_${lost} more ${noun}: see report.html or report.json._`]
}

function blockLines(block: Block<Words>): Lines {
  switch (block.kind) {
    case 'heading':
      return headingLines(block)
    case 'text':
      return [textLine(block)]
    case 'code':
      return codeBlock(block.lines, block.language)
    case 'list':
      return listLines(block)
    case 'table':
      return tableLines(block)
    case 'finding':
      return findingLines(block)
    case 'details':
      return details(block.summary, fitting(block.blocks.map(blockLines), maxSectionBytes, 'parts'))
    case 'chart':
      return []
  }
}

function headingLines({ text: title, verdict }: Heading<Words>): Lines {
  if (verdict === undefined) return [`### ${inline(title)}`]
  return [`## ${signs[verdict.status]} ${inline(verdict.words)}: ${inline(title)}`]
}

function textLine({ look, text: words }: Text<Words>): string {
  if (look === 'headline') return [words].flat().map(inline).join(' ')
  return look === 'question' ? `_${inline(words)}_` : inline(words)
}

function listLines({ items, terms }: List<Words>): Lines {
  const name = (index: number) => (terms === undefined ? '' : `${terms[index]}: `)
  return [...items.slice(0, maxRows).map((item, index) => `- ${name(index)}${inline(item)}`), ...omitted(items.length)]
}

function tableLines({ columns, rows }: Table<Words>): Lines {
  const line = (cells: Lines) => `| ${cells.join(' | ')} |`
  return [
    line(columns.map(({ title }) => inline(title))),
    line(columns.map(({ align }) => (align === 'right' ? '--:' : ':--'))),
    ...rows.slice(0, maxRows).map(({ cells }) => line(cells.map(inline))),
    ...omitted(rows.length),
  ]
}

const omitted = (length: number): Lines =>
  length > maxRows ? ['', `_${length - maxRows} more: see report.json._`] : []

function findingLines({ number, name, where, tally, text, causes, others }: FindingBlock): Lines {
  return [
    `**${number}. ${code(name)}** ${where}: ${tally}`,
    '',
    ...(text === null ? [] : [`- documented: ${plainText(text)}`]),
    ...causes.flatMap(causeLines),
    ...(others === null ? [] : [plainText(others), '']),
  ]
}

function causeLines({ seen, tally, requests, evidence, rest }: Cause): Lines {
  const blocks = evidence.flatMap(({ lines, curl }) => [
    ...codeBlock(lines, 'text'),
    ...(curl === null ? [] : codeBlock([curl.length > maxCommand ? '# see findings.ndjson' : curl], 'sh')),
  ])
  return [
    `- observed: ${plainText(seen)}${tally === null ? '' : ` (${tally})`}`,
    '',
    ...(blocks.length === 0
      ? []
      : details(`Evidence: ${requests}`, [...blocks, ...(rest === null ? [] : [plainText(rest)])])),
  ]
}

/** A click unfolds it. Between the empty lines, GitHub renders Markdown. */
const details = (summary: string, lines: Lines): Lines => [
  '<details>',
  `<summary>${summary}</summary>`,
  '',
  ...lines,
  '',
  '</details>',
]

function inline(words: Words): string {
  if (typeof words === 'string') return plainText(words)
  if (!('words' in words)) return words.map(inline).join('')
  const { words: inner, tone, isCode, verdict } = words
  const shown = isCode && typeof inner === 'string' ? code(inner) : inline(inner)
  if (verdict !== undefined) return `${signs[verdict]} ${shown}`.trimEnd()
  return tone === 'strong' ? `**${shown}**` : shown
}

/** Characters with a meaning in Markdown, or in the HTML inside it. */
const marks = /[\\`*_[\]<>&|~#!]/g

/**
 * Untrusted words as one line of plain text: no markup, no link, no mention. Escapes break `https:` and `www.`, by which
 * GitHub recognizes links, and a zero-width space follows each @.
 */
const plainText = (words: string): string =>
  oneLine(words)
    .replace(marks, mark => (mark === '<' ? '&lt;' : mark === '>' ? '&gt;' : mark === '&' ? '&amp;' : `\\${mark}`))
    .replace(/:(?=\/\/)/g, '\\:')
    .replace(/www\./gi, word => `${word.slice(0, 3)}\\.`)
    .replaceAll('@', '@\u200B')

/** Verbatim, on one line. */
function code(words: string): string {
  const line = oneLine(words).replaceAll('|', '\u00A6')
  const fence = '`'.repeat(maxRunLength(line) + 1)
  return line.includes('`') ? `${fence} ${line} ${fence}` : `${fence}${line}${fence}`
}

/** Verbatim lines. No text can end the block, because the fence is longer than every run of backticks in it. */
function codeBlock(lines: Lines, language: string): Lines {
  const safe = lines.map(oneLine)
  const fence = '`'.repeat(Math.max(3, maxRunLength(safe.join('\n')) + 1))
  return [`${fence}${language}`, ...safe, fence]
}

const maxRunLength = (words: string): number => Math.max(0, ...(words.match(/`+/g) ?? []).map(run => run.length))
