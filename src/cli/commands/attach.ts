import { join } from 'node:path'
import { UsageError } from '../../lib/usage-error.ts'
import { attachTo } from '../../run/queue/run-over-queue.ts'
import { reserveRunDirectory, type Unwritten } from '../../storage/run-directory.ts'
import { text, type Values } from '../flags.ts'
import { listenForInterrupts } from '../interrupts.ts'
import { createOutputs, outputFlags } from '../outputs.ts'
import { exitCodeOf, showUnwritten } from '../print.ts'
import { redisUrl } from '../redis-url.ts'
import { baselinesOfPlan } from './compare.ts'

/** Follows a run that another terminal has started, and concludes it: the same report, files and exit code. */
export async function attachCommand(values: Values): Promise<number> {
  const url = redisUrl(values, process.env)
  const runId = text(values, 'run')
  if (runId === null) throw new UsageError({ where: 'run', got: 'nothing', expected: 'the id of a run' })
  const { job, clock, follow, end } = await attachTo(runId, url)
  const { plan, contract, info } = job
  const baselines = await baselinesOfPlan(values, { plan, contract })
  const path = text(values, 'out') ?? join('runs', `${runId}-${plan.scenario}-attached`)
  const reserved = reserveRunDirectory(path, contract)
  const flags = outputFlags(values, process.env)
  const interrupts = listenForInterrupts()
  const { stop, quit, onFirst, dispose } = interrupts
  const made = createOutputs(plan, info, clock, path, values, flags, interrupts)
  made.catch(dispose)
  const { outputs, log, close } = await made
  onFirst(() => log('Interrupted. Waiting for requests in flight; press ^C again to quit now.'))
  try {
    const directory = reserved.create({ plan, contract }, job.shards)
    const unwritten: Unwritten[] = []
    const report = await follow(baselines, {
      stop,
      quit,
      directory,
      outputs,
      log,
      unwritten: file => void unwritten.push(file),
    })
    showUnwritten(unwritten)
    return exitCodeOf(report)
  } finally {
    await close()
    dispose()
    end()
    reserved.release()
  }
}
