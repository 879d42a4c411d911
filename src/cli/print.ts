import type { Page } from '../lib/text-layout.ts'
import { escapeWorkflowCommands, isGitHubActions } from '../outputs/github.ts'
import type { Report } from '../report/document.ts'
import { type Format, renderers } from '../report/render/renderers.ts'
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

export function stdoutLayout(): Page {
  const { stdout } = process
  const columns = Math.min(stdout.columns ?? 100, maxColumns)
  return { columns, color: stdout.isTTY === true && process.env.NO_COLOR === undefined }
}

/** The exit code for a verdict. An interrupted run has its own, whatever the verdict. */
export function exitCodeOf({ verdict, run }: Report): number {
  return run.ended === 'interrupted' ? exitCodes.interrupted : exitCodes[verdict]
}
