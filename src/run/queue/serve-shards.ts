import { availableParallelism, totalmem } from 'node:os'
import type { WorkerHealth } from '../../judge/judge-run.ts'
import { type Clock, createBootTime, sleepUntil, systemClock } from '../../lib/clock.ts'
import { isObject } from '../../lib/json.ts'
import { pico } from '../../lib/money.ts'
import { messageOf } from '../../lib/usage-error.ts'
import { hasHeader } from '../../observation/log.ts'
import { reservedPicoUsd } from '../../plan/cost.ts'
import { keyCallers, maxPaidPicoUsd } from '../../plan/plan.ts'
import { ownsCaller } from '../../plan/shard.ts'
import { openLogSource } from '../../storage/log-copy.ts'
import type { StartWorker } from '../messages.ts'
import { createLease, type LeaseTerms } from './lease.ts'
import { connectQueue, connectState, type QueuedShard, type QueuePackages, queueName, workerOptions } from './queue.ts'
import { createRecordStore } from './record-store.ts'
import { sendRecord } from './record-transfer.ts'
import { createRedisClock } from './redis-clock.ts'
import { runShard } from './run-shard.ts'
import { createRunState } from './run-state.ts'
import { hashOf } from './seal.ts'
import { linkSearches, type SearchLinkOptions } from './search-link.ts'
import { type SharedJob, unpack } from './shared-job.ts'

export type ServeOptions = {
  readonly url: string
  /** A name that no other worker has. */
  readonly worker: string
  readonly version: string
  readonly log: (line: string) => void
  /** Called after each shard, with whether it has a result. */
  readonly onDone: (isGood: boolean) => void
  /** Prepares the log file of a shard, and returns its path; null: the shard is not recorded. */
  readonly logFile: (job: SharedJob, shard: number) => string | null
  readonly startWorker: StartWorker
}

/** The maximum time that a worker without a shard waits for Redis before it ends. */
const partingMs = 3_000

/** Takes shards from the queue, one at a time, until it is told to end. */
export async function serveShards(
  packages: QueuePackages,
  { url, worker: name, version, log, onDone, logFile, startWorker }: ServeOptions,
) {
  const quit = new AbortController()
  const redis = await connectState(packages, url)
  const queue = connectQueue(packages, url)
  let driving: Promise<string | null> = Promise.resolve(null)
  const worker = new packages.Worker<unknown>(
    queueName,
    async ({ data }) => {
      if (!isQueuedShard(data)) {
        const why = `The queue ${queueName} has a job that is not a shard of a run.`
        log(`${why} Another program wrote it, so this worker skips it.`)
        throw new Error(why)
      }
      driving = drive(data).catch(messageOf)
      const failure = await driving
      onDone(failure === null)
      if (failure === null) return log(`Shard ${data.shard + 1} of run ${data.runId}: done.`)
      log(`Shard ${data.shard + 1} of run ${data.runId}: ${failure}.`)
      throw new Error(failure)
    },
    { ...workerOptions, connection: queue },
  )
  let told = ''
  worker.on('error', cause => {
    const message = messageOf(cause)
    // It tries again every second.
    if (message !== told) log(`Redis: ${message}`)
    told = message
  })

  async function drive({ runId, shard, hash }: QueuedShard): Promise<string | null> {
    const state = createRunState(redis, runId)
    const found = await state.job()
    if (found === null) return 'the run is unknown'
    if (hashOf(found) !== hash) return 'the plan in Redis is not the one that was queued'
    const job = unpack<SharedJob>('job', found)
    if (shard >= job.shards) return `the run has only ${job.shards} shards`
    if (job.info.version !== version) {
      const why = `worker ${name} has version ${version}, and the run has version ${job.info.version}`
      await state.stop('worker-lost', why)
      return why
    }
    const clock = systemClock()
    const redisClock = createRedisClock(redis, clock)
    const lease = createLease(state, leaseTerms(job, shard), clock)
    const file = logFile(job, shard)
    const link = (options: SearchLinkOptions) => linkSearches(redis, options)
    const io = {
      state,
      clock,
      bootMs: createBootTime(clock),
      redisClock,
      lease,
      log,
      startWorker,
      linkSearches: link,
      startMeter: () => createHealthMeter({ name, version }, clock),
      logFile: file,
    }
    const failure = await runShard({ runId, shard, worker: name, job }, { ...io, quit: quit.signal })
    if (file === null || !hasHeader(file)) return failure
    const store = createRecordStore(redis, runId)
    const transfer = { store, runId, shards: job.shards, clock, quit: quit.signal }
    const kept =
      failure === null && job.collect
        ? await sendRecord(shard, () => openLogSource(file), transfer)
        : 'the run does not collect them'
    if (kept !== null) log(`The records of shard ${shard + 1} stay in ${file}: ${kept}.`)
    return failure
  }

  return {
    /** Takes no more shards, and resolves when the one in work has ended. `now`: it ends at once. */
    end: async (now: boolean): Promise<void> => {
      if (now) quit.abort()
      // BullMQ takes no more shards from now on. It would wait for Redis without a limit.
      const closing = worker.close()
      await driving
      const clock = systemClock()
      await Promise.race([closing, sleepUntil(clock, clock.nowMs() + partingMs)])
      // It may have been about to take one.
      await driving
      for (const connection of [queue, redis]) connection.disconnect()
    },
  }
}

const isQueuedShard = (data: unknown): data is QueuedShard =>
  isObject(data) &&
  typeof data.runId === 'string' &&
  typeof data.hash === 'string' &&
  Number.isSafeInteger(data.shard) &&
  Number(data.shard) >= 0

/** What a shard may spend, and what its wallets may pay: together, no more than the wallets of one machine. */
function leaseTerms({ plan, contract, shards }: SharedJob, shard: number): LeaseTerms {
  const costs = Object.values(plan.calls).map(call => reservedPicoUsd(call, contract).arrival)
  const isOwn = ownsCaller(plan, { worker: shard, workers: shards })
  const first = keyCallers(plan.callers)
  const wallets = plan.callers.names.flatMap((_, index) => (index < first ? [] : [isOwn(index)]))
  const payable = maxPaidPicoUsd(plan) ?? 0n
  const own = (payable * BigInt(wallets.filter(Boolean).length)) / BigInt(Math.max(1, wallets.length))
  return {
    shard,
    limit: plan.budgetUsd === null ? null : pico(plan.budgetUsd),
    least: costs.reduce((highest, cost) => (cost > highest ? cost : highest), 0n),
    paidElsewhere: payable - own,
  }
}

/** Measures this process. Each call has the CPU use since the one before, at first since the meter was created. */
function createHealthMeter({ name, version }: Pick<WorkerHealth, 'name' | 'version'>, clock: Clock) {
  let sinceMs = clock.nowMs()
  let since = process.cpuUsage()
  let usedCores = 0
  return (): WorkerHealth => {
    const elapsedMs = clock.nowMs() - sinceMs
    if (elapsedMs > 0) {
      const { user, system } = process.cpuUsage(since)
      usedCores = (user + system) / 1_000 / elapsedMs
      sinceMs = clock.nowMs()
      since = process.cpuUsage()
    }
    const size = { cores: availableParallelism(), memoryBytes: memoryBytes(), rssBytes: process.memoryUsage.rss() }
    return { name, version, node: process.versions.node, ...size, usedCores }
  }
}

/** The memory of the machine, or less if a container limits it. */
function memoryBytes(): number {
  const limit = process.constrainedMemory() ?? 0
  return limit > 0 ? Math.min(limit, totalmem()) : totalmem()
}
