import { plural } from '../lib/format.ts'
import type { Report, ReportedFinding } from './document.ts'

/** A reason why a run does not pass, in one line, for tools that show such lines beside the code. */
export type Alert = {
  readonly kind: 'error' | 'warning'
  /** Stays the same from run to run: the clause, the kind of a discrepancy, or the kind of the reason. */
  readonly rule: string
  readonly title: string
  readonly message: string
}

/** None if the run passes. First why a run is inconclusive, then errors, then warnings. */
export function alertsOf({
  verdict,
  reasons,
  run,
  findings,
  billing,
  thresholds,
  comparison,
}: Report): readonly Alert[] {
  if (verdict === 'pass') return []
  const error = (rule: string, title: string, message: string): Alert => ({ kind: 'error', rule, title, message })
  const failures = [
    ...findings.map(({ clause, section, count, message, examples }) =>
      error(clause, `${clause} (§${section})`, `${plural(count, 'violation')}: ${causeText(message, examples)}`),
    ),
    ...billing.discrepancies.map(({ kind, count, amountUsd }) =>
      error(
        `discrepancy.${kind}`,
        `${run.scenario}: ${kind}`,
        `${plural(count, 'billing discrepancy', 'billing discrepancies')}, $${amountUsd}`,
      ),
    ),
    ...thresholds
      .filter(each => each.verdict === 'fail')
      .map(each => error('threshold', each.expression, each.message)),
    // The first reason has the result.
    ...(comparison?.verdict === 'regressed'
      ? comparison.reasons.slice(0, 1).map(reason => error('regression', `${run.scenario} regressed`, reason))
      : []),
  ]
  const inconclusive = thresholds
    .filter(each => each.verdict === 'inconclusive')
    .map(({ expression, message }) => ({ kind: 'warning', rule: 'threshold', title: expression, message }) as const)
  const summary =
    verdict === 'inconclusive' ? [error('inconclusive', `${run.scenario} is inconclusive`, reasons.join(' '))] : []
  return [...summary, ...failures, ...inconclusive]
}

/** The first cause with the request that decides, then the other causes. */
function causeText(message: string, examples: ReportedFinding['examples']): string {
  const [first, ...others] = examples
  const evidence = first?.evidence.find(({ id }) => first.decidedBy.includes(id))
  const sentAt = evidence?.sentAt ?? null
  const request = evidence === undefined ? '' : ` (request ${evidence.id}${sentAt === null ? '' : `, ${sentAt}`})`
  // An older report lists the same cause several times.
  const further = others.filter(({ decidedBy }) => decidedBy.length > 0)
  return [`${message}${request}`, ...further.map(other => `${plural(other.count, 'time')}: ${other.message}`)].join(
    '; ',
  )
}
