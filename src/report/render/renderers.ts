import type { Comparison } from '../../judge/compare/comparison.ts'
import type { Page } from '../../lib/text-layout.ts'
import { oneLine, visibleJson } from '../../lib/visible.ts'
import type { Report } from '../document.ts'
import { reportPage } from '../page.ts'
import { comparisonPage } from '../sections/comparison.ts'
import { summarySection } from '../sections/summary.ts'
import { renderHtmlPage } from './html.ts'
import { renderJunit } from './junit.ts'
import { renderMarkdownPage } from './markdown.ts'
import { renderSarif } from './sarif.ts'
import { renderTextPage } from './text.ts'

type TextOptions = Page & {
  /** The run directory, which holds the rest of the evidence; null: the run wrote none. */
  readonly directory: string | null
}

type Renderer = (report: Report, options: TextOptions) => string

/** For a terminal: the verdict and its reasons first. */
export function renderText(report: Report, { directory, ...page }: TextOptions): string {
  const rest = directory === null ? '' : `\nAll files of this run: ${oneLine(directory)}\n`
  return renderTextPage(reportPage(report), page) + rest
}

export const renderHtml = (report: Report): string => renderHtmlPage(reportPage(report))

export const renderMarkdown = (report: Report): string => renderMarkdownPage(reportPage(report))

/** Only the verdict and its reasons, where space is limited. */
export const renderMarkdownHead = (report: Report): string => renderMarkdownPage(summarySection(report))

/** Members in the order of the schema, indented by two blanks, with a final newline; lists of numbers on one line. */
export const renderJson = (report: Report): string =>
  `${visibleJson(JSON.stringify(report, null, 2)).replace(plainList, list => list.replace(/\s+/g, ' '))}\n`

/** A list of numbers, nulls and decimals. JSON strings contain no line breaks, so that none can match. */
const plainList = /\[\n\s+(?:(?:-?\d[\d.e+-]*|"-?\d[\d.]*"|null),?\s+)+\]/g

/** The formats of `turnpike report --format`. A new format is one file and one line here. */
export const renderers = {
  text: renderText,
  json: renderJson,
  html: renderHtml,
  junit: renderJunit,
  markdown: renderMarkdown,
  sarif: renderSarif,
} as const satisfies Readonly<Record<string, Renderer>>

export type Format = keyof typeof renderers

/** The formats of `turnpike compare --format`, and their files in the `--out` directory. */
export const comparisonRenderers = {
  text: { file: 'comparison.txt', render: (comparison, page) => renderTextPage(comparisonPage(comparison), page) },
  json: { file: 'comparison.json', render: comparison => `${visibleJson(JSON.stringify(comparison, null, 2))}\n` },
  html: { file: 'comparison.html', render: comparison => renderHtmlPage(comparisonPage(comparison)) },
  markdown: { file: 'comparison.md', render: comparison => renderMarkdownPage(comparisonPage(comparison)) },
} as const satisfies Readonly<
  Record<string, { readonly file: string; readonly render: (comparison: Comparison, page: Page) => string }>
>

export type ComparisonFormat = keyof typeof comparisonRenderers

/** The report as `turnpike run --format` prints it: as text without colors, 100 columns wide. */
export const renderReport = (report: Report, format: Format = 'text'): string =>
  renderers[format](report, { columns: 100, color: false, directory: null })
