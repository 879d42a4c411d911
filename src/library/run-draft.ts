import { randomBytes } from 'node:crypto'
import { type AddedSecrets, loadAddedSecrets } from '../contract/requests/additions.ts'
import {
  assertComparable,
  assertDistinct,
  type Baselines,
  type JudgedPlan,
  type RecordedComparedRun,
} from '../judge/compare/comparable.ts'
import type { Criteria } from '../judge/compare/comparison.ts'
import { type Clock, systemClock } from '../lib/clock.ts'
import { UsageError } from '../lib/usage-error.ts'
import { logFormat, type RunInfo } from '../observation/log-lines.ts'
import type { Output } from '../outputs/output.ts'
import { describeFewerKeys } from '../plan/describe-plan.ts'
import type { Plan } from '../plan/plan.ts'
import { maxShards } from '../plan/shard.ts'
import {
  assertMaySendKeys,
  type Keys,
  loadKeys,
  plainTextWarning,
  type Variables,
} from '../produce/callers/api-keys.ts'
import type { WalletCaller } from '../produce/callers/caller.ts'
import { loadWalletKeys, loadWallets, solanaNodeOf } from '../produce/callers/wallet-keys.ts'
import { notThere } from '../produce/transport/suggest-target.ts'
import type { Report } from '../report/document.ts'
import { discoverAt, recordedDiscovery } from '../run/discovery.ts'
import { type RunIo, type RunJob, run } from '../run/run.ts'
import { readComparedRun } from '../storage/recorded-run.ts'
import type { ReservedDirectory, Unwritten } from '../storage/run-directory.ts'
import { startEmbeddedService } from './child-process.ts'
import { assertWithinBudget, type DraftPlan } from './draft.ts'
import { assertNoSecret, environmentSecrets, type Secrets, weakSecretsNote } from './secrets.ts'
import { version } from './shipped-files.ts'

/** How to run a draft: plain data. */
export type DraftJob = Pick<RunJob, 'workers' | 'warmUp' | 'failFast' | 'untilDecided' | 'baselines' | 'turns'> & {
  /** The target that the user names, and not the scenario. Only it gets keys that leave this machine. */
  readonly named: string | null
  /** Whether requests carry trace ids. */
  readonly traces: boolean
  /** The environment, with the keys, unless the scenario names a file. */
  readonly variables: Variables
}

/** All effects of the run of a draft. */
export type DraftIo = Pick<RunIo, 'startWorker'> & {
  /** Shared with another run; missing: a clock of its own. */
  readonly clock?: Clock
  readonly secrets: Secrets
  /** Reserves where the run is recorded, before anything is sent. */
  readonly reserve: (runId: string, draft: DraftPlan) => ReservedDirectory
  readonly watch: WatchRun
  readonly unwritten: (files: readonly Unwritten[]) => void
  /** Shows the plan of a run that is refused because it has no budget. */
  readonly refused: (plan: Plan, message: string) => void
  /** The plan with what it may spend. */
  readonly limit: (plan: Plan, ownBudgetUsd: string | null) => Plan
  readonly spend: (picoUsd: bigint) => void
  /** Whether the service that a run starts shows on stderr why it cannot start. */
  readonly childStderr: 'inherit' | 'ignore'
  /** How to run the job elsewhere than in this process, and how many logs that gives; null: in this process. */
  readonly elsewhere: { readonly logs: number; readonly run: typeof run } | null
}

/** Creates what watches a run and what ends it, once the plan is final. */
export type WatchRun = (run: Pick<RunJob, 'plan' | 'info'> & Pick<RunIo, 'clock'>) => Promise<RunWatch>

export type RunWatch = Pick<RunIo, 'stop' | 'quit' | 'outputs' | 'log'> & { readonly close: () => Promise<void> }

/** Throws a UsageError if a draft must not run. Nothing was sent before. */
export function assertMayRun(
  { plan, ownBudgetUsd }: DraftPlan,
  { named, workers }: Pick<DraftJob, 'named' | 'workers'>,
  { limit, refused }: Pick<DraftIo, 'limit' | 'refused'>,
): void {
  assertMaySendKeys(plan, named)
  assertWithinBudget(limit(plan, ownBudgetUsd), { isDraft: true }, refused)
  assertShardable(plan, '--workers', workers)
}

/** Throws a UsageError if a run may end early although it is compared. */
export function assertMayEndEarly(untilDecided: boolean, baselines: number): void {
  if (!untilDecided || baselines === 0) return
  const expected = 'either --until or --baseline, since a comparison needs the whole load'
  throw new UsageError({ where: '--until', got: 'decided, with --baseline', expected })
}

export function assertShardable(plan: Plan, where: '--workers' | '--shards', workers: number): void {
  const { max, reason } = maxShards(plan)
  if (Number.isSafeInteger(workers) && workers >= 1 && workers <= max) return
  throw new UsageError({
    where,
    got: String(workers),
    expected: `a whole number from 1 to ${max}: ${plan.scenario} has ${reason}`,
  })
}

/**
 * Reads the baselines of a run; null if there are none. `planFor`: the plan of the run that is compared with a baseline.
 * Throws a UsageError if a baseline has a different one.
 */
export async function readBaselines(
  paths: readonly string[],
  criteria: Criteria,
  planFor: (baseline: RecordedComparedRun) => JudgedPlan,
): Promise<Baselines | null> {
  if (paths.length === 0) return null
  const runs = await Promise.all(paths.map(readComparedRun))
  assertDistinct(runs)
  for (const baseline of runs) {
    const judged = planFor(baseline)
    assertComparable(baseline, judged.plan.scenario, judged)
  }
  return { runs, criteria }
}

/** The plan of a draft with the limits that the target had in the run of a baseline. */
export const replanFor = (draft: DraftPlan) => (baseline: RecordedComparedRun) =>
  draft.replan(recordedDiscovery(baseline))

/** Throws a UsageError if the target now has different limits, and so the plan has different rates. */
function assertStillComparable(baselines: Baselines | null, intent: JudgedPlan): void {
  for (const baseline of baselines?.runs ?? []) assertComparable(baseline, intent.plan.scenario, intent)
}

/** Runs a draft against its target, or against a reference service that it starts. Throws a UsageError. */
export async function runDraft(draft: DraftPlan, job: DraftJob, io: DraftIo): Promise<Report> {
  const { plan, contract } = draft
  const { secrets } = io
  const runId = newRunId()
  const apiKeys = loadKeys(plan, contract, runId, job.variables)
  const addedSecrets = loadAddedSecrets(contract, job.variables, plan.target === null)
  const walletKeys = loadWalletKeys(plan, contract.wallets, runId, job.variables)
  const given = [...apiKeys.given, ...walletKeys.given]
  secrets.hide([...given, ...Object.values(addedSecrets)])
  assertNoSecret(secrets, plan.scenario, { ...plan, target: null }, 'scenario')
  const keys = { ...apiKeys, given, addedSecrets, wallets: await loadWallets(plan, walletKeys) }
  const reserved = io.reserve(runId, draft)
  const runAt = async (target: string) => await runJob(await jobAt(target, draft, runId, keys, job, io), reserved, io)
  try {
    if (plan.target !== null) return await runAt(plan.target)
    const { seed, service: capacity } = plan
    const options = { seed, profile: draft.profile, service: capacity, stderr: io.childStderr }
    const service = await startEmbeddedService(options)
    try {
      return await runAt(service.baseUrl)
    } finally {
      await service.stop()
    }
  } finally {
    reserved.release()
  }
}

/** A run at a target, before its outputs are made. `notes`: for the user. */
type ReadyRun = {
  readonly job: Omit<RunJob, 'gauges' | 'details'>
  readonly clock: Clock
  readonly notes: readonly (string | null)[]
}

type RunKeys = Keys & { readonly wallets: readonly WalletCaller[]; readonly addedSecrets: AddedSecrets }

/** The job of a run at a target. The limits that the target publishes decide the rates, and so the cost. */
async function jobAt(
  target: string,
  draft: DraftPlan,
  runId: string,
  { callers: keyed, specialKeys, given, areInvented, wallets, addedSecrets }: RunKeys,
  { baselines, workers, warmUp, failFast, untilDecided, traces, variables, turns }: DraftJob,
  { secrets, limit, refused, clock = systemClock() }: DraftIo,
): Promise<ReadyRun> {
  const callers = [...keyed, ...wallets]
  const discovery = await discoverAt(target, callers, draft.plan, draft.contract, addedSecrets)
  // Both are public, and the address of the target may contain a key.
  const { plan: unlimited, contract } = secrets.json(draft.replan(discovery))
  const plan = limit(unlimited, draft.ownBudgetUsd)
  assertWithinBudget(plan, { isDraft: false }, refused)
  assertStillComparable(baselines, { plan, contract })
  const suggested = discovery.suggestedTarget === null ? null : secrets.text(discovery.suggestedTarget)
  const info: RunInfo = {
    turnpike: logFormat,
    runId,
    version,
    target: secrets.text(target),
    // The clock of all records began before the target was asked for its limits.
    startedAtMs: clock.wallMs() - clock.nowMs(),
    ...(areInvented && { inventedKeys: true }),
    ...(keyed.length > 0 && keyed.every(({ keys }) => keys.length === 0) && { withoutKeys: true }),
    ...(traces && { traces: true }),
    ...(suggested !== null && { suggestedTarget: suggested }),
  }
  const isKeyed =
    Object.keys(addedSecrets).length > 0 || callers.some(caller => caller.kind === 'wallet' || caller.keys.length > 0)
  const runSecrets = [...given, ...environmentSecrets(variables)]
  const judged = { info, plan, contract, baselines }
  const settings = {
    ...{ workers, warmUp, failFast, untilDecided, turns },
    baseUrl: target,
    solanaNode: solanaNodeOf(plan, variables),
  }
  return {
    job: { ...judged, ...settings, callers, specialKeys, addedSecrets, secrets: runSecrets },
    clock,
    notes: [
      plan.fewerKeys && `Keys: ${describeFewerKeys(plan.fewerKeys)}.`,
      plan.notOffered.length === 0 ? null : `Not offered, and left out: ${plan.notOffered.join(', ')}.`,
      isKeyed ? plainTextWarning(plan) : null,
      ...discovery.notes,
      suggested === null ? null : notThere(info.target, suggested),
      weakSecretsNote(runSecrets),
    ],
  }
}

async function runJob({ job, clock, notes }: ReadyRun, reserved: ReservedDirectory, io: DraftIo): Promise<Report> {
  const { startWorker, elsewhere, spend } = io
  const { plan, contract, info, workers } = job
  const { close, ...watch } = await io.watch({ plan, info, clock })
  try {
    for (const note of notes) if (note !== null) watch.log(note)
    const isNeeded = (what: Output['needs']) => watch.outputs.some(({ needs }) => needs === what)
    const whole: RunJob = { ...job, gauges: isNeeded('gauges'), details: isNeeded('details') }
    const notWritten: Unwritten[] = []
    const runIo: RunIo = {
      ...{ clock, startWorker, ...watch },
      directory: reserved.create({ plan, contract }, elsewhere?.logs ?? workers),
      unwritten: file => void notWritten.push(file),
    }
    const report = await (elsewhere?.run ?? run)(whole, runIo, spend)
    io.unwritten(notWritten)
    return report
  } finally {
    await close()
  }
}

/** A sortable time, and random digits for runs that start in the same second. */
export function newRunId(): string {
  const stamp = new Date().toISOString().slice(0, 19).replaceAll(/[-:]/g, '')
  return `${stamp}Z-${randomBytes(3).toString('hex')}`
}
