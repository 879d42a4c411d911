import { formatDuration, plural } from '../../lib/format.ts'
import { isSystemStage } from '../../plan/plan.ts'

import type { Block, FindingBlock } from '../blocks.ts'
import type { Evidence, Report, ReportedDiscrepancy, ReportedExample, ReportedFinding } from '../document.ts'

export function findingsSection({ findings, billing: { discrepancies } }: Report): readonly Block[] {
  const shown = [...findings.map(findingBlock), ...discrepancies.map(discrepancyBlock)]
  return shown.length === 0 ? [] : [{ kind: 'heading', id: 'findings', text: 'Findings' }, ...shown]
}

function findingBlock(finding: ReportedFinding): FindingBlock {
  const { clause, section, text, judge, count, message, examples } = finding
  return {
    kind: 'finding',
    name: clause,
    where: `§${section}`,
    tally: `${plural(count, 'violation')}, judged by ${judge}`,
    text,
    seen: message,
    ...proof(examples[0], `${clause} ${message}`),
  }
}

function discrepancyBlock({ kind, count, amountUsd, examples }: ReportedDiscrepancy): FindingBlock {
  return {
    kind: 'finding',
    name: kind,
    where: 'in the ledger',
    tally: `${plural(count, 'discrepancy', 'discrepancies')}, $${amountUsd} in total`,
    text: null,
    seen: examples[0]?.message ?? null,
    ...proof(examples[0], `${kind} credits cost`),
  }
}

const proof = (example: ReportedExample | undefined, about: string): Pick<FindingBlock, 'requests' | 'evidence'> => ({
  requests: example?.requestIds ?? [],
  evidence: shownEvidence(example).map(evidence => ({
    lines: evidenceLines(evidence, about),
    curl: evidence.request?.curl ?? null,
  })),
})

const maxEvidence = 2

/**
 * The requests of an example that a report shows. Turnpike's own balance checks often come first and last in an example;
 * the violation is between them.
 */
export function shownEvidence(example: ReportedExample | undefined): readonly Evidence[] {
  const all = example?.evidence ?? []
  const ofCalls = all.filter(evidence => !isSystemStage(evidence.stage))
  return (ofCalls.length > 0 ? ofCalls : all).slice(0, maxEvidence)
}

/** A request, and the parts of its response that concern `about`. Renderers escape the target's text. */
export function evidenceLines(evidence: Evidence, about: string): readonly string[] {
  const { id, caller, call, stage, request, outcome, headers, body, sentMs, endMs } = evidence
  const took = sentMs === null || endMs === null ? '' : ` after ${formatDuration(endMs - sentMs)}`
  const when = sentMs === null ? 'never sent' : `sent at ${formatDuration(sentMs)}`
  return [
    `request ${id} of ${caller}, call ${call}, stage ${stage}, ${when}`,
    ...(request === null ? [] : [`> ${request.method} ${request.path}`]),
    ...(request?.body ? [`> ${request.body}`] : []),
    `< ${outcome}${took}`,
    ...relevantHeaders(headers, about).map(([name, value]) => `< ${name}: ${value}`),
    ...(body === '' ? [] : [`< ${body}`]),
  ]
}

const maxHeaders = 6

/** Every server sends them, and few violations are about them. */
const commonHeaders = new Set([
  'connection',
  'content-encoding',
  'content-length',
  'content-type',
  'date',
  'etag',
  'keep-alive',
  'server',
  'transfer-encoding',
  'vary',
])

/** The operator of the service finds the request in its logs by these. */
const identifyingHeaders = new Set(['cf-ray', 'x-request-id'])

/**
 * The headers that a violation is about, best match first, and those that identify the request. If the words of the
 * violation match no header, for example because one is missing: all headers that are not common.
 */
export function relevantHeaders(
  headers: Readonly<Record<string, string>>,
  about: string,
): readonly (readonly [name: string, value: string])[] {
  const words = new Set(wordsOf(about))
  const text = about.toLowerCase()
  const score = (name: string) => (text.includes(name) ? 100 : wordsOf(name).filter(word => words.has(word)).length)
  const scored = Object.entries(headers).map(([name, value]) => ({ name, value, score: score(name) }))
  const matches = scored.filter(header => header.score > 0)
  const uncommon = scored.filter(({ name }) => !commonHeaders.has(name) && !identifyingHeaders.has(name))
  const shown = matches.length > 0 ? matches : uncommon
  const identifying = scored.filter(header => identifyingHeaders.has(header.name) && !matches.includes(header))
  return [...shown.toSorted((a, b) => b.score - a.score).slice(0, maxHeaders - identifying.length), ...identifying].map(
    ({ name, value }) => [name, value],
  )
}

/** Lower case and singular, so that `credits` and `credit` match. */
const wordsOf = (text: string): readonly string[] =>
  text
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter(word => word.length > 2)
    .map(word => word.replace(/s$/, ''))
