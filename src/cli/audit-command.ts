import { createJudgement } from '../judge.ts'
import type { LogEnd } from '../observation/log.ts'
import { observationsIn } from '../report/run-directory.ts'
import { text, type Values } from './command.ts'
import { contractOf } from './load-plan.ts'
import { openWholeRecord, wholeRecord } from './read-record.ts'
import { exitCodeOf, showReport } from './show-report.ts'

export async function auditCommand(values: Values): Promise<number> {
  const directory = text(values, 'run-dir') ?? ''
  const { plan, contract, head, file } = await openWholeRecord(directory)
  const judgement = createJudgement(plan, values.profile === undefined ? contract : contractOf(values), head)
  let end: LogEnd | null = null
  // Without some of the charges, the balances would seem to be wrong: the record has to be whole.
  for await (const line of wholeRecord(file)) {
    if (line.kind === 'observation') judgement.add(line.observation)
    if (line.kind === 'end') end = line.end
  }
  const report = await judgement.conclude(end, () => observationsIn(file))
  showReport(report, directory, values)
  return exitCodeOf(report)
}
