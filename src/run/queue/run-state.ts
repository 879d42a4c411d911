import { readFileSync } from 'node:fs'
import { messageOf } from '../../lib/usage-error.ts'
import { endings } from '../../observation/log-lines.ts'
import type { StopReason } from '../../produce/drivers/stop.ts'
import type { RedisClient } from './queue.ts'

/**
 * The state of a run that many machines share, in Redis. Every change is one script, so that it is complete or does not
 * happen. All times are milliseconds on the clock of Redis. Every function rejects if Redis does not respond in time, and
 * with `DamagedState` if another program changed a number. Only what is sealed is a secret.
 */
export type RunState = {
  readonly create: (run: NewRun) => Promise<void>
  readonly job: () => Promise<Buffer | null>
  /** Takes a shard, once for all time. null: it is taken now; otherwise why it is not. `about`: describes the worker. */
  readonly claim: (shard: number, worker: string, publicKey: string, about?: Buffer) => Promise<string | null>
  /** Gives the worker of a shard its sealed secrets. */
  readonly give: (shard: number, sealed: Buffer) => Promise<void>
  readonly sealedFor: (shard: number) => Promise<Buffer | null>
  /** Notes that a shard is ready for its load. For the last one, resolves with the openings of all shards. */
  readonly arrive: (shard: number, worker: string, opening: Buffer) => Promise<readonly Buffer[] | null>
  /** Sets when the load starts, unless the run has ended. */
  readonly start: (leadMs: number) => Promise<void>
  /** Notes that a shard knows when to start. */
  readonly confirm: (shard: number) => Promise<void>
  /** Decides, once for all shards, whether the load starts: every shard must have confirmed it. */
  readonly decide: () => Promise<boolean>
  /** Ends the run. The first reason wins, but `worker-lost` overrides it. */
  readonly stop: (reason: StopReason, why: string) => Promise<void>
  /** Ends the run, and the requests in flight. */
  readonly cancel: () => Promise<void>
  /** Notes that a worker is alive, and its snapshot. */
  readonly beat: (shard: number, worker: string, snapshot: Buffer | null) => Promise<Signal>
  /** Reads the state of the run. Ends the run if a shard has been silent for too long. */
  readonly look: () => Promise<Signal>
  /** Takes the result and the last snapshot of a shard from the worker that claimed it, unless the worker counts as lost. */
  readonly finish: (shard: number, worker: string, result: Buffer, snapshot?: Buffer | null) => Promise<boolean>
  /** Who has claimed each shard, in order; null: not claimed. One round trip, as for the two below. */
  readonly claims: (shards: number) => Promise<readonly (ShardClaim | null)[]>
  /** What live views show of each shard, in order. Empty: Redis no longer knows the run. */
  readonly views: () => Promise<readonly ShardView[]>
  /** The results of some shards, in that order; null: no result yet. */
  readonly results: (shards: readonly number[]) => Promise<readonly (Buffer | null)[]>
  /** Gives back a part of the budget, and takes another. A part counts as spent until it is given back. */
  readonly lease: (shard: number, request: LeaseRequest) => Promise<LeaseReply>
  /** The part of the budget that is taken and not given back, in pico-USD. */
  readonly leased: () => Promise<bigint>
}

export type NewRun = {
  readonly shards: number
  readonly job: Buffer
  /** If the load has not started by then, the run ends. */
  readonly deadlineMs: number
  /** A worker that is silent for longer is lost. It stops itself if it cannot reach Redis for half of this time. */
  readonly silenceMs: number
}

export type Signal = {
  /** When the load starts; null: not yet known. */
  readonly startMs: number | null
  readonly stop: { readonly reason: StopReason; readonly why: string } | null
  /** Whether requests in flight must end now. */
  readonly isCancelled: boolean
  /** How many shards have a result. */
  readonly finished: number
  /** How many shards have no result yet and a worker that is alive. */
  readonly working: number
  readonly silenceMs: number
  readonly nowMs: number
}

type ShardClaim = { readonly worker: string; readonly publicKey: string; readonly about: Buffer | null }

/** `lost`: its worker has been silent for too long. `snapshot`: its last one. */
export type ShardView = {
  readonly state: 'waiting' | 'working' | 'finished' | 'lost'
  readonly worker: string | null
  readonly snapshot: Buffer | null
}

/** Amounts are in pico-USD, rounded to whole thousands. */
export type LeaseRequest = {
  /** The budget of the run. */
  readonly limit: bigint
  /** The maximum cost of the most expensive arrival of the run. */
  readonly least: bigint
  /** The sum that this shard has given back so far. */
  readonly givenBack: bigint
  /** What an arrival of this shard lacks now; 0: nothing. */
  readonly lacking: bigint
  /** Whether to take a part in advance, if there is enough for all. */
  readonly isSpare: boolean
  /** The last ask of another shard after which this one gave back what it did not use; null: it takes no more. */
  readonly answered: number | null
}

export type LeaseReply = {
  /** The sum that this shard has got so far. */
  readonly granted: bigint
  /** How often a shard has asked the others to give back; the number of the last ask. */
  readonly asks: number
  /** Whether another shard has asked before this one, and still lacks something. */
  readonly isOlderAsk: boolean
  /** Whether all others have given back what they did not use, and it is not enough. */
  readonly isFinal: boolean
}

/** How long the state of a run is kept. */
export const keptSeconds = 7 * 24 * 3_600

/** The prefix of all keys and channels of a run. The braces put them into one slot of a Redis cluster. */
export const runKeyOf = (runId: string): string => `turnpike:{${runId}}`

/** The scripts of the folder `scripts`. Each states its keys, its arguments and what it returns. */
const scripts = [
  ...['claim', 'arrive', 'start', 'confirm', 'decide', 'stop', 'cancel'],
  ...['beat', 'look', 'finish', 'views', 'lease'],
] as const

const readScript = (name: string): string => readFileSync(new URL(`./scripts/${name}.lua`, import.meta.url), 'utf8')

/** A number in the state of a run is not one. Trying again does not help. */
export class DamagedState extends Error {}

type ScriptName = (typeof scripts)[number]
type Argument = string | number | Buffer
type Call = (keyCount: number, ...args: readonly Argument[]) => Promise<unknown>

export function createRunState(redis: RedisClient, runId: string): RunState {
  const run = runKeyOf(runId)
  const shardKey = (shard: number) => `${run}:${shard}`
  const prelude = readScript('prelude')
  for (const name of scripts) redis.defineCommand(commandOf(name), { lua: `${prelude}\n${readScript(name)}` })
  const call = async (name: ScriptName, keys: readonly string[], args: readonly Argument[]) => {
    // Redis gets the text of a script once, and its hash from then on.
    const command = (redis as unknown as Readonly<Record<string, Call>>)[`${commandOf(name)}Buffer`]
    if (command === undefined) throw new RangeError(`no script named ${name}`)
    return await command.call(redis, keys.length, ...keys, ...args).catch(damagedOrCause)
  }
  const ofRun = (name: ScriptName, ...args: readonly Argument[]) => call(name, [run], args)
  const ofShard = (name: ScriptName, shard: number, ...args: readonly Argument[]) =>
    call(name, [run, shardKey(shard)], [shard, ...args])

  /** Some fields of some shards, in one round trip. */
  const readAll = async (shards: readonly number[], fields: readonly string[]) => {
    const pipeline = redis.pipeline()
    for (const shard of shards) pipeline.hmgetBuffer(shardKey(shard), ...fields)
    const replies = (await pipeline.exec()) ?? []
    return replies.map(([failure, found]) => {
      if (failure !== null) throw failure
      return found as readonly (Buffer | null)[]
    })
  }

  return {
    create: async ({ shards, job, deadlineMs, silenceMs }) => {
      await redis.hset(run, { shards, job, deadlineMs, silenceMs })
      await redis.expire(run, keptSeconds)
    },
    job: () => redis.hgetBuffer(run, 'job'),
    claim: async (shard, worker, publicKey, about = Buffer.alloc(0)) => {
      const refusal = await ofShard('claim', shard, worker, publicKey, about, keptSeconds)
      return Array.isArray(refusal) ? 'the run is unknown' : textOf(refusal) || null
    },
    give: async (shard, sealed) => void (await redis.hset(shardKey(shard), { sealed })),
    sealedFor: shard => redis.hgetBuffer(shardKey(shard), 'sealed'),
    arrive: async (shard, worker, opening) => {
      const all = await ofShard('arrive', shard, worker, opening, keptSeconds)
      return Array.isArray(all) && all.every(each => each instanceof Buffer) ? all : null
    },
    start: async leadMs => void (await ofRun('start', leadMs)),
    confirm: async shard => void (await ofRun('confirm', shard, keptSeconds)),
    decide: async () => Number(await ofRun('decide')) === 1,
    stop: async (reason, why) => void (await ofRun('stop', reason, why)),
    cancel: async () => void (await ofRun('cancel')),
    beat: (shard, worker, snapshot) => ofShard('beat', shard, worker, snapshot ?? '').then(signalOf, lostIfDamaged),
    look: () => ofRun('look').then(signalOf, lostIfDamaged),
    finish: async (shard, worker, result, snapshot) =>
      Number(await ofShard('finish', shard, worker, result, snapshot ?? '')) === 1,
    claims: async shards => {
      const all = await readAll(range(shards), ['worker', 'publicKey', 'about'])
      return all.map(([worker, publicKey, about]) =>
        worker && publicKey
          ? { worker: worker.toString(), publicKey: publicKey.toString(), about: about?.length ? about : null }
          : null,
      )
    },
    views: async () => viewsOf(await ofRun('views')),
    results: async shards => (await readAll(shards, ['result'])).map(([result]) => result ?? null),
    lease: async (shard, request) => leaseReplyOf(await ofRun('lease', ...leaseArguments(shard, request), keptSeconds)),
    leased: async () => BigInt((await redis.hget(run, 'leased')) ?? 0) * leaseUnit,
  }
}

const range = (count: number): readonly number[] => Array.from({ length: count }, (_, index) => index)

const commandOf = (script: string): string => `turnpike-${script}`

const textOf = (value: unknown): string | null => (value instanceof Buffer ? value.toString() : null)

/** Rejects with the reason that a script stated, without the position in the script that Redis adds. */
function damagedOrCause(cause: unknown): never {
  const reason = /DAMAGED (.*?)(?: script: [0-9a-f]+, on .*)?$/.exec(messageOf(cause))?.[1]
  throw reason === undefined ? cause : new DamagedState(reason)
}

function lostIfDamaged(cause: unknown): Signal {
  if (cause instanceof DamagedState) return lost(cause.message)
  throw cause
}

const lost = (why: string): Signal => ({
  startMs: null,
  stop: { reason: 'worker-lost', why },
  isCancelled: false,
  finished: 0,
  working: 0,
  silenceMs: 0,
  nowMs: 0,
})

function signalOf(value: unknown): Signal {
  // Redis was started again without its data.
  if (!Array.isArray(value) || value.length < 8) return lost('Redis no longer knows the run')
  const [nowMs, start, stop, why, cancelled, finished, silence, working] = (value as readonly unknown[]).map(each =>
    each instanceof Buffer ? each.toString() : String(each),
  )
  const reason = endings.filter(each => each !== 'complete').find(each => each === stop)
  const numbers = {
    finished: Number(finished),
    working: Number(working),
    silenceMs: Number(silence),
    nowMs: Number(nowMs),
  }
  const startMs = start === '' ? null : Number(start)
  const isOurs = (stop === '' || reason !== undefined) && Object.values({ ...numbers, startMs }).every(isTime)
  if (!isOurs) return lost('another program changed the state of the run in Redis')
  return {
    ...numbers,
    startMs,
    stop: reason === undefined ? null : { reason, why: why ?? '' },
    isCancelled: cancelled === '1',
  }
}

const isTime = (value: number | null): boolean => value === null || (value >= 0 && value <= Number.MAX_SAFE_INTEGER)

function viewsOf(value: unknown): readonly ShardView[] {
  const all: readonly unknown[] = Array.isArray(value) ? value : []
  return all.filter(Array.isArray).map(([state, worker, snapshot]: readonly unknown[]) => ({
    state: String(state) as ShardView['state'],
    worker: textOf(worker) || null,
    snapshot: snapshot instanceof Buffer && snapshot.length > 0 ? snapshot : null,
  }))
}

/** In Lua, numbers are exact up to 2^53, which would be 9,000 USD in pico-USD. */
const leaseUnit = 1_000n
const wholeUnits = (amount: bigint): bigint => (amount + leaseUnit - 1n) / leaseUnit

function leaseArguments(
  shard: number,
  { limit, least, givenBack, lacking, isSpare, answered }: LeaseRequest,
): readonly (string | number)[] {
  const sums = [limit / leaseUnit, least / leaseUnit + 1n, givenBack / leaseUnit, wholeUnits(lacking)].map(String)
  return [shard, ...sums, isSpare ? 1 : 0, answered ?? 'over']
}

/** Nothing is granted if Redis no longer knows the run. */
function leaseReplyOf(value: unknown): LeaseReply {
  const [granted = '0', asks = '0', older, final] = Array.isArray(value) ? value.map(String) : []
  // For an unknown run, the script returns -1.
  const sum = granted.startsWith('-') ? 0n : BigInt(granted)
  return { granted: sum * leaseUnit, asks: Number(asks), isOlderAsk: older === '1', isFinal: final === '1' }
}
