import type { JobsOptions } from 'bullmq'
import type { Redis } from 'ioredis'
import { optionalPackages } from '../../lib/optional-packages.ts'
import { UsageError } from '../../lib/usage-error.ts'

/** What a worker takes from the queue: which shard of which run. Everything else is in the state of the run. */
export type QueuedShard = { readonly runId: string; readonly shard: number; readonly hash: string }

/** BullMQ and ioredis, which only runs over many machines need. */
export const queuePackages = optionalPackages('Runs over several machines', ['bullmq', 'ioredis'], async () => {
  const [{ Queue, Worker }, { Redis }] = await Promise.all([import('bullmq'), import('ioredis')])
  return { Queue, Worker, Redis }
})
export type QueuePackages = NonNullable<Awaited<ReturnType<typeof queuePackages.load>>>

/** A connection to Redis. */
export type RedisClient = Redis

export const queueName = 'turnpike-shards'

/** A shard is tried once. What BullMQ would repeat, it would send twice. */
export const jobOptions: JobsOptions = { attempts: 1, removeOnComplete: { age: 86_400 }, removeOnFail: { age: 86_400 } }

/**
 * How a worker takes jobs: one at a time, and none that another has begun. The lock is renewed from an event loop that
 * drives no load.
 */
export const workerOptions = {
  concurrency: 1,
  lockDuration: 15_000,
  stalledInterval: 5_000,
  maxStalledCount: 0,
} as const

/** How long a command of the state of a run may take. */
const commandTimeoutMs = 2_000
/** How long the first connection may take. */
const connectTimeoutMs = 5_000

/** A connection for the queue, whose commands wait until Redis is there. BullMQ needs it so. */
export const connectQueue = ({ Redis }: QueuePackages, url: string): RedisClient =>
  quiet(new Redis(url, { maxRetriesPerRequest: null }))

/** A connection for the state of a run, whose commands reject if Redis is away. Throws a UsageError if it is not there. */
export async function connectState({ Redis }: QueuePackages, url: string): Promise<RedisClient> {
  if (!URL.canParse(url) || !/^rediss?:$/.test(new URL(url).protocol))
    throw new UsageError({
      where: '--redis',
      got: 'not a redis or rediss address',
      expected: 'an address such as redis://127.0.0.1:6379',
    })
  const retryStrategy = (times: number) => Math.min(times * 100, 1_000)
  const options = { maxRetriesPerRequest: null, commandTimeout: commandTimeoutMs, connectTimeout: connectTimeoutMs }
  const redis = new Redis(url, { ...options, retryStrategy })
  let why = 'no response'
  redis.on('error', (cause: Error) => {
    why = cause.message
  })
  try {
    await redis.ping()
  } catch (cause) {
    redis.disconnect()
    // The URL may have a password, so only its host is shown.
    const got = `${new URL(url).host}: ${why === 'no response' && cause instanceof Error ? cause.message : why}`
    throw new UsageError({ where: '--redis', got, expected: 'a Redis that responds' })
  }
  return redis
}

/** ioredis prints errors without a listener. It reconnects by itself. */
export function quiet(redis: RedisClient): RedisClient {
  redis.on('error', () => {})
  return redis
}
