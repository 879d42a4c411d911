import type { Comparison } from '../../compare/comparison.ts'
import type { Page } from '../../lib/text-layout.ts'
import { renderComparisonHtml } from './comparison-html.ts'
import { renderComparisonMarkdown } from './comparison-markdown.ts'
import { renderComparisonText } from './comparison-text.ts'

/** What `turnpike compare --format` knows, and the file of each in the directory that `--out` names. */
export const comparisonRenderers = {
  text: { file: 'comparison.txt', render: renderComparisonText },
  json: { file: 'comparison.json', render: comparison => `${JSON.stringify(comparison, null, 2)}\n` },
  html: { file: 'comparison.html', render: renderComparisonHtml },
  markdown: { file: 'comparison.md', render: renderComparisonMarkdown },
} as const satisfies Readonly<
  Record<string, { readonly file: string; readonly render: (comparison: Comparison, page: Page) => string }>
>

export type ComparisonFormat = keyof typeof comparisonRenderers
