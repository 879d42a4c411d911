import { duration } from '../metrics/quantity.ts'
import { clip, type Page, paint } from './layout.ts'
import { relevantHeaders } from './relevant-headers.ts'
import type { Evidence } from './report.ts'

/** One request and what came back, as far as `about` makes it matter. */
export function evidenceText(evidence: Evidence, about: string, page: Page): readonly string[] {
  const { seq, caller, call, stage, request, outcome, headers, body, sentMs, endMs } = evidence
  const took = sentMs === null || endMs === null ? '' : ` after ${duration(endMs - sentMs)}`
  const when = sentMs === null ? 'never sent' : `sent at ${duration(sentMs)}`
  const lines = [
    `request ${seq} of ${caller}, call ${call}, stage ${stage}, ${when}`,
    ...(request === null ? [] : [`> ${request.method} ${request.path}`]),
    ...(request?.body ? [`> ${request.body}`] : []),
    `< ${outcome}${took}`,
    ...relevantHeaders(headers, about).map(([name, value]) => `< ${name}: ${value}`),
    ...(body === '' ? [] : [`< ${body}`]),
  ]
  return lines.map(line => `    ${paint(page, 'dim', clip(line, page.columns - 4))}`)
}
