import { documented } from '../../src/contract/documented.ts'
import { createRunDirectory } from '../../src/report/run-directory.ts'
import { manualClock } from './manual-clock.ts'
import { type VirtualRun, virtualRun } from './virtual-run.ts'

/** A run directory as the program writes it, of a run in virtual time. `isKilled`: it has neither end nor report. */
export async function recordedRun(path: string, options: VirtualRun, isKilled = false): Promise<string> {
  const { plan, head, observations, report, slices } = await virtualRun(options)
  const clock = manualClock()
  const contract = options.contract ?? documented
  const named = { ...head, runId: path }
  const directory = await createRunDirectory(path, { plan, contract, head: named, clock })
  for (const observation of observations) directory.write(observation)
  if (isKilled) return path
  const { ended, durationMs } = report.run
  if (ended === 'cut-short') throw new Error('a run that was carried out has an end')
  await directory.end({ ended, durationMs, eventLoopDelayMs: null, unrecorded: 0 }, slices)
  await directory.writeReport({ ...report, run: { ...report.run, id: path } })
  return path
}
