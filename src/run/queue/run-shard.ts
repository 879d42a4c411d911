import type { Machine, WorkerHealth } from '../../judge/judge-run.ts'
import { type Clock, clockFromEpoch, sleepUntil } from '../../lib/clock.ts'
import {
  createRunStop,
  createSendLease,
  extendSendLease,
  isLeaseOver,
  type RunStop,
  type SendLease,
} from '../../produce/drivers/stop.ts'
import { observationsIn } from '../../storage/run-directory.ts'
import { withEvidence } from '../make-report.ts'
import type {
  FinishedWorker,
  OpeningResult,
  StartWorker,
  WorkerHandle,
  WorkerJob,
  WorkerSnapshot,
} from '../messages.ts'
import { judgeOpening, maxConnectionsOf } from '../run.ts'
import type { Lease } from './lease.ts'
import type { RedisClock } from './redis-clock.ts'
import { DamagedState, type RunState, type Signal } from './run-state.ts'
import { createSealKeys, unseal } from './seal.ts'
import type { SearchLink, SearchLinkOptions } from './search-link.ts'
import { pack, type ShardSecrets, type SharedJob, sealContext, unpack } from './shared-job.ts'

/** Which shard of which run a worker drives, and the name of the worker. */
export type ShardTask = {
  readonly runId: string
  readonly shard: number
  readonly worker: string
  readonly job: SharedJob
}

export type ShardIo = {
  readonly state: RunState
  readonly clock: Clock
  /** A clock in milliseconds that includes the time in which the machine was suspended. */
  readonly bootMs: () => number
  readonly redisClock: RedisClock
  readonly startWorker: StartWorker
  readonly lease: Lease
  readonly linkSearches: (options: SearchLinkOptions) => Promise<SearchLink>
  /** Starts to measure this process. */
  readonly startMeter: () => () => WorkerHealth
  /** null: the shard is not recorded. */
  readonly logFile: string | null
  readonly log: (line: string) => void
  /** Aborted when the worker must end: the run stops for all. */
  readonly quit: AbortSignal
}

/** With the time until which this shard may send. Each beat that Redis has taken extends it. */
type LeasedIo = ShardIo & { readonly sendLease: SendLease }

/** Describes a worker that claims a shard. `logFile`: null: it does not record. */
export type AboutWorker = { readonly health: WorkerHealth; readonly logFile: string | null }

/** What a shard shows during its load. */
export type ShardSnapshot = WorkerSnapshot & { readonly health: WorkerHealth }

/** What a shard leaves for the report. */
export type ShardResult = FinishedWorker & { readonly machine: Machine; readonly health: WorkerHealth }

/** The interval of heartbeats, which also read whether the run has ended. */
const beatEveryMs = 500
/**
 * From when all shards are ready to the start of their load, at least and at most. A machine that opens slowly also sees
 * the start late.
 */
const [minLeadMs, maxLeadMs] = [3_000, 10_000]
/** How long before the start it is decided whether every shard knows the start. */
const decideMs = 1_000
/** The maximum time without a response from the thread of the load. */
const maxBusyMs = 30_000
/** After this many beats, the clocks are compared once more. */
const beatsPerMeasure = 10
/** How often a worker polls Redis while it waits. */
const lookEveryMs = 50

/**
 * Drives one shard of a run, from its claim to its result. Once it has its keys, it needs only Redis. Resolves
 * with why there is no result; null: there is one. It sends nothing before every shard is ready. If it cannot reach
 * Redis, it stops before others take it for lost.
 */
export async function runShard(task: ShardTask, io: ShardIo): Promise<string | null> {
  const { runId, shard, worker, job } = task
  const { state, redisClock, lease } = io
  const keys = createSealKeys()
  const measureWhole = io.startMeter()
  const about: AboutWorker = { health: measureWhole(), logFile: io.logFile }
  const sendLease = createSendLease(io.bootMs() + job.silenceMs / 2)
  const refusal = await state.claim(shard, worker, keys.publicKey, pack('worker', about))
  if (refusal !== null) return refusal

  // Others see a stop by the state of the run, and this shard sees theirs.
  const stop = createRunStop(new AbortController().signal, io.quit)
  const link = keepAlive(task, { ...io, sendLease }, stop)
  let handle = null as WorkerHandle | null
  let searches: SearchLink | null = null
  try {
    const sealed = await link.waitFor(() => state.sealedFor(shard))
    if (sealed === null) return link.why()
    const secrets = unpack<ShardSecrets>('keys', unseal(sealed, keys, sealContext(runId, shard)))
    await link.persist(redisClock.measure)
    await link.persist(lease.begin)
    const clock = clockFromEpoch(redisClock.epochAt(job.zeroMs))
    searches = await io.linkSearches({
      runId,
      plan: job.plan,
      shard,
      shards: job.shards,
      clock,
      obey: order => handle?.search(order),
    })
    handle = io.startWorker(workerJobOf(task, secrets, { ...io, sendLease }), {
      onStop: stop.stop,
      onLost: why => {
        state.stop('worker-lost', `the load of shard ${shard + 1} ended early: ${why}`).catch(() => {})
        stop.stop('worker-lost')
      },
      onSearch: report => searches?.report(report),
    })
    link.follow(handle)
    await getReady(handle, task, { ...io, link }, stop)
    const startMs = await link.waitFor(async () => link.signal()?.startMs ?? null)
    if (startMs !== null && (await mayStart(startMs, task, io, stop))) await handle.drive(startMs - job.zeroMs)
    if (stop.reason() !== 'target-unreachable') await handle.close()
    const end = { ended: stop.reason(), durationMs: redisClock.nowMs() - job.zeroMs, pushed: null }
    const result = await handle.finish(end)
    if (result === null) return 'the load ended early'
    await link.persist(redisClock.measure)
    const machine: Machine = { name: worker, ...redisClock.skew() }
    const complete = await withRecordedEvidence(result, task, io)
    const packed = pack('result', { ...complete, machine, health: measureWhole() } satisfies ShardResult)
    // Live views end on the numbers of the report.
    const last = await link.snapshot()
    const isTaken = await link.persist(() => state.finish(shard, worker, packed, last))
    if (isTaken) await lease.end().catch(() => {})
    return isTaken ? null : 'it was silent for so long that it counts as lost'
  } finally {
    await link.end()
    await handle?.terminate()
    searches?.end()
  }
}

/** The terminal may not get the record, so the evidence of findings goes with the result. */
async function withRecordedEvidence(
  result: FinishedWorker,
  { job: { plan, contract, info } }: ShardTask,
  { logFile }: Pick<ShardIo, 'logFile'>,
): Promise<FinishedWorker> {
  const read = () => observationsIn(logFile === null ? [] : [logFile])
  // A log that cannot be read leaves findings without some of their requests.
  return await withEvidence({ plan, contract, head: info }, result, read).catch(() => result)
}

/** Resolves when this shard is ready. The last one of them sets the start of the load of all, if the target is there. */
async function getReady(
  handle: WorkerHandle,
  { shard, worker, job }: ShardTask,
  { state, link, clock }: ShardIo & { readonly link: Link },
  stop: RunStop,
): Promise<void> {
  const fromMs = clock.nowMs()
  const opening = await handle.open()
  if (opening === null) return
  // Redis keeps whole milliseconds.
  const openingMs = Math.ceil(clock.nowMs() - fromMs)
  const packed = pack('opening', opening)
  const all = await link.persist(() => state.arrive(shard, worker, packed))
  if (all === null) return
  judgeOpening(
    all.map(each => unpack<OpeningResult>('opening', each)),
    job.info,
    stop,
  )
  if (stop.reason() === 'complete') await link.persist(() => state.start(Math.min(maxLeadMs, minLeadMs + openingMs)))
}

/** Whether every shard knows the start in time. All of them get the same answer, before the load of any starts. */
async function mayStart(startMs: number, { shard }: ShardTask, io: ShardIo, stop: RunStop): Promise<boolean> {
  const { state, clock, redisClock } = io
  const isDecided = await state
    .confirm(shard)
    .then(() => sleepUntil(clock, clock.nowMs() + (startMs - decideMs - redisClock.nowMs()), stop.stopping))
    .then(() => state.decide())
    .catch(() => false)
  if (isDecided && redisClock.nowMs() < startMs) return true
  if (isDecided) await state.stop('worker-lost', `shard ${shard + 1} was ready only after the start`).catch(() => {})
  stop.stop('worker-lost')
  return false
}

type Link = {
  /** Retries while Redis is away, for as long as this worker may be silent. `act` must be safe to repeat. */
  readonly persist: <Value>(act: () => Promise<Value>) => Promise<Value>
  /** The last signal from Redis; null: none yet. */
  readonly signal: () => Signal | null
  /** Resolves with what it waits for; null: the run has ended. */
  readonly waitFor: <Value>(look: () => Promise<Value | null>) => Promise<Value | null>
  /** From now on, this worker gets every stop, and its snapshots are shown. */
  readonly follow: (handle: WorkerHandle) => void
  /** The snapshot of the worker, as bytes; null: it has none. */
  readonly snapshot: () => Promise<Buffer | null>
  readonly why: () => string
  readonly end: () => Promise<void>
}

/** Sends heartbeats of this shard, and passes a stop from it to all others and back. */
function keepAlive({ shard, worker, job }: ShardTask, io: LeasedIo, stop: RunStop): Link {
  const { state, clock, bootMs, redisClock, sendLease, quit } = io
  const measure = io.startMeter()
  let handle = null as WorkerHandle | null
  let why = 'the run has ended'
  let latest: Signal | null = null
  let heardMs = clock.nowMs()
  const over = new AbortController()

  let unsent: Buffer | null = null
  /** When the thread was asked for the snapshot that it has not sent yet; null: it has sent it. */
  let askedMs: number | null = null
  /** A busy thread responds late. The question also tells the thread that the worker is alive. */
  async function askThread(): Promise<void> {
    if (handle === null || askedMs !== null) return
    askedMs = clock.nowMs()
    unsent = await snapshot()
    askedMs = null
  }
  async function snapshot(): Promise<Buffer | null> {
    const found = (await handle?.snapshot(job.details)) ?? null
    return found && pack('snapshot', { ...found, health: measure() } satisfies ShardSnapshot)
  }

  async function beat(): Promise<void> {
    void askThread()
    if (askedMs !== null && clock.nowMs() > askedMs + maxBusyMs) {
      stop.stop('worker-lost')
      handle?.cancel()
    }
    const reason = stop.reason()
    if (quit.aborted) {
      handle?.cancel()
      await state.cancel()
    } else if (reason !== 'complete') await state.stop(reason, `shard ${shard + 1} ended it`)
    const latestSnapshot = unsent
    // The next one may come while this one is sent.
    unsent = null
    const beatMs = bootMs()
    const signal = await state.beat(shard, worker, latestSnapshot)
    heardMs = clock.nowMs()
    latest = signal
    if (signal.stop === null) return extendSendLease(sendLease, beatMs + job.silenceMs / 2)
    why = signal.stop.why
    stop.stop(signal.stop.reason)
    handle?.stop(signal.stop.reason)
    if (signal.isCancelled) handle?.cancel()
  }
  const beating = (async () => {
    for (let beats = 1; !over.signal.aborted; beats++) {
      await beat().catch(() => {})
      if (beats % beatsPerMeasure === 0) await redisClock.measure().catch(() => {})
      await sleepUntil(clock, clock.nowMs() + beatEveryMs, over.signal)
    }
  })()
  // Beside the beats, since each of them may wait long for an answer.
  const watching = (async () => {
    while (!over.signal.aborted) {
      if (isLeaseOver(sendLease, bootMs())) {
        why = 'it could not reach Redis'
        stop.stop('worker-lost')
        handle?.stop('worker-lost')
      }
      await sleepUntil(clock, clock.nowMs() + lookEveryMs, over.signal)
    }
  })()

  return {
    persist: async act => {
      for (;;) {
        const done = await act().then(
          value => ({ value }),
          (cause: unknown) => {
            if (cause instanceof DamagedState || clock.nowMs() > heardMs + job.silenceMs) throw cause
            return null
          },
        )
        if (done !== null) return done.value
        await sleepUntil(clock, clock.nowMs() + lookEveryMs, over.signal)
      }
    },
    signal: () => latest,
    waitFor: async look => {
      while (stop.reason() === 'complete') {
        const found = await look().catch(() => null)
        if (found !== null) return found
        await sleepUntil(clock, clock.nowMs() + lookEveryMs, stop.stopping)
      }
      return null
    },
    follow: started => {
      handle = started
    },
    snapshot,
    why: () => why,
    end: async () => {
      over.abort()
      await Promise.all([beating, watching])
    },
  }
}

function workerJobOf(
  { shard, job }: ShardTask,
  secrets: ShardSecrets,
  { lease, redisClock, sendLease, logFile }: LeasedIo,
): WorkerJob {
  const { shards, silenceMs, zeroMs, untilDecided, ...common } = job
  return {
    ...common,
    ...secrets,
    gauges: true,
    sendLease,
    shard: { worker: shard, workers: shards },
    budget: lease.budget,
    epoch: redisClock.epochAt(zeroMs),
    logFile,
    maxConnections: maxConnectionsOf(job.plan, shard, shards),
  }
}
