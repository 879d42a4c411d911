import type { Baselines } from '../../judge/compare/comparable.ts'
import { type Clock, clockFromEpoch, systemClock } from '../../lib/clock.ts'
import { pico } from '../../lib/money.ts'
import { messageOf, UsageError } from '../../lib/usage-error.ts'
import type { Report } from '../../report/document.ts'
import type { RunIo, RunJob } from '../run.ts'
import { type FollowIo, followRun } from './follow.ts'
import { connectState, type QueuePackages, queuePackages } from './queue.ts'
import { createRecordStore } from './record-store.ts'
import { createRedisClock } from './redis-clock.ts'
import { createRunState } from './run-state.ts'
import { type SharedJob, unpack } from './shared-job.ts'
import { giveKeys, type ShardTerms, submitRun } from './submit.ts'

/** Throws a UsageError if the packages are not installed. */
export async function loadQueuePackages(): Promise<QueuePackages> {
  const packages = await queuePackages.load()
  if (packages !== null) return packages
  const expected = `${queuePackages.names.join(', ')}; run npm install --include=optional`
  throw new UsageError({ where: '--redis', got: 'packages that are not installed', expected })
}

export type QueueTerms = ShardTerms & { readonly url: string }

/** Throws a UsageError if the packages are not installed, or Redis is not there. */
export async function assertRedis(url: string): Promise<void> {
  const redis = await connectState(await loadQueuePackages(), url)
  redis.disconnect()
}

/**
 * Runs a plan on workers elsewhere, which take its shards from a queue in Redis. `onSpent` gets what its shards may have
 * spent at most: a part of the budget that a lost shard has leased counts as spent.
 */
export async function runOverQueue(
  job: RunJob,
  io: RunIo,
  { url, ...terms }: QueueTerms,
  onSpent: (picoUsd: bigint) => void = () => {},
): Promise<Report> {
  const packages = await loadQueuePackages()
  const redis = await connectState(packages, url)
  const over = new AbortController()
  try {
    const { state, shared } = await submitRun(job, terms, { packages, redis, clock: io.clock }).catch(unsubmitted)
    const giving = giveKeys(state, job, terms.shards, { clock: io.clock, over: over.signal })
    const records = createRecordStore(redis, job.info.runId)
    const report = await followRun({ state, records }, shared, job.baselines, io)
    over.abort()
    await giving
    const limit = job.plan.budgetUsd === null ? 0n : pico(job.plan.budgetUsd)
    onSpent(await state.leased().catch(() => limit))
    return report
  } finally {
    over.abort()
    redis.disconnect()
  }
}

/** No shard has keys yet, so no request was sent or will be sent. */
function unsubmitted(cause: unknown): never {
  throw new UsageError({
    where: '--redis',
    got: messageOf(cause),
    expected: 'a Redis that responds until the run is in its queue',
  })
}

/** A run that another terminal has started. */
export type AttachedRun = {
  readonly job: SharedJob
  /** The clock of the run. */
  readonly clock: Clock
  readonly follow: (baselines: Baselines | null, io: Omit<FollowIo, 'clock'>) => Promise<Report>
}

/** Finds a run by its id, and stays connected while `use` runs. Throws a UsageError if Redis does not know it. */
export async function attachTo<Result>(
  runId: string,
  url: string,
  use: (run: AttachedRun) => Promise<Result>,
): Promise<Result> {
  const redis = await connectState(await loadQueuePackages(), url)
  try {
    const state = createRunState(redis, runId)
    const found = await state.job()
    if (found === null)
      throw new UsageError({
        where: 'run',
        got: JSON.stringify(runId),
        expected: 'the id of a run that this Redis knows, as the run prints it',
      })
    const job = unpack<SharedJob>('job', found)
    const redisClock = createRedisClock(redis, systemClock())
    await redisClock.measure()
    const clock = clockFromEpoch(redisClock.epochAt(job.zeroMs))
    const records = createRecordStore(redis, runId)
    return await use({
      job,
      clock,
      follow: (baselines, io) => followRun({ state, records }, job, baselines, { ...io, clock }),
    })
  } finally {
    redis.disconnect()
  }
}
