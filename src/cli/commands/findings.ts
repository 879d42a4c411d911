import { plainTable } from '../../lib/text-layout.ts'
import { UsageError } from '../../lib/usage-error.ts'
import { oneLine } from '../../lib/visible.ts'
import type { Report } from '../../report/document.ts'
import { type ListedFinding, numberedFindings, numbersOf, pickFinding } from '../../report/numbered-findings.ts'
import { renderTextPage } from '../../report/render/text.ts'
import { allEvidence, findingBlocks } from '../../report/sections/findings.ts'
import { readReport } from '../../storage/run-directory.ts'
import { writeFindingScript } from '../finding-script.ts'
import { exitCodes, text, type Values } from '../flags.ts'
import { exitCodeOf, print, printJson, showReport, stdoutLayout, wantsJson } from '../print.ts'

/** Shows the report of a run again, in any format. */
export async function reportCommand(values: Values): Promise<number> {
  const directory = text(values, 'run-dir') ?? ''
  const report = readReport(directory)
  showReport(report, directory, values)
  return exitCodeOf(report)
}

/** Lists the findings of a run, shows one of them, or writes a script that sends its requests again. Sends nothing. */
export async function findingsCommand(values: Values): Promise<number> {
  const directory = text(values, 'run-dir') ?? ''
  const report = readReport(directory)
  const all = numberedFindings(report)
  const chosen = text(values, 'number')
  const out = text(values, 'out')
  if (out !== null && values.repro !== true)
    throw new UsageError({ where: '--out', got: JSON.stringify(out), expected: '--repro with it' })
  if (values.repro === true) {
    await writeFindingScript(directory, report, pickFinding(all, chosen), out)
    return exitCodes.pass
  }
  const picked = chosen === null ? null : pickFinding(all, chosen)
  if (wantsJson(values)) printJson(picked === null ? all.map(summary) : { number: picked.number, ...picked.finding })
  else print(picked === null ? list(all) : details(report, picked.number), 'text')
  return exitCodes.pass
}

const summary = ({ number, name, count, message, examples }: ListedFinding) => {
  return { number, name, count, causes: examples.length, message }
}

function list(all: readonly ListedFinding[]): string {
  if (all.length === 0) return 'The run has no findings.\n'
  const rows = all.flatMap(listed => {
    const { name, count, message, examples } = listed
    return numbersOf(listed).map((number, index) => [
      number,
      name,
      `${examples[index]?.count ?? count} ×`,
      oneLine(examples[index]?.message ?? message),
    ])
  })
  return `${plainTable([], rows, stdoutLayout().columns)}\n`
}

const details = (report: Report, number: number): string =>
  renderTextPage(
    findingBlocks(report, allEvidence).filter(block => block.number === number),
    stdoutLayout(),
  )
