import { isOwnStage } from '../metrics/active-time.ts'
import { duration } from '../metrics/quantity.ts'
import { clip, oneLine, type Page, paint } from './layout.ts'
import { relevantHeaders } from './relevant-headers.ts'
import type { Evidence, ReportedExample } from './report.ts'

const maxShown = 2
/** A longer command is in the run directory, where it can be copied without its end missing. */
const longestCommand = 1_500

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
  const shown = lines.map(line => `    ${paint(page, 'dim', clip(line, page.columns - 4))}`)
  return [...shown, ...commandText(request?.curl ?? null)]
}

/** Not clipped to the page: it is there to be pasted. */
function commandText(curl: string | null): readonly string[] {
  if (curl === null) return []
  if (curl.length > longestCommand) return ['    $ (the command is in findings.ndjson)']
  return [`    $ ${oneLine(curl)}`]
}
