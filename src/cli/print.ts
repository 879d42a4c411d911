import type { Page } from '../lib/text-layout.ts'
import { escapeWorkflowCommands, isGitHubActions } from '../outputs/github.ts'
import type { Report } from '../report/document.ts'
import { type Format, renderers } from '../report/render/renderers.ts'
import { exitCodes, text, type Values } from './flags.ts'

const widestColumns = 120

/** Writes the report to stdout, in the format that the flags name. */
export function showReport(report: Report, directory: string | null, values: Values): void {
  const format = (text(values, 'format') ?? 'text') as Format
  show(renderers[format](report, { ...stdoutPage(), directory }), format)
}

/** What programs read stays as it is; on a page of GitHub, people read. */
export function show(rendered: string, format: Format): void {
  process.stdout.write(
    isGitHubActions() && (format === 'text' || format === 'markdown') ? escapeWorkflowCommands(rendered) : rendered,
  )
}

export function stdoutPage(): Page {
  const { stdout } = process
  const columns = Math.min(stdout.columns ?? 100, widestColumns)
  return { columns, colour: stdout.isTTY === true && process.env.NO_COLOR === undefined }
}

/** The verdict as an exit code. An interrupted run says so, whatever it had found. */
export function exitCodeOf({ verdict, run }: Report): number {
  return run.ended === 'interrupted' ? exitCodes.interrupted : exitCodes[verdict]
}
