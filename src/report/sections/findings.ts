import { formatDuration, plural } from '../../lib/format.ts'
import { isSystemStage } from '../../plan/plan.ts'
import type { Block, Cause, FindingBlock } from '../blocks.ts'
import type { Evidence, Report, ReportedDiscrepancy, ReportedExample, ReportedFinding } from '../document.ts'

/** A report numbers first its findings, then its discrepancies, from 1. */
export function findingsSection(report: Report): readonly Block[] {
  const blocks = findingBlocks(report)
  if (blocks.length === 0) return []
  return [
    { kind: 'heading', id: 'findings', text: 'Findings' },
    ...blocks,
    { kind: 'text', look: 'small', text: howToRepeat },
  ]
}

const howToRepeat =
  'turnpike findings <run-dir> <number> shows all requests of a finding. With --repro it writes a script that sends them again.'

/** One block for each, with the requests that `choice` selects. */
export function findingBlocks(
  { findings, billing: { discrepancies } }: Report,
  choice: EvidenceChoice = firstEvidence,
): readonly FindingBlock[] {
  const blocks = [
    ...findings.map(finding => findingBlock(finding, choice)),
    ...discrepancies.map(discrepancy => discrepancyBlock(discrepancy, choice)),
  ]
  return blocks.map((block, index): FindingBlock => ({ ...block, number: index + 1 }))
}

type UnnumberedBlock = Omit<FindingBlock, 'number'>

function findingBlock(finding: ReportedFinding, choice: EvidenceChoice): UnnumberedBlock {
  const { clause, section, text, judge, count, message, examples } = finding
  return {
    kind: 'finding',
    name: clause,
    where: `§${section}`,
    tally: `${plural(count, 'violation')}, judged by ${judge}`,
    text,
    ...causesOf(examples, { count, about: `${clause} ${message}`, message }, choice),
  }
}

function discrepancyBlock(
  { kind, count, amountUsd, examples }: ReportedDiscrepancy,
  choice: EvidenceChoice,
): UnnumberedBlock {
  return {
    kind: 'finding',
    name: kind,
    where: 'in the ledger',
    tally: `${plural(count, 'discrepancy', 'discrepancies')}, $${amountUsd} in total`,
    text: null,
    ...causesOf(examples, { count, about: aboutDiscrepancy(kind), message: null }, choice),
  }
}

/** Words that match the headers of money. */
export const aboutDiscrepancy = (kind: string): string => `${kind} credits cost`

/** The requests of an example that are shown, with those that decide first. */
type EvidenceChoice = (example: ReportedExample) => readonly Evidence[]

type Violations = { readonly count: number; readonly about: string; readonly message: string | null }

/** The causes of a finding. An older report has one example for each violation, without a count: it shows the first. */
export function causesOf(
  examples: readonly ReportedExample[],
  { count, about, message }: Violations,
  choice: EvidenceChoice = firstEvidence,
): Pick<FindingBlock, 'causes' | 'others'> {
  const isOlder = examples.some(({ decidedBy }) => decidedBy.length === 0)
  const shown = isOlder ? examples.slice(0, 1) : examples
  const others = isOlder ? 0 : count - shown.reduce((sum, example) => sum + example.count, 0)
  const isSingle = shown.length === 1 && others <= 0
  const causes = shown.map((example, index): Cause => {
    const evidence = choice(example)
    return {
      seen: (index === 0 ? message : null) ?? example.message,
      tally: isSingle ? null : plural(example.count, 'time'),
      requests: requestList(example),
      evidence: evidence.map(each => ({
        lines: evidenceLines(each, about, roleOf(each, example)),
        curl: each.request?.curl ?? null,
      })),
      rest: evidence.length === 0 ? null : restOf(example, evidence),
    }
  })
  if (causes.length === 0 && message !== null)
    return { causes: [{ seen: message, tally: null, requests: '', evidence: [], rest: null }], others: null }
  return { causes, others: others > 0 && !isSingle ? `and ${plural(others, 'violation')} with other causes` : null }
}

const maxListed = 6

/** `requests 18, 17`: first those that decide. */
function requestList({ requestIds, decidedBy, omitted }: ReportedExample): string {
  const ids = [...decidedBy, ...requestIds.filter(id => !decidedBy.includes(id))]
  const more = ids.length + omitted - maxListed
  const list = ids.slice(0, maxListed).join(', ')
  return `${ids.length === 1 ? 'request' : 'requests'} ${list}${more > 0 ? ` and ${more} more` : ''}`
}

const roleOf = ({ id }: Evidence, { requestIds, decidedBy }: ReportedExample): string => {
  if (requestIds.length < 2 || decidedBy.length === 0) return ''
  return decidedBy.includes(id) ? ' decides' : ' led to it'
}

/** The requests of an example without evidence; null: none. */
function restOf(example: ReportedExample, shown: readonly Evidence[]): string | null {
  const { requestIds, decidedBy, omitted, evidence } = example
  const hidden = requestIds.filter(id => !shown.some(each => each.id === id))
  const total = hidden.length + omitted
  if (total === 0) return null
  const known = evidence.filter(({ id }) => hidden.includes(id))
  const callers = new Set([...shown, ...known].map(({ caller }) => caller))
  const isComplete = known.length === total
  const haveFailed = isComplete && known.every(({ outcome }) => !/^answered [123]/.test(outcome))
  const noun = plural(total, haveFailed ? 'failure' : 'request')
  const when = hidden.some(id => decidedBy.includes(id)) ? 'more' : 'earlier'
  const [amount = '', name = ''] = noun.split(' ')
  const whose = isComplete && callers.size === 1 ? ' of the same caller' : ''
  const outcomes = new Map<string, number>()
  for (const { outcome } of known) outcomes.set(shortOutcome(outcome), (outcomes.get(shortOutcome(outcome)) ?? 0) + 1)
  const tally = isComplete ? `: ${[...outcomes].map(([outcome, times]) => `${outcome} × ${times}`).join(', ')}` : ''
  return `and ${amount} ${when} ${name}${whose}${tally}`
}

/** `answered 404` is `404`, and `failed: tls (…)` is `tls`. */
const shortOutcome = (outcome: string): string =>
  outcome.replace(/^(answered |failed: |dropped: )/, '').split(' ')[0] ?? ''

/** All requests of an example. */
export const allEvidence: EvidenceChoice = ({ evidence }) => evidence

const maxEvidence = 2

/**
 * The requests of an example that a report shows: one that decides, and the latest that led to it. Turnpike's own
 * balance checks often come first and last in an example; what led to the violation is between them.
 */
export function firstEvidence({ evidence, decidedBy }: ReportedExample): readonly Evidence[] {
  const ofCalls = (each: readonly Evidence[]) => {
    const calls = each.filter(({ stage }) => !isSystemStage(stage))
    return calls.length > 0 ? calls : each
  }
  if (decidedBy.length === 0) return ofCalls(evidence).slice(0, maxEvidence)
  const deciding = evidence.filter(({ id }) => decidedBy.includes(id))
  const ledTo = ofCalls(evidence.filter(({ id }) => !decidedBy.includes(id)))
  return ledTo.length === 0
    ? deciding.slice(0, maxEvidence)
    : [...deciding.slice(0, maxEvidence - 1), ...ledTo.slice(-1)]
}

/** A request, and the parts of its response that concern `about`. Renderers escape the target's text. */
function evidenceLines(evidence: Evidence, about: string, role = ''): readonly string[] {
  const { id, caller, call, stage, request, outcome, headers, body, sentMs, endMs, sentAt, traceId } = evidence
  const took = sentMs === null || endMs === null ? '' : ` after ${formatDuration(endMs - sentMs)}`
  const clock = sentAt === null ? '' : ` (${sentAt})`
  const when = sentMs === null ? 'never sent' : `sent at ${formatDuration(sentMs)}${clock}`
  return [
    `request ${id} of ${caller}${role}${role === '' ? ',' : ':'} ${when}, call ${call}, stage ${stage}`,
    ...(traceId === null ? [] : [`trace ${traceId}`]),
    ...(request === null ? [] : [`> ${request.method} ${request.path}`]),
    ...(request?.body ? [`> ${request.body}`] : []),
    `< ${outcome}${took}`,
    ...relevantHeaders(headers, about).map(([name, value]) => `< ${name}: ${value}`),
    ...(body === '' ? [] : [`< ${body}`]),
  ]
}

const maxHeaders = 7

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
const identifyingHeaders = new Set(['cf-ray', 'date', 'x-request-id'])

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
