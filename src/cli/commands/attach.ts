import { join } from 'node:path'
import { UsageError } from '../../lib/usage-error.ts'
import { readBaselines } from '../../library/run-draft.ts'
import { type AttachedRun, attachTo } from '../../run/queue/run-over-queue.ts'
import { reserveRunDirectory, type Unwritten } from '../../storage/run-directory.ts'
import { listFlag, text, type Values } from '../flags.ts'
import { requestedOutputs } from '../outputs.ts'
import { exitCodeOf, showUnwritten } from '../print.ts'
import { redisUrl } from '../redis-url.ts'
import { watchRun } from '../watch-run.ts'
import { criteriaOf } from './compare.ts'

/** Follows a run that another terminal has started, and concludes it: the same report, files and exit code. */
export async function attachCommand(values: Values): Promise<number> {
  const url = redisUrl(values, process.env)
  const runId = text(values, 'run')
  if (runId === null) throw new UsageError({ where: 'run', got: 'nothing', expected: 'the id of a run' })
  return await attachTo(runId, url, run => concludeRun(run, values))
}

async function concludeRun({ job, clock, follow }: AttachedRun, values: Values): Promise<number> {
  const { plan, contract, info } = job
  const baselines = await readBaselines(listFlag(values, 'baseline'), criteriaOf(values), () => ({ plan, contract }))
  const path = text(values, 'out') ?? join('runs', `${info.runId}-${plan.scenario}-attached`)
  const reserved = reserveRunDirectory(path, contract)
  try {
    const requested = await requestedOutputs(values, process.env)
    const { close, ...watch } = await watchRun({ plan, info, clock }, path, values, requested)
    try {
      const directory = reserved.create({ plan, contract }, job.shards)
      const unwritten: Unwritten[] = []
      const report = await follow(baselines, { ...watch, directory, unwritten: file => void unwritten.push(file) })
      showUnwritten(unwritten)
      return exitCodeOf(report)
    } finally {
      await close()
    }
  } finally {
    reserved.release()
  }
}
