import type { Contract } from '../../src/contract/contract.ts'
import { documentedContract } from '../../src/contract/documented.ts'
import { loadProfile } from '../../src/contract/profile.ts'
import { loadAddedSecrets } from '../../src/contract/requests/additions.ts'
import { cellsPerOctave, type Slices } from '../../src/judge/metrics/slices.ts'
import type { Defer } from '../../src/lib/batches.ts'
import { type Clock, sleepUntil } from '../../src/lib/clock.ts'
import type { RunInfo } from '../../src/observation/log-lines.ts'
import type { Observation } from '../../src/observation/observation.ts'
import { makePlan, planBounds } from '../../src/plan/make-plan.ts'
import type { Plan } from '../../src/plan/plan.ts'
import type { Recordings } from '../../src/plan/recorded-load.ts'
import type { Variables } from '../../src/produce/callers/api-keys.ts'
import type { PaymentOrder } from '../../src/produce/callers/payment-maker.ts'
import { createSigner, type SignInOrder } from '../../src/produce/callers/signer.ts'
import type { Turns } from '../../src/produce/transport/in-turns.ts'
import type { Transport } from '../../src/produce/transport/transport.ts'
import { type ManualClock, manualClock } from '../../src/prove/manual-clock.ts'
import {
  type MemoryNetwork,
  memoryCallers,
  memoryIo,
  memoryJob,
  memoryTransport,
  memoryWorkerIo,
} from '../../src/prove/memory-run.ts'
import type { Report } from '../../src/report/document.ts'
import { discover, discoveredContract } from '../../src/run/discovery.ts'
import { startInline } from '../../src/run/inline.ts'
import type { StartWorker, WorkerJob } from '../../src/run/messages.ts'
import { type RunIo, type RunJob, run } from '../../src/run/run.ts'
import { signerJobOf } from '../../src/run/signer-thread.ts'
import { loadScenario, parseScenario } from '../../src/scenario/load-scenario.ts'
import type { Scenario } from '../../src/scenario/schema.ts'
import { defaultLatency, type ServiceLatency } from '../../src/service/capacity.ts'
import type { Fault } from '../../src/service/faults.ts'
import type { Lie } from '../../src/service/lies/lie.ts'
import { createService, type Service } from '../../src/service/service.ts'
import { defaultWalletSettings, type WalletSettings } from '../../src/service/wallets/wallets.ts'
import type { RunDirectory } from '../../src/storage/run-directory.ts'

export type VirtualRun = {
  /** A file of `scenarios/`, or the text of a scenario. */
  readonly scenario: string
  readonly seed?: number
  readonly lies?: readonly Lie[]
  readonly contract?: Contract
  /** What the service does, if it is not what the contract says. */
  readonly serviceContract?: Contract
  /** A profile file instead of a contract. */
  readonly profile?: string
  readonly openingBalanceUsd?: string
  readonly openingBalanceDiem?: string
  readonly faults?: readonly Fault[]
  /** What wallets find at the service. */
  readonly wallets?: Partial<WalletSettings>
  readonly network?: MemoryNetwork
  readonly timing?: ServiceLatency
  /** The seed of the service; by default that of the run. */
  readonly serviceSeed?: number
  /** The slowdown factor of requests that arrive at an instant of the run. */
  readonly slowness?: (nowMs: number) => number
  /** How far the target's clock is fast. */
  readonly skewMs?: number
  /** How long the next order to the signer takes; by default no time. */
  readonly signingMs?: () => number
  /** The clock of another run, and what runs both. */
  readonly beside?: {
    readonly clock: ManualClock
    readonly drive: <T>(work: Promise<T>) => Promise<T>
    readonly turns: Turns
  }
  /** Replaces some effects of the run. */
  readonly change?: (io: RunIo) => Partial<RunIo>
  /** When observations are judged; by default when a batch is full. */
  readonly defer?: Defer
  /** How many workers share the run, on one clock. */
  readonly workers?: number
  /** The clock of a worker, if it is not that of the run. */
  readonly clockOf?: (clock: Clock, worker: number) => Clock
  /** The calls and clauses of --only. */
  readonly only?: readonly string[]
  /** How many keys each account has, if they are fewer than the callers of the scenario. */
  readonly keys?: readonly number[]
  readonly failFast?: boolean
  /** What recorded stages repeat. */
  readonly recordings?: Recordings
  readonly untilDecided?: boolean
  /** Whether requests carry trace ids. */
  readonly traces?: boolean
  /** Whether outputs get what a live page shows. */
  readonly details?: boolean
  /** What limits are judged by; by default the statements of the target, as in a run of the program. */
  readonly limitsFrom?: 'target' | 'documented'
  /** Whether the service is a target of its own, whose prices nobody states but itself and the profile. */
  readonly isElsewhere?: boolean
  /** Another service than the reference. It gets the keys of the environment. */
  readonly target?: {
    readonly connect: (clock: Clock) => Transport
    readonly environment: Variables
    /** Whether the plan names it, as in a run of the program. By default, the callers have accounts that Turnpike made. */
    readonly isNamed?: boolean
  }
}

/** A complete run against the reference service, in virtual time and without sockets. */
export async function virtualRun(options: VirtualRun): Promise<{
  report: Report
  plan: Plan
  contract: Contract
  head: RunInfo
  observations: readonly Observation[]
  slices: Slices
}> {
  const profile =
    options.profile === undefined ? (options.contract ?? documentedContract) : loadProfile(options.profile)
  const seed = options.seed ?? null
  const serviceOn = (clock: ManualClock, capacity: Plan['service']) =>
    createService({
      contract: options.serviceContract ?? profile,
      clock: skewed(clock, options.skewMs ?? 0),
      seed: options.serviceSeed ?? seed ?? 1,
      openingBalanceUsd: options.openingBalanceUsd ?? '10',
      openingBalanceDiem: options.openingBalanceDiem ?? '0',
      timing: options.timing ?? defaultLatency,
      lies: options.lies ?? [],
      faults: options.faults ?? [],
      capacity,
      ...(options.wallets && { wallets: { ...defaultWalletSettings, ...options.wallets } }),
    })
  const scenarioFor = (contract: Contract, isDraft: boolean) =>
    // A profile may leave the models to the target.
    readScenario(options.scenario, contract, isDraft && (contract.models.length === 0 || options.target !== undefined))
  const draft = scenarioFor(profile, true)
  // The discovery has a service of its own, so that it moves neither clock nor chance of the run.
  const ahead = manualClock()
  const bounds = planBounds(draft.bounds)
  const send = options.target?.connect(ahead) ?? memoryTransport(serviceOn(ahead, null), ahead)
  const variables = options.target?.environment ?? {}
  const addedSecrets = loadAddedSecrets(profile, variables, options.target === undefined)
  const [firstKey = `ref_${draft.callers.accountTier}_virtual-c0`] = variables.TURNPIKE_KEYS?.split(/[\s,]/) ?? []
  const asker = { kind: 'key' as const, name: 'c0', keys: [firstKey] }
  const discovery = await ahead.run(discover(send, [asker], { bounds }, profile, addedSecrets))
  const { accountTier } = draft.callers
  const contract = discoveredContract(
    profile,
    discovery,
    accountTier,
    options.limitsFrom ?? 'target',
    options.isElsewhere !== true && options.target === undefined,
  )
  const inputs = { recordings: options.recordings ?? new Map(), publishedLimits: discovery.limits }
  const plan = makePlan(
    scenarioFor(contract, false),
    contract,
    {
      seed,
      target: options.target?.isNamed === true ? 'http://127.0.0.1:1' : null,
      budgetUsd: null,
      only: options.only ?? [],
      keys: options.keys ?? null,
    },
    inputs,
  )
  const clock = options.beside?.clock ?? manualClock()
  const drive = options.beside?.drive ?? clock.run
  const service = serviceOn(clock, plan.service)
  const transport =
    options.target?.connect(clock) ??
    memoryTransport(disturbed(service, clock, options.slowness), clock, options.network)
  const observations: Observation[] = []
  let slices: Slices = { schema: 1, cellsPerOctave, calls: [] }
  const traces = options.traces === true ? { traces: true as const } : {}
  const callers = await memoryCallers(plan, profile, variables)
  const common = memoryJob(plan, contract, callers, clock)
  const info: RunInfo = { ...common.info, turnpike: 2, version: '0.0.0', target: 'memory', ...traces }
  const job: RunJob = {
    ...common,
    ...{ info, addedSecrets, baseUrl: info.target, workers: options.workers ?? 1 },
    ...{ failFast: options.failFast ?? false, untilDecided: options.untilDecided ?? false },
    ...{ details: options.details ?? false, turns: options.beside?.turns },
  }
  const workerIo = memoryWorkerIo(clock, transport)
  const startWorker: StartWorker = (job, events) =>
    startInline({
      ...workerIo,
      clock: options.clockOf?.(clock, job.shard.worker) ?? clock,
      log: { write: observation => observations.push(observation), notRecorded: () => 0, end: async () => null },
      ...(options.defer && { defer: options.defer }),
      ...(options.signingMs && { signerOf: slowSigner(clock, options.signingMs) }),
    })(job, events)
  const directory: RunDirectory = {
    path: 'memory',
    logs: [],
    readObservations: async function* () {
      yield* observations
    },
    write: async (_, written) => {
      slices = written
      return []
    },
  }
  const io: RunIo = { ...memoryIo(clock, transport, startWorker), directory }
  const report = await drive(run(job, { ...io, ...options.change?.(io) }))
  return { report, plan, contract, head: info, observations, slices }
}

/** A sweep runs the same scenario against hundreds of lies, and reading it takes longer than some of the runs. */
const scenarios = new Map<string, Scenario>()

function readScenario(scenario: string, contract: Contract, isTentative: boolean): Scenario {
  const known = `${isTentative} ${scenario} ${JSON.stringify(contract)}`
  const read =
    scenarios.get(known) ??
    (scenario.includes('\n')
      ? parseScenario(scenario, 'test.yaml', contract, () => isTentative)
      : loadScenario(scenario, contract, () => isTentative))
  if (scenarios.size >= 100) scenarios.clear()
  scenarios.set(known, read)
  return read
}

/** A complete run, and the result of its first search for the capacity. */
export async function virtualSearch(options: VirtualRun) {
  const run = await virtualRun(options)
  const [result] = run.report.capacity
  if (result === undefined) throw new Error('the report has no capacity')
  return { ...run, result }
}

const slowSigner = (clock: Clock, signingMs: () => number) => (job: WorkerJob) => {
  const signer = createSigner(signerJobOf(job))
  const wait = () => sleepUntil(clock, clock.nowMs() + signingMs())
  return {
    signIns: (order: SignInOrder) => wait().then(() => signer.signIns(order)),
    payment: (order: PaymentOrder) => wait().then(() => signer.payment(order)),
  }
}

function disturbed(service: Service, clock: ManualClock, slowness: VirtualRun['slowness']): Service {
  if (slowness === undefined) return service
  return {
    ...service,
    respond: request => {
      const reply = service.respond(request)
      const factor = slowness(clock.nowMs())
      const { body } = reply
      const chunks =
        body.kind === 'stream' ? body.chunks.map(chunk => ({ ...chunk, afterMs: chunk.afterMs * factor })) : []
      return { ...reply, afterMs: reply.afterMs * factor, body: body.kind === 'stream' ? { ...body, chunks } : body }
    },
  }
}

const skewed = (clock: ManualClock, skewMs: number) => ({ ...clock, wallMs: () => clock.wallMs() + skewMs })
