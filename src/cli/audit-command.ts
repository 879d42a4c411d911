import { createJudgement } from '../judge.ts'
import { UsageError } from '../lib/usage-error.ts'
import { type LogEnd, readLog } from '../observation/log.ts'
import { observationsIn, openRecordedRun } from '../report/run-directory.ts'
import { text, type Values } from './command.ts'
import { contractOf } from './load-plan.ts'
import { exitCodeOf, showReport } from './show-report.ts'

export async function auditCommand(values: Values): Promise<number> {
  const directory = text(values, 'run-dir') ?? ''
  const { plan, contract, head, file } = await openRecordedRun(directory)
  if (plan.record !== 'all') {
    throw new UsageError({
      where: directory,
      got: `a run with "record: ${plan.record}"`,
      expected: 'one with "record: all"',
    })
  }
  const judgement = createJudgement(plan, values.profile === undefined ? contract : contractOf(values), head)
  let end: LogEnd | null = null
  for await (const line of readLog(file)) {
    if (line.kind === 'observation') judgement.add(line.observation)
    if (line.kind === 'end') end = line.end
  }
  const report = await judgement.conclude(end, () => observationsIn(file))
  showReport(report, directory, values)
  return exitCodeOf(report)
}
