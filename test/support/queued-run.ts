import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { Redis } from 'ioredis'
import type { TestContext } from 'vitest'
import type { Report } from '../../src/report/document.ts'
import type { Lie } from '../../src/service/lies/lie.ts'
import { type RealRedis, type RedisSettings, startRedis } from './real-redis.ts'
import { selfSigned } from './self-signed.ts'
import { type Ended, freshDirectory, type Started, startForTest } from './turnpike.ts'
import { startWatchedService, type WatchedService } from './watched-service.ts'

/** How far a run over several machines is, as Redis holds it. Read only: it changes nothing. */
export type Progress = {
  readonly jobs: number
  /** The worker of each shard; null: nobody has claimed it. */
  readonly workers: readonly (string | null)[]
  readonly ready: number
  /** Milliseconds since the start of the load, on the clock of Redis; negative before it, or null if it is not set. */
  readonly loadMs: number | null
  /** On the clock of Redis, in Unix milliseconds. */
  readonly startMs: number | null
  readonly stop: string | null
  readonly why: string | null
  readonly results: number
}

export type QueuedRun = {
  readonly terminal: Started
  readonly id: string
  readonly out: string
  readonly progress: () => Promise<Progress>
  /** Looks again and again until it is so. Rejects if that takes longer than a minute, or if the terminal ends. */
  readonly until: (isSo: (progress: Progress) => boolean) => Promise<Progress>
  readonly conclude: () => Promise<Ended & { readonly report: Report }>
}

export type RunOptions = {
  readonly shards: number
  readonly target: string
  readonly scenario: string
  readonly flags?: readonly string[]
  readonly environment?: Readonly<Record<string, string>>
}

/** A Redis of its own, with workers and runs that end with the test. */
export type QueueOfTest = {
  readonly redis: RealRedis
  readonly serve: (lies?: readonly Lie[]) => Promise<WatchedService>
  readonly startWorker: (name: string, more?: WorkerOptions) => Promise<Started>
  readonly startWorkers: (count: number) => Promise<readonly Started[]>
  readonly startRun: (options: RunOptions) => Promise<QueuedRun>
  /**
   * Resolves half a second after the start of the load. A run whose workers get too little of a busy machine ends before
   * that, sends no load, and is started again.
   */
  readonly startLoad: (options: RunOptions) => Promise<QueuedRun>
}

export type WorkerOptions = {
  readonly redisUrl?: string
  readonly flags?: readonly string[]
  readonly environment?: Readonly<Record<string, string>>
}

/** How long a state of a run may take on a busy machine. */
const patienceMs = 60_000

export async function startQueue(
  onTestFinished: TestContext['onTestFinished'],
  settings: RedisSettings = {},
): Promise<QueueOfTest> {
  const redis = await startRedis(settings)
  onTestFinished(() => redis.kill())
  const startWorker = async (name: string, { redisUrl = redis.url, flags = [], environment }: WorkerOptions = {}) => {
    const worker = startForTest(['worker', '--redis', redisUrl, '--name', name, ...flags], onTestFinished, environment)
    await worker.said('Waiting for shards')
    return worker
  }
  async function startRun({ shards, target, scenario, flags = [], environment }: RunOptions): Promise<QueuedRun> {
    const out = freshDirectory()
    const common = ['run', scenario, '--target', target, '--out', out, '--no-progress', '--no-warm-up']
    const queued = ['--redis', redis.url, '--shards', String(shards)]
    const terminal = startForTest([...common, ...queued, ...flags], onTestFinished, environment)
    const [id = ''] = /\d{8}T\d{6}Z-[0-9a-f]{6}/.exec(await terminal.said(/Run \S+/)) ?? []
    const client = new Redis(redis.url, {
      tls: redis.url.startsWith('rediss:') ? { ca: selfSigned.cert } : undefined,
    })
    client.on('error', () => {})
    onTestFinished(() => client.disconnect())
    const progress = () => progressOf(client, id, shards)
    return {
      terminal,
      id,
      out,
      progress,
      until: async isSo => {
        for (let waitedMs = 0; waitedMs < patienceMs; waitedMs += 20) {
          const now = await progress()
          if (isSo(now)) return now
          if (terminal.child.exitCode !== null) break
          await pause(20)
        }
        throw new Error(`the run did not get there: ${JSON.stringify(await progress())}`)
      },
      conclude: async () => ({ ...(await terminal.ended), report: reportIn(out) }),
    }
  }

  async function startLoad(options: RunOptions): Promise<QueuedRun> {
    const run = await startRun(options)
    const { stop } = await run.until(({ stop, loadMs }) => stop !== null || (loadMs !== null && loadMs > 500))
    if (stop !== 'worker-lost') return run
    await run.conclude()
    return await startLoad(options)
  }
  return {
    redis,
    serve: async lies => {
      const service = await startWatchedService(lies)
      onTestFinished(() => service.close())
      return service
    },
    startWorker,
    startWorkers: async count => {
      const workers: Started[] = []
      // A few at a time: a process that starts uses a core.
      while (workers.length < count) {
        const names = Array.from({ length: Math.min(4, count - workers.length) }, (_, at) => `w${workers.length + at}`)
        workers.push(...(await Promise.all(names.map(name => startWorker(name)))))
      }
      return workers
    },
    startRun,
    startLoad,
  }
}

async function progressOf(client: Redis, id: string, shards: number): Promise<Progress> {
  const run = `turnpike:{${id}}`
  const [seconds, micros] = await client.time()
  const [start, stop, why, results] = await client.hmget(run, 'startMs', 'stop', 'why', 'finished')
  const workers = await Promise.all(
    Array.from({ length: shards }, (_, shard) => client.hget(`${run}:${shard}`, 'worker')),
  )
  const nowMs = Number(seconds) * 1_000 + Number(micros) / 1_000
  const startMs = start == null ? null : Number(start)
  return {
    jobs: await client.exists(run),
    workers,
    ready: await client.scard(`${run}:ready`),
    startMs,
    loadMs: startMs === null ? null : nowMs - startMs,
    stop: stop ?? null,
    why: why ?? null,
    results: Number(results ?? 0),
  }
}

export const reportIn = (out: string): Report => JSON.parse(readFileSync(join(out, 'report.json'), 'utf8'))

/** Writes a scenario, and returns its path. */
export function scenarioFile(name: string, lines: readonly string[]): string {
  const file = join(freshDirectory(), `${name}.yaml`)
  writeFileSync(file, [`name: ${name}`, ...lines, ''].join('\n'))
  return file
}

/** Unique requests at a constant rate, whose cost does not depend on their order. */
export const steadyScenario = (load: { readonly callers: number; readonly rate: number; readonly seconds: number }) =>
  scenarioFile('steady', [
    `callers: { count: ${load.callers} }`,
    'calls:',
    '  batch: { kind: rpc-batch, network: ethereum-mainnet, size: 2, methods: { eth_getBalance: 1 } }',
    'stages:',
    `  - { name: steady, duration: ${load.seconds}s, shape: constant, rate: ${load.rate}/s, exceed-tier: true, mix: { batch: 1 } }`,
    'thresholds:',
    '  - { expect: violations == 0, why: The reference service meets every clause. }',
    '  - { expect: failed == 0, why: The service answers. }',
  ])

/** The requests of a load that a target got more than once. Each of them is unique by its plan. */
export function repeatedIn(service: WatchedService): readonly string[] {
  const counts = new Map<string, number>()
  for (const { run, caller, content, isPost } of service.seen()) {
    const name = `${run} ${caller} ${content}`
    if (isPost) counts.set(name, (counts.get(name) ?? 0) + 1)
  }
  return [...counts].flatMap(([request, count]) => (count > 1 ? [request] : []))
}
