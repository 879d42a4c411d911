import { plural } from '../lib/format.ts'
import { oneLine } from '../lib/text-layout.ts'
import type { Report } from './report.ts'

/** GitHub shows no more of a kind for one step. */
const mostOfAKind = 10
const longestMessage = 400

type Annotation = { readonly kind: 'error' | 'warning'; readonly title: string; readonly message: string }

/** Why a run does not pass, as lines that the runner of GitHub Actions takes for commands: it shows them with the run. */
export function annotationLines(report: Report): readonly string[] {
  const all = annotations(report)
  const first = (kind: Annotation['kind']) => all.filter(each => each.kind === kind).slice(0, mostOfAKind)
  return [...first('error'), ...first('warning')].map(line)
}

function annotations({
  verdict,
  because,
  run,
  findings,
  billing,
  thresholds,
  comparison,
}: Report): readonly Annotation[] {
  if (verdict === 'pass') return []
  const error = (title: string, message: string): Annotation => ({ kind: 'error', title, message })
  const broken = [
    ...findings.map(({ clause, section, count, because: seen }) =>
      error(`${clause} (§${section})`, `${plural(count, 'violation')}: ${seen}`),
    ),
    ...billing.discrepancies.map(({ kind, count, amountUsd }) =>
      error(
        `${run.scenario}: ${kind}`,
        `${plural(count, 'billing discrepancy', 'billing discrepancies')}, $${amountUsd}`,
      ),
    ),
    ...thresholds.filter(each => each.verdict === 'fail').map(each => error(each.expression, each.because)),
    ...(comparison?.verdict === 'regressed'
      ? comparison.because.map(reason => error(`${run.scenario} regressed`, reason))
      : []),
  ]
  const doubts = thresholds
    .filter(each => each.verdict === 'inconclusive')
    .map(each => ({ kind: 'warning', title: each.expression, message: each.because }) as const)
  const whole = verdict === 'inconclusive' ? [error(`${run.scenario} is inconclusive`, because.join(' '))] : []
  return [...whole, ...broken, ...doubts]
}

function line({ kind, title, message }: Annotation): string {
  const said = oneLine(message).replaceAll('%', '%25').slice(0, longestMessage)
  const named = oneLine(title).replaceAll('%', '%25').replaceAll(':', '%3A').replaceAll(',', '%2C')
  return `::${kind} title=${named}::${said}`
}

/**
 * The runner looks for commands in all that a step prints. What a target says must not be taken for one, so that a blank
 * of no width stands within what begins a command.
 */
export const withoutCommands = (text: string): string =>
  text.replace(/^(\s*):(?=:)/gm, '$1:\u200B').replaceAll('##[', '##\u200B[')
