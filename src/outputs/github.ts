import { appendFileSync, statSync } from 'node:fs'
import { plural } from '../lib/format.ts'
import { oneLine } from '../lib/text-layout.ts'
import type { Report } from '../report/document.ts'
import { longestMarkdownBytes } from '../report/render/markdown.ts'
import { renderMarkdown, renderMarkdownHead } from '../report/render/renderers.ts'

import type { Output } from './output.ts'

export const isGitHubActions = (): boolean => process.env.GITHUB_ACTIONS === 'true'

/** Shows a run that is a step of GitHub Actions in the summary and the annotations of the step. */
export const gitHubOutput: Output = {
  start: () => {},
  finish: async report => writeGitHubSummary(report),
  close: async () => {},
}

/** Annotations go to stderr, from which the runner reads commands as it does from stdout, so that stdout stays the report. */
export function writeGitHubSummary(report: Report): void {
  const summary = process.env.GITHUB_STEP_SUMMARY
  if (summary !== undefined && summary !== '') addToSummary(summary, report)
  if (isGitHubActions()) for (const line of annotationLines(report)) process.stderr.write(`${line}\n`)
}

/** GitHub shows no summary that is too large, so that one that is nearly full gets the short form. */
function addToSummary(file: string, report: Report): void {
  const room = longestMarkdownBytes - (statSync(file, { throwIfNoEntry: false })?.size ?? 0)
  const text = [renderMarkdown, renderMarkdownHead]
    .map(render => `${render(report)}\n`)
    .find(rendered => Buffer.byteLength(rendered) <= room)
  if (text === undefined) return void process.stderr.write(`No room is left in ${file} for this run.\n`)
  try {
    appendFileSync(file, text)
  } catch (cause) {
    // The verdict stands, although it is not shown.
    process.stderr.write(`The summary ${file} cannot be written to: ${(cause as NodeJS.ErrnoException).code}\n`)
  }
}

/** GitHub shows no more of a kind for one step. */
const maxOfAKind = 10
const maxMessageLength = 400

type Annotation = { readonly kind: 'error' | 'warning'; readonly title: string; readonly message: string }

/** Why a run does not pass, as commands for the runner of GitHub Actions, which shows them with the run. */
export function annotationLines(report: Report): readonly string[] {
  const all = annotations(report)
  const first = (kind: Annotation['kind']) => all.filter(each => each.kind === kind).slice(0, maxOfAKind)
  return [...first('error'), ...first('warning')].map(line)
}

function annotations({
  verdict,
  reasons,
  run,
  findings,
  billing,
  thresholds,
  comparison,
}: Report): readonly Annotation[] {
  if (verdict === 'pass') return []
  const error = (title: string, message: string): Annotation => ({ kind: 'error', title, message })
  const broken = [
    ...findings.map(({ clause, section, count, message: seen }) =>
      error(`${clause} (§${section})`, `${plural(count, 'violation')}: ${seen}`),
    ),
    ...billing.discrepancies.map(({ kind, count, amountUsd }) =>
      error(
        `${run.scenario}: ${kind}`,
        `${plural(count, 'billing discrepancy', 'billing discrepancies')}, $${amountUsd}`,
      ),
    ),
    ...thresholds.filter(each => each.verdict === 'fail').map(each => error(each.expression, each.message)),
    ...(comparison?.verdict === 'regressed'
      ? comparison.reasons.map(reason => error(`${run.scenario} regressed`, reason))
      : []),
  ]
  const doubts = thresholds
    .filter(each => each.verdict === 'inconclusive')
    .map(each => ({ kind: 'warning', title: each.expression, message: each.message }) as const)
  const whole = verdict === 'inconclusive' ? [error(`${run.scenario} is inconclusive`, reasons.join(' '))] : []
  return [...whole, ...broken, ...doubts]
}

function line({ kind, title, message }: Annotation): string {
  const said = oneLine(message).replaceAll('%', '%25').slice(0, maxMessageLength)
  const named = oneLine(title).replaceAll('%', '%25').replaceAll(':', '%3A').replaceAll(',', '%2C')
  return `::${kind} title=${named}::${said}`
}

/**
 * The runner looks for commands in all that a step prints. Text of a target must not be taken for one, so that a
 * zero-width space breaks up what begins a command.
 */
export const escapeWorkflowCommands = (text: string): string =>
  text.replace(/^(\s*):(?=:)/gm, '$1:\u200B').replaceAll('##[', '##\u200B[')
