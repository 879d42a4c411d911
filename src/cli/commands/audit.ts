import { type JudgeJob, judgeLog, type WorkerResult } from '../../judge/judge-run.ts'
import { makeReport } from '../../run/make-report.ts'
import { assertComplete, openCompleteRun } from '../../storage/recorded-run.ts'
import { observationsIn } from '../../storage/run-directory.ts'
import { text, type Values } from '../flags.ts'
import { contractOf } from '../load-plan.ts'
import { exitCodeOf, showReport } from '../print.ts'

export async function auditCommand(values: Values): Promise<number> {
  const directory = text(values, 'run-dir') ?? ''
  const { plan, contract, head, logs } = await openCompleteRun(directory)
  const job: JudgeJob = { plan, contract: values.profile === undefined ? contract : contractOf(values), head }
  const results: WorkerResult[] = []
  for (const file of logs) results.push(await judgeCompleteLog(job, file))
  const { report } = await makeReport(job, results, () => observationsIn(logs))
  showReport(report, directory, values)
  return exitCodeOf(report)
}

/** Refuses an incomplete recording: without some of the charges, the balances would seem wrong. */
async function judgeCompleteLog(job: JudgeJob, file: string): Promise<WorkerResult> {
  const { skipped, ...result } = await judgeLog(job, file)
  assertComplete(file, skipped)
  return result
}
