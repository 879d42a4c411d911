import { formatDuration } from '../lib/format.ts'
import { isSystemStage } from '../plan/plan.ts'
import { relevantHeaders } from './relevant-headers.ts'
import type { Evidence, ReportedExample } from './report.ts'

const maxShown = 2

/**
 * The requests of an example that are worth showing. Balance statements of the program are at the ends of many a chain
 * of reasoning; what happened is between them.
 */
export function shownEvidence(example: ReportedExample | undefined): readonly Evidence[] {
  const all = example?.evidence ?? []
  const ofCalls = all.filter(evidence => !isSystemStage(evidence.stage))
  return (ofCalls.length > 0 ? ofCalls : all).slice(0, maxShown)
}

/** A request and what came back, as far as `about` makes it matter, as the target said it: for whoever shows it to escape. */
export function evidenceLines(evidence: Evidence, about: string): readonly string[] {
  const { seq, caller, call, stage, request, outcome, headers, body, sentMs, endMs } = evidence
  const took = sentMs === null || endMs === null ? '' : ` after ${formatDuration(endMs - sentMs)}`
  const when = sentMs === null ? 'never sent' : `sent at ${formatDuration(sentMs)}`
  return [
    `request ${seq} of ${caller}, call ${call}, stage ${stage}, ${when}`,
    ...(request === null ? [] : [`> ${request.method} ${request.path}`]),
    ...(request?.body ? [`> ${request.body}`] : []),
    `< ${outcome}${took}`,
    ...relevantHeaders(headers, about).map(([name, value]) => `< ${name}: ${value}`),
    ...(body === '' ? [] : [`< ${body}`]),
  ]
}

/** `requests 17, 18`. */
export const requestList = (seqs: readonly number[]): string =>
  `${seqs.length === 1 ? 'request' : 'requests'} ${seqs.join(', ')}`
