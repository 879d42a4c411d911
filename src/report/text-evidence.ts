import { isOwnStage } from '../metrics/active-time.ts'
import { duration } from '../metrics/quantity.ts'
import { clip, type Page, paint } from './layout.ts'
import { relevantHeaders } from './relevant-headers.ts'
import type { Evidence, ReportedExample } from './report.ts'

const maxShown = 2

/**
 * Requests and what came back, as far as `about` makes it matter. Balance statements of the program are at the ends of
 * many a chain of reasoning; what happened is between them.
 */
export function evidenceText(example: ReportedExample | undefined, about: string, page: Page): readonly string[] {
  const all = example?.evidence ?? []
  const ofCalls = all.filter(evidence => !isOwnStage(evidence.stage))
  const shown = (ofCalls.length > 0 ? ofCalls : all).slice(0, maxShown)
  return shown.flatMap(evidence => oneText(evidence, about, page))
}

function oneText(evidence: Evidence, about: string, page: Page): readonly string[] {
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
