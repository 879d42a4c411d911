import { appendFileSync, closeSync, constants, openSync, statSync } from 'node:fs'
import { oneLine } from '../lib/visible.ts'
import { type Alert, alertsOf } from '../report/alerts.ts'
import type { Report } from '../report/document.ts'
import { maxMarkdownBytes } from '../report/render/markdown.ts'
import { renderMarkdown, renderMarkdownHead } from '../report/render/renderers.ts'
import type { Output } from './output.ts'

export const isGitHubActions = (): boolean => process.env.GITHUB_ACTIONS === 'true'

/** Adds the run to the summary and the annotations of a GitHub Actions step. */
export const gitHubOutput: Output = {
  start: () => {},
  finish: async report => writeGitHubSummary(report),
  close: async () => {},
}

/** Writes annotations to stderr, where the runner also reads commands, because stdout is for the report. */
export function writeGitHubSummary(report: Report): void {
  const summary = process.env.GITHUB_STEP_SUMMARY
  if (summary !== undefined && summary !== '') addToSummary(summary, report)
  if (isGitHubActions()) for (const line of annotationLines(report)) process.stderr.write(`${line}\n`)
}

const appending = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | constants.O_NONBLOCK

/** GitHub hides a summary that is too large. If the report does not fit, adds its short form. */
function addToSummary(file: string, report: Report): void {
  const texts = [renderMarkdown, renderMarkdownHead].map(render => `${render(report)}\n`)
  try {
    const room = maxMarkdownBytes - (statSync(file, { throwIfNoEntry: false })?.size ?? 0)
    const text = texts.find(rendered => Buffer.byteLength(rendered) <= room)
    if (text === undefined)
      return void process.stderr.write(`The step summary ${file} is full, so this run is not in it.\n`)
    // A pipe without a reader is an error, too.
    const descriptor = openSync(file, appending, 0o600)
    try {
      appendFileSync(descriptor, text)
    } finally {
      closeSync(descriptor)
    }
  } catch (cause) {
    // The verdict is valid even if GitHub cannot show it.
    process.stderr.write(`Cannot write to the step summary ${file}: ${(cause as NodeJS.ErrnoException).code}\n`)
  }
}

/** GitHub shows at most this many annotations of one kind for a step. */
const maxOfAKind = 10
const maxMessageLength = 400

/** The reasons why a run does not pass, as workflow commands of GitHub Actions. */
export function annotationLines(report: Report): readonly string[] {
  const all = alertsOf(report)
  const first = (kind: Alert['kind']) => all.filter(each => each.kind === kind).slice(0, maxOfAKind)
  return [...first('error'), ...first('warning')].map(line)
}

function line({ kind, title, message }: Alert): string {
  const text = oneLine(message).replaceAll('%', '%25').slice(0, maxMessageLength)
  const escapedTitle = oneLine(title).replaceAll('%', '%25').replaceAll(':', '%3A').replaceAll(',', '%2C')
  return `::${kind} title=${escapedTitle}::${text}`
}

/**
 * The runner interprets workflow commands in all output of a step. A zero-width space after the start of a command
 * makes sure that text from a target is never a command.
 */
export const escapeWorkflowCommands = (text: string): string =>
  text.replace(/^(\s*):(?=:)/gm, '$1:\u200B').replaceAll('##[', '##\u200B[')
