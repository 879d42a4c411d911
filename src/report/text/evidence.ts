import { clip, oneLine, type Page, paint } from '../../lib/text-layout.ts'
import { evidenceLines, shownEvidence } from '../plain-evidence.ts'
import type { Evidence, ReportedExample } from '../report.ts'

/** A longer command is in the run directory, where it can be copied without its end missing. */
const longestCommand = 1_500

/** Requests and what came back, as far as `about` makes it matter. */
export function evidenceText(example: ReportedExample | undefined, about: string, page: Page): readonly string[] {
  return shownEvidence(example).flatMap(evidence => oneText(evidence, about, page))
}

function oneText(evidence: Evidence, about: string, page: Page): readonly string[] {
  const shown = evidenceLines(evidence, about).map(line => `    ${paint(page, 'dim', clip(line, page.columns - 4))}`)
  return [...shown, ...commandText(evidence.request?.curl ?? null)]
}

/** Not clipped to the page: it is there to be pasted. */
function commandText(curl: string | null): readonly string[] {
  if (curl === null) return []
  if (curl.length > longestCommand) return ['    $ (the command is in findings.ndjson)']
  return [`    $ ${oneLine(curl)}`]
}
