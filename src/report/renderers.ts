import type { Report } from './document.ts'
import { renderHtml } from './html/render-html.ts'
import { renderJson } from './render-json.ts'
import { renderJunit } from './render-junit.ts'
import { renderMarkdown } from './render-markdown.ts'
import { renderText, type TextOptions } from './text/render-text.ts'

export type Renderer = (report: Report, options: TextOptions) => string

/** What `turnpike report --format` knows. A new format is one file and one line. */
export const renderers = {
  text: renderText,
  json: renderJson,
  html: renderHtml,
  junit: renderJunit,
  markdown: renderMarkdown,
} as const satisfies Readonly<Record<string, Renderer>>

export type Format = keyof typeof renderers
