import { documentedContract } from '../../src/contract/documented.ts'
import { openLog } from '../../src/observation/log.ts'
import { singleShard } from '../../src/plan/shard.ts'
import { manualClock } from '../../src/prove/manual-clock.ts'
import { logFiles, reserveRunDirectory } from '../../src/storage/run-directory.ts'
import { type VirtualRun, virtualRun } from './virtual-run.ts'

/** Writes the run directory of a run in virtual time. `isKilled`: without footer and report. */
export async function recordedRun(path: string, options: VirtualRun, isKilled = false): Promise<string> {
  const { plan, head, observations, report, slices } = await virtualRun(options)
  const clock = manualClock()
  const contract = options.contract ?? documentedContract
  const named = { ...head, ...singleShard, runId: path }
  const directory = reserveRunDirectory(path, contract).create({ plan, contract }, 1)
  const log = await openLog(logFiles(path, 1)[0] ?? '', named, clock)
  for (const observation of observations) log.write(observation)
  if (isKilled) return path
  const { ended, durationMs } = report.run
  if (ended === 'truncated') throw new Error('a complete run must have an end')
  await log.end({
    ended,
    durationMs,
    startedMs: null,
    eventLoopDelayMs: null,
    notRecorded: 0,
    loadStartMs: null,
    pushed: null,
  })
  await directory.write({ ...report, run: { ...report.run, id: path } }, slices)
  return path
}
