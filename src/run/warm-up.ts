import { randomBytes } from 'node:crypto'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { Worker as Thread } from 'node:worker_threads'
import type { Contract } from '../contract/contract.ts'
import { whenIdle } from '../lib/batches.ts'
import { type Clock, cpuTimeMs } from '../lib/clock.ts'
import { writeLog } from '../observation/log.ts'
import { type Mix, type Plan, type StagePlan, withoutWaits } from '../plan/plan.ts'
import { singleShard } from '../plan/shard.ts'
import { type WarmUpTerms, warmUpTerms } from '../plan/warm-up.ts'
import { createSharedBudget } from '../produce/budget/shared-budget.ts'
import { loadCallers } from '../produce/callers/api-keys.ts'
import type { TlsSettings } from '../produce/transport/connections.ts'
import type { Saturate } from '../produce/transport/transport.ts'
import { undiciTransport } from '../produce/transport/undici.ts'
import { startInline } from './inline.ts'
import type { WorkerJob } from './messages.ts'
import type { SharedKeyTls, WarmUpService } from './warm-up-service.ts'

/** What a warm-up must know of the job of its worker. */
export type WarmUpJob = Omit<WorkerJob, 'budget' | 'logFile'>

type Service = { readonly port: number; readonly stop: () => unknown }

export type WarmUpIo = {
  readonly clock: Clock
  /** The saturating client for this address. */
  readonly saturate: (baseUrl: string) => Promise<Saturate>
  /** Aborted to end the warm-up. */
  readonly signal: AbortSignal
  /** Rejects if no port is free. */
  readonly startService?: (service: WarmUpService) => Promise<Service>
}

const maxCallers = 64
/** Above every planned rate, so that responses are like those in the load. */
const noLimit = 1_000_000_000
const minUsers = 8
const maxUsers = 64
const maxInFlight = 256
const minPerSecond = 200
/** The shares of the time for the first round, and for the closed model in the second one. */
const firstShare = 0.15
const closedShare = 0.7
const minCallShare = 0.02
/** Rounds end by cancelling requests at this share of their time, since V8 discards code when it first sees that. */
const cancelShare = 0.95

/**
 * Sends the calls of a plan to a reference service on loopback, and drops the results. V8 compiles JavaScript while it
 * runs, and optimizes it later. Without a warm-up, the first requests would be sent late or their responses read late, and
 * the target would seem slow. Resolves with the number of requests: 0 if the plan is too small, or if the service cannot
 * listen on a port.
 *
 * It drives each model twice, with new workers and connections. V8 optimizes a function for its only closure; for a
 * second closure it optimizes again, for all that follow. So the first round is short, and the second one leaves code that
 * fits the load.
 */
export async function warmUp(job: WarmUpJob, io: WarmUpIo): Promise<number> {
  const terms = warmUpTerms(job.plan, job.shard.workers)
  if (terms === null) return 0
  detachBuffer()
  const tls: SharedKeyTls | null = job.baseUrl.startsWith('https:')
    ? { key: randomBytes(32), ciphers: 'PSK-AES128-GCM-SHA256', maxVersion: 'TLSv1.2' }
    : null
  const served = new Int32Array(new SharedArrayBuffer(4))
  const contract = unlimited(job.contract)
  const { startService = startThread } = io
  const start = startService({ warmUpService: true, contract, seed: job.plan.seed, tls, served })
  const service = await start.catch(() => null)
  if (service === null) return 0
  const baseUrl = `${tls === null ? 'http' : 'https'}://127.0.0.1:${service.port}/api/v1`
  const round: Round = { job: { ...job, contract, baseUrl }, terms, tls, requests: () => Atomics.load(served, 0) }
  for (const [index, stages] of roundsOf(job.plan, terms).entries())
    if (!io.signal.aborted) await drive(stages, index === 0, round, io)
  await service.stop()
  collectGarbage()
  return Atomics.load(served, 0)
}

type Mode = 'closed' | 'open' | 'saturate'
type WarmUpStage = { readonly mode: Mode; readonly maxMs: number }

/** The stages of each worker. The last ones may end early. */
export function roundsOf({ stages }: Plan, { maxMs }: WarmUpTerms): readonly (readonly WarmUpStage[])[] {
  const models = new Set(stages.map(({ load }) => load.model))
  const others: readonly Mode[] = [
    ...(models.has('open') || models.has('capacity') ? (['open'] as const) : []),
    ...(models.has('saturate') ? (['saturate'] as const) : []),
  ]
  const restMs = maxMs * (1 - firstShare)
  const closedMs = others.length === 0 ? restMs : restMs * closedShare
  const second: readonly WarmUpStage[] = [
    { mode: 'closed', maxMs: closedMs },
    ...others.map(mode => ({ mode, maxMs: (restMs - closedMs) / others.length })),
  ]
  // The closed model last, so that requests are in flight when the round is cancelled.
  const first = second.toReversed().map(({ mode }) => ({ mode, maxMs: (maxMs * firstShare) / second.length }))
  return [first, ...second.map(stage => [stage])]
}

type Round = {
  readonly job: WarmUpJob
  readonly terms: WarmUpTerms
  readonly tls: SharedKeyTls | null
  readonly requests: () => number
}

async function drive(stages: readonly WarmUpStage[], isFirst: boolean, round: Round, io: WarmUpIo): Promise<void> {
  const { job, terms, tls, requests } = round
  // The clock of the load, since another one would be another closure.
  const { clock, signal } = io
  const { plan, info, baseUrl } = job
  const transport = undiciTransport({ baseUrl, clock, maxConnections: maxInFlight, tls: clientTls(tls) })
  const head = { ...info, runId: 'warm-up', target: baseUrl, worker: 0, workers: 1 }
  const startWorker = startInline({
    clock,
    transport: transport.send,
    saturate: await io.saturate(baseUrl),
    log: plan.record === 'none' ? null : writeLog(nowhere, head, clock),
    defer: whenIdle(clock),
    eventLoopDelayMs: () => null,
  })
  const planned = warmUpPlan(plan, stages, terms)
  // No key of the user goes to the service.
  const keys = {
    callers: callersOf(planned),
    specialKeys: { 'free-user': null, 'zero-balance': null },
    addedSecrets: {},
  }
  const own = { plan: planned, ...keys, shard: singleShard, budget: createSharedBudget() }
  const worker = startWorker({ ...job, ...own, logFile: null, failFast: false }, noEvents)
  await worker.open()
  const totalMs = stages.reduce((sum, { maxMs }) => sum + maxMs, 0)
  const cancelTimer = clock.at(clock.nowMs() + cancelShare * totalMs, worker.cancel)
  const endWatch = isFirst ? () => {} : watchCost(clock, requests, terms.perSecond, worker.cancel)
  const removeListener = onAbortOf(signal, worker.cancel)
  await worker.drive(clock.nowMs())
  cancelTimer()
  endWatch()
  removeListener()
  await worker.finish({ ended: 'complete', durationMs: clock.nowMs(), pushed: null })
  await transport.close()
}

function clientTls(tls: SharedKeyTls | null): TlsSettings | undefined {
  if (tls === null) return undefined
  const { key: psk, ...settings } = tls
  return { ...settings, pskCallback: () => ({ psk, identity: 'warm-up' }), checkServerIdentity: () => undefined }
}

const noEvents = { onStop: () => {}, onLost: () => {}, onSearch: () => {} }

const nowhere = { append: async () => {}, close: async () => {} }

function onAbortOf(signal: AbortSignal, then: () => void): () => void {
  signal.addEventListener('abort', then, { once: true })
  return () => signal.removeEventListener('abort', then)
}

const callersOf = ({ callers }: Plan) =>
  loadCallers(callers, { environment: undefined, loopback: true, areOptional: false, runId: 'warm-up' })

/** The plan of a worker of the warm-up: the calls of a plan, about as often as there. */
export function warmUpPlan(plan: Plan, stages: readonly WarmUpStage[], terms: WarmUpTerms): Plan {
  const callers = Math.min(plan.callers.names.length, maxCallers)
  const mix = mixOfPlan(plan)
  const beyondFailures = plan.stages.every(stage => stage.beyondFailures)
  let startMs = 0
  const planned = stages.map(({ mode, maxMs }): StagePlan => {
    const stage = { name: mode, startMs, durationMs: maxMs, callers, firstCaller: 0, beyondFailures }
    startMs += maxMs
    return { ...stage, load: loadOf(mode, mix, terms) }
  })
  return {
    ...plan,
    callers: { ...plan.callers, names: plan.callers.names.slice(0, callers), wallets: null, keysFile: null },
    stages: planned,
    calls: Object.fromEntries(Object.entries(plan.calls).map(([name, call]) => [name, withoutWaits(call)])),
    bounds: { ...plan.bounds, maxInFlight, drainMs: 100 },
    slo: {},
    thresholds: [],
    budgetUsd: plan.budgetUsd === null ? null : String(noLimit),
  }
}

function loadOf(mode: Mode, mix: Mix, { perSecond, connections }: WarmUpTerms): StagePlan['load'] {
  const users = Math.min(Math.max(connections, minUsers), maxUsers)
  switch (mode) {
    case 'closed':
      return { model: 'closed', users, thinkMs: 0, mix }
    case 'open':
      return { model: 'open', shape: { kind: 'constant', perSecond: Math.max(perSecond, minPerSecond) }, mix }
    case 'saturate':
      return { model: 'saturate', connections: users, maxCalls: noLimit, mix }
  }
}

/** Every call, the rare ones more often than in the plan. */
function mixOfPlan({ calls, forecast }: Plan): Mix {
  const requests = new Map(Object.keys(calls).map(name => [name, 0]))
  for (const row of forecast.calls) requests.set(row.call, (requests.get(row.call) ?? 0) + row.requests)
  const total = [...requests.values()].reduce((sum, each) => sum + each, 0)
  return Object.keys(calls).map(name => [name, Math.max((requests.get(name) ?? 0) / total, minCallShare)])
}

/** No caller reaches a limit or is blocked, and balances need no time to settle. */
function unlimited(contract: Contract): Contract {
  const { rpc, limits, accounts, resourceLimits, abuse, billing } = contract
  return {
    ...contract,
    rpc: { ...rpc, requestsPerMinute: raised(rpc.requestsPerMinute) },
    limits: { ...limits, published: raised(limits.published) },
    accounts: raised(accounts),
    resourceLimits: raised(resourceLimits),
    abuse: { ...abuse, failures: noLimit },
    billing: { ...billing, settleMs: 0 },
  }
}

/** The same with every number replaced by `noLimit`. */
function raised<T>(limits: T): T
function raised(limits: unknown): unknown {
  if (typeof limits === 'number') return noLimit
  if (typeof limits !== 'object' || limits === null) return limits
  return Object.fromEntries(Object.entries(limits).map(([name, each]) => [name, raised(each)]))
}

const windowMs = 50
const minWindowCalls = 50

/** Calls `onSettled` when the CPU time of a call no longer falls. Returns a function that ends the watch. */
function watchCost(clock: Clock, requests: () => number, minCalls: number, onSettled: () => void): () => void {
  const costs: number[] = []
  const firstCalls = requests()
  let [startCpuMs, startCalls] = [cpuTimeMs(), firstCalls]
  let cancel = () => {}
  const look = () => {
    const [cpuMs, calls] = [cpuTimeMs(), requests()]
    if (calls - startCalls >= minWindowCalls) {
      costs.push((cpuMs - startCpuMs) / (calls - startCalls))
      startCpuMs = cpuMs
      startCalls = calls
    }
    if (calls - firstCalls >= minCalls && hasSettled(costs)) onSettled()
    else watch()
  }
  const watch = () => {
    cancel = clock.at(clock.nowMs() + windowMs, look)
  }
  watch()
  return () => cancel()
}

/** Windows in which no cost is lower than before end a warm-up. */
const settledWindows = 6
/** A cost that is lower by less than this share is the same. */
const sameShare = 0.07

/** Whether the cost of a call, in one window after the other, has stopped falling. */
export function hasSettled(costs: readonly number[]): boolean {
  if (costs.length < 2 * settledWindows) return false
  const before = Math.min(...costs.slice(0, -settledWindows))
  return Math.min(...costs.slice(-settledWindows)) > before * (1 - sameShare)
}

/** Starts the service in a thread of its own. */
function startThread(service: WarmUpService): Promise<Service> {
  const thread = new Thread(new URL('./warm-up-service.js', import.meta.url), { workerData: service })
  return new Promise((resolve, reject) => {
    thread.once('message', (port: number) => resolve({ port, stop: () => thread.terminate() }))
    thread.once('error', reject)
  })
}

/**
 * V8 assumes that buffers are never detached; after the first one is, it discards all code that relied on it. undici's
 * parser detaches one when its memory grows, in the middle of a load.
 */
function detachBuffer(): void {
  const buffer = new ArrayBuffer(1)
  structuredClone(buffer, { transfer: [buffer] })
}

/** Collects the garbage of the warm-up now; during the load this would stall the thread for 10 ms. */
function collectGarbage(): void {
  setFlagsFromString('--expose-gc')
  const gc: () => void = runInNewContext('gc')
  gc()
}
