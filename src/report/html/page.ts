import { createHash } from 'node:crypto'
import { type Html, html, styleSheet } from './html.ts'
import { css } from './style.ts'

/** Nothing is loaded and nothing runs: the one style sheet is known by its digest. */
const policy = [
  "default-src 'none'",
  `style-src 'sha256-${createHash('sha256').update(css).digest('base64')}'`,
  'img-src data:',
  "base-uri 'none'",
  "form-action 'none'",
].join('; ')

/** `2026-11-21 20:04:13 UTC`, of an instant as reports have it. */
export const wallTime = (iso: string): string => iso.replace('T', ' ').replace(/\.\d+Z$/, ' UTC')

/** One file that opens anywhere, without a network and without a script. */
export function renderPage(title: string, main: Html): string {
  const page = html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="referrer" content="no-referrer">
<link rel="icon" href="data:,"><title>${title}</title>
${styleSheet(css)}</head><body><main>
${main}
</main></body></html>
`
  return page.markup
}
