import type { Baselines } from '../../judge/compare/comparable.ts'
import { emptyResult, type JudgeJob, type RecordsElsewhere, type WorkerResult } from '../../judge/judge-run.ts'
import { sleepUntil } from '../../lib/clock.ts'
import { plural } from '../../lib/format.ts'
import { messageOf } from '../../lib/usage-error.ts'
import type { LiveMachine } from '../../outputs/output.ts'
import type { Report } from '../../report/document.ts'
import { createLogTarget } from '../../storage/log-copy.ts'
import { decisionOf } from '../deciding.ts'
import { createLiveView } from '../live.ts'
import { makeReport } from '../make-report.ts'
import type { WorkerSnapshot } from '../messages.ts'
import { pushCounts, type RunIo } from '../run.ts'
import type { RecordStore } from './record-store.ts'
import { collectRecords } from './record-transfer.ts'
import type { AboutWorker, ShardResult, ShardSnapshot } from './run-shard.ts'
import type { RunState, ShardView, Signal } from './run-state.ts'
import { type SharedJob, unpackOrNull } from './shared-job.ts'

export type FollowIo = Omit<RunIo, 'startWorker'>

/** How often the state of the run is read. */
const lookEveryMs = 500
/** The maximum time for results after the run has ended, or after its workers were told to stop. */
const graceMs = 30_000
/** The same after the second ^C. */
const quitGraceMs = 3_000

/** How long Redis may be away. */
const maxUnheardMs = 30_000

/**
 * Follows a run that others drive, from any terminal and at any time, and concludes it: one report of all its shards. A
 * shard without a result makes it inconclusive, as a lost worker does.
 */
export async function followRun(
  { state, records }: { readonly state: RunState; readonly records: RecordStore },
  job: SharedJob,
  baselines: Baselines | null,
  { clock, stop, quit, directory, outputs, log, unwritten }: FollowIo,
): Promise<Report> {
  const { plan, contract, info, shards } = job
  const judgeJob: JudgeJob = { plan, contract, head: info }
  const shown = createShownShards(state)
  const live = createLiveView(
    judgeJob,
    Array.from({ length: shards }, (_, shard) => ({
      snapshot: () => shown.snapshot(shard),
      name: () => shown.machines()[shard]?.name ?? null,
    })),
    clock,
    shown.machines,
  )
  for (const output of outputs) output.start(live)
  const isDecided = job.untilDecided ? decisionOf(plan, live) : async () => false
  const collector =
    job.collect && directory !== null
      ? collectRecords(shard => createLogTarget(directory.logs[shard] ?? ''), {
          store: records,
          runId: info.runId,
          shards,
          clock,
          quit,
        })
      : null
  /** null: another program wrote something else in its place, so that the shard counts as lost. */
  const results = new Map<number, ShardResult | null>()
  let ended: Signal['stop'] = null
  let endedMs = Number.POSITIVE_INFINITY
  let heardMs = clock.nowMs()
  let failure = 'no answer'
  const graceLeftMs = () => (quit.aborted ? quitGraceMs : graceMs)

  /** Resolves with whether all results are there, or no further result will come. */
  async function look(): Promise<boolean> {
    if (quit.aborted) await state.cancel()
    else if (stop.aborted) await state.stop('interrupted', 'interrupted')
    else if (ended === null && (await isDecided())) await state.stop('decided', 'every threshold is decided')
    const signal = await state.look()
    if (signal.startMs !== null) live.setLoadStart(signal.startMs - job.zeroMs)
    if (signal.stop !== null && signal.stop.why !== ended?.why)
      log(`The run ends (${signal.stop.reason}): ${signal.stop.why}.`)
    ended = signal.stop
    if (signal.finished > results.size) await readResults()
    heardMs = clock.nowMs()
    return results.size === shards || (ended !== null && signal.working === 0)
  }
  /** Reads each result once. */
  async function readResults(): Promise<void> {
    const missing = Array.from({ length: shards }, (_, shard) => shard).filter(shard => !results.has(shard))
    for (const [index, packed] of (await state.results(missing)).entries()) {
      const shard = missing[index]
      if (shard === undefined || packed === null) continue
      const result = unpackOrNull<ShardResult>('result', packed)
      if (result === null) log(`The result of shard ${shard + 1} in Redis was not written by a worker.`)
      else collector?.begin(shard)
      results.set(shard, result)
    }
  }
  for (let isOver = false; !isOver; ) {
    isOver = await look().catch(cause => {
      failure = messageOf(cause)
      return false
    })
    if (quit.aborted || ended !== null) endedMs = Math.min(endedMs, clock.nowMs())
    if (clock.nowMs() > endedMs + graceLeftMs()) isOver = true
    if (clock.nowMs() > heardMs + maxUnheardMs) {
      ended = { reason: 'worker-lost', why: 'Redis could not be reached' }
      log(`Redis could not be reached (${failure}). The run ends.`)
      isOver = true
    }
    if (!isOver) await sleepUntil(clock, clock.nowMs() + lookEveryMs)
  }
  const reason = ended?.reason ?? null
  await live.poll()
  if (collector !== null && results.size > 0) log(`Collecting the records of ${plural(results.size, 'shard')}.`)
  const missing = (await collector?.end()) ?? Array.from({ length: shards }, () => notAsked)
  const claims = await state.claims(shards).catch(() => [])
  const pushed = pushCounts(outputs)
  const all = Array.from({ length: shards }, (_, shard): WorkerResult => {
    const claim = claims[shard]
    const about = claim?.about ? unpackOrNull<AboutWorker>('worker', claim.about) : null
    const health = shown.machines()[shard]?.health ?? about?.health
    const elsewhere = about?.logFile ? { worker: claim?.worker ?? '', file: about.logFile } : undefined
    const result = results.get(shard)
    const damage = result?.unwritten ? `the worker could not write all of them: ${result.unwritten}` : null
    const records = elsewhere && { ...elsewhere, missing: damage ?? missing[shard] ?? null }
    if (!result) return { ...emptyResult(judgeJob), health, records }
    const { snapshot, end, machine } = result
    // One shard may have ended before it knew why the others did.
    const ownEnd = end && { ...end, pushed, ...(reason !== null && { ended: reason }) }
    return { snapshot, machine, end: ownEnd, health: result.health, records }
  })
  for (const [shard, { records }] of all.entries()) {
    const why = records === undefined ? missing[shard] : records.missing
    if (collector !== null && why) log(`The records of shard ${shard + 1} are missing: ${why}. ${placeOf(records)}`)
  }
  const readObservations = () => (collector === null || directory === null ? none() : directory.readObservations())
  const { report, slices } = await makeReport(judgeJob, all, readObservations, baselines)
  const finished = Promise.all(outputs.map(output => output.finish(report, quit)))
  const files = (await directory?.write(report, slices)) ?? []
  await finished
  files.forEach(unwritten)
  return report
}

const notAsked = 'the run did not collect them'

const placeOf = (records: RecordsElsewhere | undefined): string =>
  records === undefined ? 'No worker has them.' : `Worker ${records.worker} may have them in ${records.file}.`

/** What live views show of the shards of a run. All of them share one read. */
function createShownShards(state: Pick<RunState, 'views'>) {
  let reading: Promise<readonly ShardView[]> | null = null
  let machines: readonly LiveMachine[] = []
  const latest: (ShardSnapshot | null)[] = []

  async function read(): Promise<readonly ShardView[]> {
    const views = await state.views()
    machines = views.map(({ state, worker, snapshot }, shard) => {
      const shown = snapshot && unpackOrNull<ShardSnapshot>('snapshot', snapshot)
      if (shown !== null) latest[shard] = shown
      return { name: worker, state, health: latest[shard]?.health ?? null }
    })
    return views
  }
  return {
    machines: () => machines,
    snapshot: async (shard: number): Promise<WorkerSnapshot | null> => {
      reading ??= read().finally(() => {
        reading = null
      })
      // While Redis is away, the last state remains.
      const views = await reading.catch(() => null)
      return views !== null && views[shard]?.state === 'lost' ? null : (latest[shard] ?? null)
    },
  }
}

async function* none(): AsyncIterable<never> {
  // The records stay where they were made.
}
