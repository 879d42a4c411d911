import { createJudgement } from '../judge.ts'
import { UsageError } from '../lib/usage-error.ts'
import { plural } from '../metrics/quantity.ts'
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
    // Without some of the charges, the balances would seem to be wrong.
    if (line.kind === 'gap') {
      throw new UsageError({
        where: file,
        got: `a record that leaves out ${plural(line.leftOut, 'observation')}, for the disk did not keep up`,
        expected: 'a whole one',
      })
    }
  }
  const report = await judgement.conclude(end, () => observationsIn(file))
  showReport(report, directory, values)
  return exitCodeOf(report)
}
