import { createHash } from 'node:crypto'
import {
  type Block,
  blocksIn,
  type Cause,
  type FindingBlock,
  type Heading,
  type List,
  plainWords,
  type Table,
  type Text,
  type Words,
} from '../blocks.ts'
import { drawChart } from './charts.ts'
import { css } from './html-style.ts'
import { type Html, html, nothing, styleSheet } from './markup.ts'

/** The rest is folded. */
const maxReasons = 8
/** The first findings are open. */
const maxOpen = 3
/** Longer commands are only in the run directory. */
const maxCommand = 6_000

/** A text that a page allows by its digest. */
export const digestSource = (text: string): string => `'sha256-${createHash('sha256').update(text).digest('base64')}'`

/** The style sheet of all pages, as a source of a policy. */
export const styleSource = digestSource(css)

/** No network, no script; the digest allows the one style sheet. */
const policy = [
  "default-src 'none'",
  `style-src ${styleSource}`,
  'img-src data:',
  "base-uri 'none'",
  "form-action 'none'",
].join('; ')

/** One file that opens offline and without scripts. */
export function renderHtmlPage(blocks: readonly Block[]): string {
  const sections = sectionsOf(blocksIn('html', blocks))
  const [title] = sections.flatMap(({ heading }) => heading ?? [])
  const name = [title?.verdict?.words ?? '', title?.text ?? ''].map(plainWords).join(': ')
  const page = html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="referrer" content="no-referrer">
<link rel="icon" href="data:,"><title>${name}</title>
${styleSheet(css)}</head><body><main>
${sections.map(section)}</main></body></html>
`
  return page.markup
}

/** A part of a page. The first has the title of the page, and `tiles` the main numbers. */
export type PageSection = { readonly id: string; readonly markup: string }

/** The sections of a page, one by one, for a page that replaces them as they change. */
export const renderHtmlSections = (blocks: readonly Block[]): readonly PageSection[] =>
  sectionsOf(blocksIn('html', blocks)).map(each => ({
    id: each.heading === null ? 'tiles' : (each.heading.id ?? 'head'),
    markup: section(each).markup,
  }))

type ShownBlock = Block<Words>
type Section = { readonly heading: Heading<Words> | null; readonly body: ShownBlock[] }

/** A section starts with its heading. Tiles are between sections. */
function sectionsOf(blocks: readonly ShownBlock[]): readonly Section[] {
  const sections: Section[] = []
  for (const block of blocks) {
    if (block.kind === 'heading') sections.push({ heading: block, body: [] })
    else if (block.kind === 'chart' && block.chart.draw === 'tiles') sections.push({ heading: null, body: [block] })
    else sections.at(-1)?.body.push(block)
  }
  return sections
}

function section({ heading, body }: Section): Html {
  if (heading === null) return bodyOf(body)
  const { id, text, verdict } = heading
  if (id !== undefined) return html`<section id="${id}"><h2>${inline(text)}</h2>\n${bodyOf(body)}</section>\n`
  return html`<header class="${verdict?.status ?? ''}"><span class="verdict">${inline(verdict?.words ?? '')}</span><h1>${inline(text)}</h1>\n${bodyOf(body)}</header>\n`
}

/** Adjacent charts share a grid. */
function bodyOf(blocks: readonly ShownBlock[]): Html {
  const findings = blocks.filter(block => block.kind === 'finding')
  const parts: Html[] = []
  let charts: Html[] = []
  const closeGrid = () => {
    if (charts.length > 0) parts.push(html`<div class="charts">${charts}</div>\n`)
    charts = []
  }
  for (const block of blocks) {
    if (block.kind === 'chart' && (block.chart.draw === 'time' || block.chart.draw === 'rate')) {
      charts.push(drawChart(block.chart, inline))
    } else {
      closeGrid()
      parts.push(block.kind === 'finding' ? finding(block, findings.indexOf(block) < maxOpen) : markupOf(block))
    }
  }
  closeGrid()
  return html`${parts}`
}

function markupOf(block: Exclude<ShownBlock, FindingBlock>): Html {
  switch (block.kind) {
    case 'heading':
      return html`<h3>${inline(block.text)}</h3>`
    case 'text':
      return html`<p class="${block.look === 'small' ? 'small quiet' : (block.look ?? '')}">${textOf(block)}</p>\n`
    case 'code':
      return html`<pre tabindex="0">${block.lines.join('\n')}</pre>\n`
    case 'list':
      return list(block)
    case 'table':
      return table(block)
    case 'details':
      return html`<details class="aside"><summary>${block.summary}</summary>${bodyOf(block.blocks)}</details>\n`
    case 'chart':
      return drawChart(block.chart, inline)
  }
}

function textOf({ look, text }: Text<Words>): Html {
  return look === 'headline' ? html`${[text].flat().map(part => html`${inline(part)} `)}` : inline(text)
}

function list({ items, look, terms = [] }: List<Words>): Html {
  if (look === 'terms')
    return html`<dl class="pairs small">${items.map((item, index) => html`<dt>${terms[index] ?? ''}</dt><dd>${inline(item)}</dd>`)}</dl>\n`
  if (look !== 'reasons') return bullets(items, 'counts quiet small')
  const rest = items.slice(maxReasons)
  const folded = html`<details><summary>${rest.length} more</summary>${bullets(rest, 'because')}</details>\n`
  return html`${bullets(items.slice(0, maxReasons), 'because')}${rest.length === 0 ? nothing : folded}`
}

const bullets = (items: readonly Words[], look: string): Html =>
  html`<ul class="${look}">${items.map(item => html`<li>${inline(item)}</li>`)}</ul>\n`

function table({ columns, rows, folds }: Table<Words>): Html {
  const classes = columns.map(({ align, wraps }) => (align === 'right' ? 'n' : wraps ? 'words' : 'keep'))
  const titles = columns.map(
    ({ title, align }) => html`<th class="${align === 'right' ? 'n' : ''}">${inline(title)}</th>`,
  )
  const lines = rows.map(({ cells }) => {
    const line = cells.map((words, index) => {
      const { title = '', align } = columns[index] ?? {}
      // On a phone the title precedes the value.
      const label = folds && align === 'right' ? html` data-is="${plainWords(title)}"` : nothing
      return html`<td class="${classes[index] ?? ''}"${label}>${inline(words)}</td>`
    })
    return html`<tr>${line}</tr>\n`
  })
  return html`<div class="wide" tabindex="0"><table class="${folds ? 'cards' : ''}"><thead><tr>${titles}</tr></thead><tbody>
${lines}</tbody></table></div>\n`
}

function finding({ number, name, where, tally, text, causes, others }: FindingBlock, isOpen: boolean): Html {
  return html`<article class="finding"><h3>${number}. <code>${name}</code></h3>
<p class="quiet small">${where}: ${tally}</p>
${text === null ? nothing : html`<dl><dt>documented</dt><dd>${text}</dd></dl>`}
${causes.map((each, index) => cause(each, isOpen && index === 0))}
${others === null ? nothing : html`<p class="quiet small">${others}</p>`}</article>\n`
}

function cause({ seen, tally, requests, evidence, rest }: Cause, isOpen: boolean): Html {
  const observed = html`<dl><dt>observed</dt><dd>${seen}${tally === null ? nothing : html` <span class="quiet">(${tally})</span>`}</dd></dl>`
  if (evidence.length === 0) return observed
  const shown = evidence.map(({ lines, curl }) => {
    const command = (curl?.length ?? 0) > maxCommand ? 'See findings.ndjson for the command.' : curl
    const again = html`<details class="aside"><summary>Command to send it again</summary><pre class="command" tabindex="0">${command}</pre></details>`
    return html`<pre tabindex="0">${lines.join('\n')}</pre>${curl === null ? nothing : again}`
  })
  const more = rest === null ? nothing : html`<p class="quiet small">${rest}</p>`
  return html`${observed}<details${isOpen ? html` open` : nothing}><summary>Evidence: ${requests}</summary>${shown}${more}</details>`
}

function inline(words: Words): Html {
  if (typeof words === 'string') return html`${words}`
  if (!('words' in words)) return html`${words.map(inline)}`
  const { words: inner, tone, isCode } = words
  if (isCode) return html`<code>${inline(inner)}</code>`
  if (tone === undefined) return inline(inner)
  return tone === 'strong' ? html`<b>${inline(inner)}</b>` : html`<span class="${tone}">${inline(inner)}</span>`
}
