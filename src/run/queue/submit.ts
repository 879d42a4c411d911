import { type Clock, sleepUntil } from '../../lib/clock.ts'
import type { RunJob } from '../run.ts'
import { jobOptions, type QueuedShard, type QueuePackages, queueName, type RedisClient } from './queue.ts'
import { createRedisClock } from './redis-clock.ts'
import { createRunState, type RunState } from './run-state.ts'
import { hashOf, seal } from './seal.ts'
import { pack, type SharedJob, sealContext, shardSecretsOf } from './shared-job.ts'

export type ShardTerms = {
  readonly shards: number
  /** How long the run waits until every shard is ready. */
  readonly readyWithinMs: number
  /** How long a worker may be silent. */
  readonly silenceMs: number
  /** Whether the terminal that concludes the run gets the records. */
  readonly collect: boolean
}

/** Describes a run in Redis, and puts its shards into the queue. */
export async function submitRun(
  job: RunJob,
  { shards, readyWithinMs, silenceMs, collect }: ShardTerms,
  { packages, redis, clock }: { readonly packages: QueuePackages; readonly redis: RedisClient; readonly clock: Clock },
): Promise<{ readonly state: RunState; readonly shared: SharedJob }> {
  const redisClock = createRedisClock(redis, clock)
  await redisClock.measure()
  const nowMs = redisClock.nowMs()
  const zeroMs = nowMs - clock.nowMs()
  const { info, plan, contract, warmUp, failFast, untilDecided, details } = job
  const common = { plan, contract, warmUp, failFast, untilDecided, details }
  const shared: SharedJob = { info: { ...info, startedAtMs: zeroMs }, ...common, shards, silenceMs, zeroMs, collect }
  const packed = pack('job', shared)
  const state = createRunState(redis, info.runId)
  const whole = { deadlineMs: Math.round(nowMs + readyWithinMs), silenceMs: Math.round(silenceMs) }
  await state.create({ shards, job: packed, ...whole })
  const queue = new packages.Queue<QueuedShard>(queueName, { connection: redis })
  const hash = hashOf(packed)
  const all = Array.from({ length: shards }, (_, shard) => {
    return {
      name: `${plan.scenario} ${shard + 1}/${shards}`,
      data: { runId: info.runId, shard, hash },
      opts: jobOptions,
    }
  })
  await queue.addBulk(all)
  await queue.close()
  return { state, shared }
}

/**
 * Gives the keys of each shard to the worker that has claimed it. Resolves when all have them, or the run has ended.
 * Tries again while Redis is away, until `over` is aborted.
 */
export async function giveKeys(
  state: RunState,
  job: RunJob,
  shards: number,
  { clock, over }: { readonly clock: Clock; readonly over: AbortSignal },
): Promise<void> {
  const given = new Set<number>()
  /** Resolves with whether every shard has its keys, or the run has ended. */
  async function give(): Promise<boolean> {
    for (const [shard, claim] of (await state.claims(shards)).entries()) {
      if (claim === null || given.has(shard)) continue
      const secrets = pack('keys', shardSecretsOf(job, shard, shards))
      await state.give(shard, seal(secrets, claim.publicKey, sealContext(job.info.runId, shard)))
      given.add(shard)
    }
    return given.size === shards || (await state.look()).stop !== null
  }
  while (!over.aborted && !(await give().catch(() => false))) await sleepUntil(clock, clock.nowMs() + 100, over)
}
