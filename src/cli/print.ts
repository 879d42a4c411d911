import { plural } from '../lib/format.ts'
import type { Page } from '../lib/text-layout.ts'
import { oneLine, visibleJson } from '../lib/visible.ts'
import { escapeWorkflowCommands, isGitHubActions } from '../outputs/github.ts'
import type { Report } from '../report/document.ts'
import { type Format, renderers } from '../report/render/renderers.ts'
import type { Unwritten } from '../storage/run-directory.ts'
import { exitCodes, text, type Values } from './flags.ts'

const maxColumns = 120

/** Writes the report to stdout, in the format that the flags name. */
export function showReport(report: Report, directory: string | null, values: Values): void {
  const format = (text(values, 'format') ?? 'text') as Format
  print(renderers[format](report, { ...stdoutLayout(), directory }), format)
}

/** On GitHub Actions, escapes workflow commands in formats for people. */
export function print(rendered: string, format: Format): void {
  process.stdout.write(
    isGitHubActions() && (format === 'text' || format === 'markdown') ? escapeWorkflowCommands(rendered) : rendered,
  )
}

/** The output of a command with `--format json`: one value, indented by two blanks, with a final newline. */
export const printJson = (value: unknown): void => print(visibleJson(`${JSON.stringify(value, null, 2)}\n`), 'json')

export const wantsJson = (values: Values): boolean => text(values, 'format') === 'json'

export const stdoutLayout = (): Page => layoutOf(process.stdout)

/** A list is as wide as the terminal. A program that reads it gets one line per row. */
export const listColumns = (): number =>
  (process.stdout.isTTY === true && process.stdout.columns) || Number.POSITIVE_INFINITY

/** What is not a terminal has no width of its own. */
export const layoutOf = (stream: Pick<NodeJS.WriteStream, 'columns' | 'isTTY'>): Page => ({
  columns: Math.min(stream.columns ?? 100, maxColumns),
  color: isColored(stream),
})

/**
 * Whether to write colors to a stream: to a terminal that has them, unless the user wants none (no-color.org). Like
 * Node.js, `FORCE_COLOR` decides alone, also for a pipe or a CI.
 */
export function isColored({ isTTY }: Pick<NodeJS.WriteStream, 'isTTY'>, environment = process.env): boolean {
  const { FORCE_COLOR: forced, NO_COLOR: none = '', TERM: terminal } = environment
  if (forced !== undefined) return forced !== '0' && forced !== 'false'
  return isTTY === true && terminal !== 'dumb' && none === ''
}

/** Whether to replace lines that were written: on a terminal that can, and outside of a CI, whose logs keep everything. */
export function isInteractive({ isTTY }: Pick<NodeJS.WriteStream, 'isTTY'>, environment = process.env): boolean {
  const { CI: ci = '', TERM: terminal } = environment
  return isTTY === true && terminal !== 'dumb' && (ci === '' || ci === 'false')
}

/** One sentence about files that could not be written. They change neither the verdict nor the exit code. */
export function showUnwritten(files: readonly Unwritten[]): void {
  const [first, ...others] = files
  if (first === undefined) return
  const more = others.length === 0 ? '' : ` and ${plural(others.length, 'more file')}`
  process.stderr.write(
    `Turnpike could not write ${oneLine(first.file)}${more}: ${first.why}. The verdict does not depend on it.\n`,
  )
}

/** The exit code for a verdict. An interrupted run has its own, whatever the verdict. */
export function exitCodeOf({ verdict, run }: Report): number {
  return run.ended === 'interrupted' ? exitCodes.interrupted : exitCodes[verdict]
}
