import { judgeLog } from '../judging/judge-log.ts'
import { type Brief, type Part, reportOf } from '../judging/report-of.ts'
import { observationsIn } from '../report/run-directory.ts'
import { text, type Values } from './command.ts'
import { contractOf } from './load-plan.ts'
import { assertWhole, openWholeRecord } from './read-record.ts'
import { exitCodeOf, showReport } from './show-report.ts'

export async function auditCommand(values: Values): Promise<number> {
  const directory = text(values, 'run-dir') ?? ''
  const { plan, contract, head, logs } = await openWholeRecord(directory)
  const brief: Brief = { plan, contract: values.profile === undefined ? contract : contractOf(values), head }
  const parts: Part[] = []
  for (const file of logs) parts.push(await judgeWhole(brief, file))
  const report = await reportOf(brief, parts, () => observationsIn(logs))
  showReport(report, directory, values)
  return exitCodeOf(report)
}

/** What one of the workers recorded. Without some of the charges, the balances would seem to be wrong. */
async function judgeWhole(brief: Brief, file: string): Promise<Part> {
  const { leftOut, ...part } = await judgeLog(brief, file)
  assertWhole(file, leftOut)
  return part
}
