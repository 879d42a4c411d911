import { appendFileSync, statSync } from 'node:fs'
import type { Report } from '../report/document.ts'
import { longestMarkdownBytes } from '../report/render/markdown.ts'
import { renderMarkdown, renderMarkdownHead } from '../report/render/renderers.ts'
import { annotationLines } from '../report/workflow-commands.ts'

export const isOnGitHub = (): boolean => process.env.GITHUB_ACTIONS === 'true'

/**
 * Where a run is a step of GitHub Actions: its summary, and its annotations. These go to stderr, of which the runner reads
 * commands as it does of stdout, so that stdout stays the report.
 */
export function tellGitHub(report: Report): void {
  const summary = process.env.GITHUB_STEP_SUMMARY
  if (summary !== undefined && summary !== '') addToSummary(summary, report)
  if (isOnGitHub()) for (const line of annotationLines(report)) process.stderr.write(`${line}\n`)
}

/** A summary that is too large is not shown at all, so that it says less once it is nearly full. */
function addToSummary(file: string, report: Report): void {
  const room = longestMarkdownBytes - (statSync(file, { throwIfNoEntry: false })?.size ?? 0)
  const text = [renderMarkdown, renderMarkdownHead]
    .map(render => `${render(report)}\n`)
    .find(rendered => Buffer.byteLength(rendered) <= room)
  if (text === undefined) return void process.stderr.write(`No room is left in ${file} for this run.\n`)
  try {
    appendFileSync(file, text)
  } catch (cause) {
    // The verdict stands, whoever cannot be told of it.
    process.stderr.write(`The summary ${file} cannot be written to: ${(cause as NodeJS.ErrnoException).code}\n`)
  }
}
