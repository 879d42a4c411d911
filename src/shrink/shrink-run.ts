import { assertShrinkOptions, type ShrinkRunOptions, withOptionNames } from '../library/options.ts'
import { numberedFindings, pickFinding } from '../report/numbered-findings.ts'
import { readReport } from '../storage/run-directory.ts'
import { type ShrunkFinding, shrinkFinding } from './shrink-finding.ts'

/** As long as the command does by default. */
const defaultMaxMs = 600_000

/**
 * Finds the smallest scenario that gives a finding of a run directory, and resolves with it; with null if its requests do
 * not give it again. Rejects with a UsageError for a mistake. An aborted `signal` ends it with what was found so far.
 */
export function shrinkRun(directory: string, options: ShrinkRunOptions = {}): Promise<ShrunkFinding | null> {
  return withOptionNames(async () => {
    assertShrinkOptions(options)
    const { finding, maxMs = defaultMaxMs, directory: record = null, onProgress = () => {}, ...terms } = options
    const report = readReport(directory)
    const chosen = pickFinding(numberedFindings(report), finding === undefined ? null : String(finding))
    const hasOwnKeys = options.keys !== undefined || process.env.TURNPIKE_KEYS !== undefined
    return await shrinkFinding(
      { directory, report, chosen },
      { ...terms, hasOwnKeys, maxMs, folder: '.', record },
      onProgress,
    )
  }, options)
}
