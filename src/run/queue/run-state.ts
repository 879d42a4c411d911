import { endings } from '../../observation/log-lines.ts'
import type { StopReason } from '../../produce/drivers/stop.ts'
import {
  type LeaseReply,
  type LeaseRequest,
  leaseArguments,
  leaseReplyOf,
  leaseScript,
  leaseUnit,
} from './lease-script.ts'
import type { RedisClient } from './queue.ts'

/**
 * The state of a run that many machines share, in Redis. Every change is one script, so that it happens whole or not at
 * all. All times are milliseconds on the clock of Redis. Every function rejects if Redis does not answer in time. Nothing
 * here is a secret, but for what is sealed.
 */
export type RunState = {
  readonly create: (run: NewRun) => Promise<void>
  readonly job: () => Promise<Buffer | null>
  /** Takes a shard, once for all time. null: it is taken now; otherwise why it is not. `about`: what the worker says of itself. */
  readonly claim: (shard: number, worker: string, publicKey: string, about?: Buffer) => Promise<string | null>
  /** Gives the worker of a shard what only it can read. */
  readonly give: (shard: number, sealed: Buffer) => Promise<void>
  readonly sealedFor: (shard: number) => Promise<Buffer | null>
  /** Notes that a shard is ready for its load. Resolves with what all shards noted, for the last one of them. */
  readonly arrive: (shard: number, worker: string, opening: Buffer) => Promise<readonly Buffer[] | null>
  /** Sets when the load starts, unless the run has ended. */
  readonly start: (leadMs: number) => Promise<void>
  /** Notes that a shard knows when to start. */
  readonly confirm: (shard: number) => Promise<void>
  /** Decides, once for all shards, whether the load starts: every shard must have confirmed it. */
  readonly decide: () => Promise<boolean>
  /** Ends the run. The first reason wins, but `worker-lost` overrides it. */
  readonly stop: (reason: StopReason, why: string) => Promise<void>
  /** Ends the run, and what is in flight. */
  readonly cancel: () => Promise<void>
  /** Notes that a worker is alive, and its snapshot. */
  readonly beat: (shard: number, worker: string, snapshot: Buffer | null) => Promise<Signal>
  /** What a worker or a terminal must know. Ends the run if a shard has been silent for too long. */
  readonly look: () => Promise<Signal>
  /** Takes the result and the last snapshot of a shard, from the worker that has claimed it, while nobody takes it for lost. */
  readonly finish: (shard: number, worker: string, result: Buffer, snapshot?: Buffer | null) => Promise<boolean>
  /** Who has claimed each shard, in order; null: nobody. One round trip, as for the two below. */
  readonly claims: (shards: number) => Promise<readonly (ShardClaim | null)[]>
  /** What live views show of each shard, in order. Empty: Redis no longer knows the run. */
  readonly views: () => Promise<readonly ShardView[]>
  /** The results of some shards, in that order; null: there is none. */
  readonly results: (shards: readonly number[]) => Promise<readonly (Buffer | null)[]>
  /** Gives back a part of the budget, and takes another. What was taken is spent, unless it is given back. */
  readonly lease: (shard: number, request: LeaseRequest) => Promise<LeaseReply>
  /** What is taken of the budget and not given back, in pico-USD. */
  readonly leased: () => Promise<bigint>
}

export type NewRun = {
  readonly shards: number
  readonly job: Buffer
  /** The load starts before, or never. */
  readonly deadlineMs: number
  /** A worker that is silent for longer is lost. It stops itself if it cannot reach Redis for half of that. */
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
  /** How many shards have none yet and a worker that is alive, as far as Redis heard. */
  readonly working: number
  readonly silenceMs: number
  readonly nowMs: number
}

export type ShardClaim = { readonly worker: string; readonly publicKey: string; readonly about: Buffer | null }

/** `lost`: its worker has been silent for too long. `snapshot`: its last one. */
export type ShardView = {
  readonly state: 'waiting' | 'working' | 'finished' | 'lost'
  readonly worker: string | null
  readonly snapshot: Buffer | null
}

/** How long the state of a run is kept. */
export const keptSeconds = 7 * 24 * 3_600

/** Where all keys and channels of a run begin. With the braces, they are in one slot of a Redis cluster. */
export const runKeyOf = (runId: string): string => `turnpike:{${runId}}`

/** The keys of a run: its hash, when each worker was heard last, which shards are ready, and which know the start. */
const keys = `
  local run, beats, ready, confirmed = KEYS[1], KEYS[1] .. ':beats', KEYS[1] .. ':ready', KEYS[1] .. ':confirmed'
  local t = redis.call('TIME')
  local now = t[1] * 1000 + math.floor(t[2] / 1000)
  local function get(name) return redis.call('HGET', run, name) end
  local function stop(reason, why)
    local earlier = get('stop')
    if not earlier or (reason == 'worker-lost' and earlier ~= 'worker-lost') then
      redis.call('HSET', run, 'stop', reason, 'why', why)
    end
  end
  if redis.call('EXISTS', run) == 0 then return {-1} end
`

/** Ends the run if a worker is silent, or the deadline for the start has passed. */
const check = `
  local silence = tonumber(get('silenceMs'))
  local oldest = redis.call('ZRANGE', beats, 0, 0, 'WITHSCORES')
  if oldest[2] and now - tonumber(oldest[2]) > silence then
    stop('worker-lost', 'shard ' .. (oldest[1] + 1) .. ' was silent for too long')
  elseif not get('startMs') and now > tonumber(get('deadlineMs')) then
    stop('worker-lost', 'not every shard was ready in time')
  end
`

const signal = `
  local f = redis.call('HMGET', run, 'startMs', 'stop', 'why', 'cancelled', 'finished')
  local working = redis.call('ZCOUNT', beats, now - silence, '+inf')
  return {now, f[1] or '', f[2] or '', f[3] or '', f[4] or '', f[5] or '0', silence, working}
`

/** By name. ARGV[1] is a shard, if there is one; KEYS[2] its hash. */
const scripts = {
  claim: `${keys}
    if get('stop') then return 'the run has ended: ' .. get('stop') end
    if redis.call('HSETNX', KEYS[2], 'worker', ARGV[2]) == 0 then
      return 'it belongs to ' .. redis.call('HGET', KEYS[2], 'worker')
    end
    redis.call('HSET', KEYS[2], 'publicKey', ARGV[3], 'about', ARGV[5])
    redis.call('ZADD', beats, now, ARGV[1])
    for _, key in ipairs({KEYS[2], beats}) do redis.call('EXPIRE', key, ARGV[4]) end
    return ''`,
  arrive: `${keys}
    if redis.call('HGET', KEYS[2], 'worker') ~= ARGV[2] then return '' end
    redis.call('HSET', KEYS[2], 'opening', ARGV[3])
    redis.call('SADD', ready, ARGV[1])
    redis.call('EXPIRE', ready, ARGV[4])
    local n = tonumber(get('shards'))
    if redis.call('SCARD', ready) < n then return '' end
    local all = {}
    for i = 0, n - 1 do all[i + 1] = redis.call('HGET', run .. ':' .. i, 'opening') end
    return all`,
  start: `${keys}
    if not get('stop') then redis.call('HSETNX', run, 'startMs', now + tonumber(ARGV[1])) end
    return ''`,
  confirm: `${keys}
    redis.call('SADD', confirmed, ARGV[1])
    redis.call('EXPIRE', confirmed, ARGV[2])
    return ''`,
  decide: `${keys}
    if get('stop') then return 0 end
    if get('decided') then return 1 end
    local missing = tonumber(get('shards')) - redis.call('SCARD', confirmed)
    if missing > 0 then
      stop('worker-lost', missing .. ' of the shards knew of the start too late')
      return 0
    end
    redis.call('HSET', run, 'decided', 1)
    return 1`,
  stop: `${keys} stop(ARGV[1], ARGV[2]) return ''`,
  cancel: `${keys} stop('interrupted', 'interrupted') redis.call('HSET', run, 'cancelled', 1) return ''`,
  beat: `${keys} ${check}
    if redis.call('HGET', KEYS[2], 'worker') ~= ARGV[2] then
      stop('worker-lost', 'Redis has lost who drives shard ' .. (ARGV[1] + 1))
    elseif redis.call('HEXISTS', KEYS[2], 'result') == 0 then
      redis.call('ZADD', beats, now, ARGV[1])
      if ARGV[3] ~= '' then redis.call('HSET', KEYS[2], 'snapshot', ARGV[3]) end
    end
    ${signal}`,
  look: `${keys} ${check} ${signal}`,
  // The same result a second time: the first response was lost.
  finish: `${keys}
    if redis.call('HGET', KEYS[2], 'worker') == ARGV[2] and redis.call('HEXISTS', KEYS[2], 'result') == 1 then return 1 end
    local beat = redis.call('ZSCORE', beats, ARGV[1])
    if redis.call('HGET', KEYS[2], 'worker') ~= ARGV[2] or not beat then return 0 end
    if now - tonumber(beat) > tonumber(get('silenceMs')) then return 0 end
    redis.call('HSET', KEYS[2], 'result', ARGV[3])
    if ARGV[4] ~= '' then redis.call('HSET', KEYS[2], 'snapshot', ARGV[4]) end
    redis.call('ZREM', beats, ARGV[1])
    redis.call('HINCRBY', run, 'finished', 1)
    return 1`,
  views: `${keys}
    local silence = tonumber(get('silenceMs'))
    local all = {}
    for i = 0, tonumber(get('shards')) - 1 do
      local shard = redis.call('HMGET', run .. ':' .. i, 'worker', 'snapshot')
      local beat = redis.call('ZSCORE', beats, i)
      local state = 'lost'
      if not shard[1] then state = 'waiting'
      elseif redis.call('HEXISTS', run .. ':' .. i, 'result') == 1 then state = 'finished'
      elseif beat and now - tonumber(beat) <= silence then state = 'working' end
      all[i + 1] = {state, shard[1] or '', shard[2] or ''}
    end
    return all`,
  lease: `${keys} ${leaseScript}`,
} as const

type Argument = string | number | Buffer
type Call = (keyCount: number, ...args: readonly Argument[]) => Promise<unknown>

/** The state of one run. */
export function createRunState(redis: RedisClient, runId: string): RunState {
  const run = runKeyOf(runId)
  const shardKey = (shard: number) => `${run}:${shard}`
  for (const [name, lua] of Object.entries(scripts)) redis.defineCommand(commandOf(name), { lua })
  const call = (name: keyof typeof scripts, keys: readonly string[], args: readonly Argument[] = []) => {
    // Redis gets the text of a script once, and its hash from then on.
    const command = (redis as unknown as Readonly<Record<string, Call>>)[`${commandOf(name)}Buffer`]
    if (command === undefined) throw new RangeError(`no script named ${name}`)
    return command.call(redis, keys.length, ...keys, ...args)
  }
  const ofRun = (name: keyof typeof scripts, ...args: readonly Argument[]) => call(name, [run], args)
  const ofShard = (name: keyof typeof scripts, shard: number, ...args: readonly Argument[]) =>
    call(name, [run, shardKey(shard)], [shard, ...args])

  /** The fields of some shards, in one round trip. */
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
      const refusal = await ofShard('claim', shard, worker, publicKey, keptSeconds, about)
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
    beat: async (shard, worker, snapshot) => signalOf(await ofShard('beat', shard, worker, snapshot ?? '')),
    look: async () => signalOf(await ofRun('look')),
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
