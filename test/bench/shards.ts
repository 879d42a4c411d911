import { readFileSync } from 'node:fs'
import { Redis } from 'ioredis'
import { type RealRedis, startRedis } from '../support/real-redis.ts'
import { findProgram, onFreshTarget, startChild } from './support/child.ts'
import type { Bench, Figure } from './support/figure.ts'
import { rpcProfile, runShipped, type Shipped } from './support/shipped.ts'

const sampleMs = 250
/** Workers refuse a run of another version. */
const { version }: { readonly version: string } = JSON.parse(readFileSync('package.json', 'utf8'))

/** What Redis has done since it started. */
type Sample = {
  readonly atMs: number
  readonly commands: number
  readonly inBytes: number
  readonly outBytes: number
  readonly cpuMs: number
  /** How long Redis took for a PING. */
  readonly pingMs: number
}

/** What Redis did in a part of a run, per second. */
type Cost = {
  readonly commands: number
  readonly inKb: number
  readonly outKb: number
  readonly core: number
  readonly pingMs: number
}

type Measured = {
  readonly waiting: Cost
  readonly load: Cost
  /** From the first look of the terminal to the start of the load, and from its end to the report. */
  readonly readySeconds: number
  readonly endSeconds: number
  /** The largest snapshot and result of a shard. */
  readonly snapshotBytes: number
  readonly resultBytes: number
}

/**
 * What a run costs Redis, by its number of shards: the shipped command, a Redis that writes each change to disk, and
 * workers that do everything but drive a load, all in one process. Only the first shard drives one.
 */
export const benchShards: Bench = async ({ short }) => {
  if (findProgram('TURNPIKE_REDIS_SERVER', 'redis-server') === null) {
    console.log('\nshards skipped: redis-server is not installed')
    return []
  }
  const seconds = short ? 5 : 15
  console.log(`\nRuns over shards: a load of ${seconds} s. Redis writes each change to disk.`)
  console.log('                before the load                              during the load')
  console.log(
    '  shards  commands/s  in kB/s  out kB/s   core  PING p99   commands/s  in kB/s  out kB/s   core  PING p99   start s  end s  snapshot  result B',
  )
  const figures: Figure[] = []
  for (const shards of short ? [4, 16] : [10, 100, 1_000]) {
    const { waiting, load, readySeconds, endSeconds, snapshotBytes, resultBytes } = await measure(shards, seconds)
    console.log(
      `  ${String(shards).padStart(6)}${cells(waiting)} ${cells(load)}${readySeconds.toFixed(1).padStart(10)}${endSeconds.toFixed(1).padStart(7)}${String(snapshotBytes).padStart(10)}${String(resultBytes).padStart(10)}`,
    )
    figures.push({ name: `core of Redis for ${shards} shards, during the load`, value: load.core, unit: '', aim: null })
  }
  return figures
}

const cells = ({ commands, inKb, outKb, core, pingMs }: Cost): string =>
  [
    commands.toFixed(0).padStart(12),
    inKb.toFixed(0).padStart(9),
    outKb.toFixed(0).padStart(10),
    `${(100 * core).toFixed(1)} %`.padStart(7),
    `${pingMs.toFixed(1)} ms`.padStart(10),
  ].join('')

const scenarioOf = (shards: number, seconds: number): string => `
name: bench
callers: { count: ${shards} }
calls: { rpc: { kind: rpc, network: ethereum-mainnet, methods: { eth_blockNumber: 1 } } }
stages: [{ name: load, duration: ${seconds}s, shape: constant, rate: ${shards * 50}/s, mix: { rpc: 1 } }]
bounds: { max-in-flight: ${Math.max(64, shards)} }
record: none
thresholds: [{ expect: violations == 0, why: The target meets every clause. }]
`

async function measure(shards: number, seconds: number): Promise<Measured> {
  const redis = await startRedis()
  const workers = startChild('./programs/shard-workers.js', [redis.url, String(shards), version])
  const watch = watchRedis(redis)
  try {
    await workers.firstMessage
    const flags = ['--redis', redis.url, '--shards', String(shards), '--ready-within', '120', '--no-warm-up']
    const run = (port: string): Promise<Shipped> =>
      runShipped({
        scenario: scenarioOf(shards, seconds),
        profile: rpcProfile,
        port,
        flags,
        core: null,
        verdicts: ['pass', 'fail', 'inconclusive'],
      })
    await onFreshTarget(run, ['{"kind":"stamp"}'])
    const endMs = Date.now()
    const { samples, startMs, snapshotBytes, resultBytes } = await watch.end()
    const firstMs = samples[0]?.atMs ?? Number.NaN
    const loadEndMs = startMs + 1_000 * seconds
    return {
      waiting: costOf(samples, firstMs, startMs - 2_000),
      load: costOf(samples, startMs + 500, loadEndMs - 500),
      readySeconds: (startMs - firstMs) / 1_000,
      endSeconds: (endMs - loadEndMs) / 1_000,
      snapshotBytes,
      resultBytes,
    }
  } finally {
    workers.stop()
    await watch.end()
    await redis.kill()
  }
}

/** Samples what Redis has done since the first run appeared. */
function watchRedis({ url }: RealRedis) {
  const client = new Redis(url)
  const samples: Sample[] = []
  let run: string | null = null
  let startMs = Number.NaN
  let [snapshotBytes, resultBytes] = [0, 0]
  const look = async () => {
    run ??= (await client.keys('turnpike:{*}'))[0] ?? null
    if (run === null) return
    if (Number.isNaN(startMs)) startMs = Number((await client.hget(run, 'startMs')) ?? Number.NaN)
    snapshotBytes = Math.max(snapshotBytes, await client.hstrlen(`${run}:0`, 'snapshot'))
    resultBytes = Math.max(resultBytes, await client.hstrlen(`${run}:0`, 'result'))
    const sentMs = performance.now()
    await client.ping()
    const pingMs = performance.now() - sentMs
    const info = await client.info()
    const of = (name: string): number => Number(new RegExp(`^${name}:(.*)$`, 'm').exec(info)?.[1])
    samples.push({
      atMs: Date.now(),
      commands: of('total_commands_processed'),
      inBytes: of('total_net_input_bytes'),
      outBytes: of('total_net_output_bytes'),
      cpuMs: 1_000 * (of('used_cpu_user') + of('used_cpu_sys')),
      pingMs,
    })
  }
  let looking: Promise<void> = Promise.resolve()
  const timer = setInterval(() => {
    looking = looking.then(look)
  }, sampleMs)
  return {
    end: async () => {
      clearInterval(timer)
      await looking
      client.disconnect()
      return { samples, startMs, snapshotBytes, resultBytes }
    },
  }
}

function costOf(samples: readonly Sample[], fromMs: number, toMs: number): Cost {
  const during = samples.filter(({ atMs }) => atMs >= fromMs && atMs <= toMs)
  const [first, last] = [during[0], during.at(-1)]
  const spanSeconds = ((last?.atMs ?? 0) - (first?.atMs ?? 0)) / 1_000
  const perSecond = (of: (sample: Sample) => number) =>
    first === undefined || last === undefined ? Number.NaN : (of(last) - of(first)) / spanSeconds
  const pings = during.map(({ pingMs }) => pingMs).toSorted((a, b) => a - b)
  return {
    commands: perSecond(({ commands }) => commands),
    inKb: perSecond(({ inBytes }) => inBytes) / 1_000,
    outKb: perSecond(({ outBytes }) => outBytes) / 1_000,
    core: perSecond(({ cpuMs }) => cpuMs) / 1_000,
    pingMs: pings[Math.ceil(0.99 * pings.length) - 1] ?? Number.NaN,
  }
}
