import { randomBytes } from 'node:crypto'
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
import type { RunInfo } from '../observation/log-lines.ts'
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
import type { StartWorker } from '../run/messages.ts'
import { type RunIo, type RunJob, run } from '../run/run.ts'
import { readComparedRun } from '../storage/recorded-run.ts'
import type { ReservedDirectory, Unwritten } from '../storage/run-directory.ts'
import { startEmbeddedService } from './child-process.ts'
import { assertWithinBudget, type DraftPlan } from './draft.ts'
import { assertNoSecret, environmentSecrets, type Secrets, weakSecretsNote } from './secrets.ts'
import { version } from './shipped-files.ts'

/** How to run a draft: plain data. */
export type RunSettings = {
  /** The target that the user names, and not the scenario. Only it gets keys that leave this machine. */
  readonly named: string | null
  readonly workers: number
  readonly warmUp: boolean
  readonly failFast: boolean
  /** Whether requests carry trace ids. */
  readonly traces: boolean
  readonly baselines: Baselines | null
  /** Where keys come from, unless the scenario names a file. */
  readonly variables: Variables
}

/** What a run has before its outputs are made. */
export type RunStart = {
  readonly plan: Plan
  readonly info: RunInfo
  readonly clock: Clock
}

/** What watches a run, and what ends it. */
export type RunWatch = Pick<RunIo, 'stop' | 'quit' | 'outputs' | 'log'> & {
  /** Whether an output reads the gauges. */
  readonly gauges: boolean
  /** Whether an output shows details. */
  readonly details: boolean
  readonly close: () => Promise<void>
}

/** All effects of a run beside its requests. */
export type RunEffects = {
  readonly secrets: Secrets
  /** Reserves where the run is recorded, before anything is sent. */
  readonly reserve: (runId: string, draft: DraftPlan) => ReservedDirectory
  readonly watch: (start: RunStart) => Promise<RunWatch>
  readonly startWorker: StartWorker
  readonly unwritten: (files: readonly Unwritten[]) => void
  /** Shows the plan of a run that is refused because it has no budget. */
  readonly refused: (plan: Plan, message: string) => void
  /** The plan with what it may spend. */
  readonly limit: (plan: Plan, ownBudgetUsd: string | null) => Plan
  readonly spend: (picoUsd: bigint) => void
  /** Whether the service that a run starts shows on stderr why it cannot start. */
  readonly childStderr: 'inherit' | 'ignore'
  /** How to run the job elsewhere than in this process, and how many logs that gives; null: in this process. */
  readonly elsewhere?: { readonly logs: number; readonly run: typeof run } | null
}

/** Throws a UsageError if a draft must not run. Nothing was sent before. */
export function assertMayRun(
  { plan, ownBudgetUsd }: DraftPlan,
  { named, workers }: Pick<RunSettings, 'named' | 'workers'>,
  { limit, refused }: Pick<RunEffects, 'limit' | 'refused'>,
): void {
  assertMaySendKeys(plan, named)
  assertWithinBudget(limit(plan, ownBudgetUsd), { isDraft: true }, refused)
  assertShardable(plan, '--workers', workers)
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
export async function runDraft(draft: DraftPlan, settings: RunSettings, effects: RunEffects): Promise<Report> {
  const { plan, contract } = draft
  const { secrets } = effects
  const runId = newRunId()
  const keys = loadKeys(plan, contract, runId, settings.variables)
  const walletKeys = loadWalletKeys(plan, contract.wallets, runId, settings.variables)
  const given = [...keys.given, ...walletKeys.given]
  secrets.hide(given)
  assertNoSecret(secrets, plan.scenario, { ...plan, target: null }, 'scenario')
  const wallets = await loadWallets(plan, walletKeys)
  const reserved = effects.reserve(runId, draft)
  const start = { runId, reserved, keys: { ...keys, given }, wallets }
  try {
    if (plan.target !== null) return await runAgainst(plan.target, draft, start, settings, effects)
    const { seed, service: capacity } = plan
    const options = { seed, profile: draft.profile, service: capacity, stderr: effects.childStderr }
    const service = await startEmbeddedService(options)
    try {
      return await runAgainst(service.baseUrl, draft, start, settings, effects)
    } finally {
      await service.stop()
    }
  } finally {
    reserved.release()
  }
}

type Start = {
  readonly runId: string
  readonly reserved: ReservedDirectory
  readonly keys: Keys
  readonly wallets: readonly WalletCaller[]
}

async function runAgainst(
  target: string,
  draft: DraftPlan,
  { runId, reserved, keys: { callers: keyed, specialKeys, given, areInvented }, wallets }: Start,
  { baselines, workers, warmUp, failFast, traces, variables }: RunSettings,
  { secrets, limit, spend, refused, watch, startWorker, unwritten, elsewhere = null }: RunEffects,
): Promise<Report> {
  const callers = [...keyed, ...wallets]
  // The published limits decide the rates, and so the cost.
  const discovery = await discoverAt(target, callers, draft.plan, draft.contract)
  // Both are public, and the address of the target may contain a key.
  const { plan: unlimited, contract } = secrets.json(draft.replan(discovery))
  const plan = limit(unlimited, draft.ownBudgetUsd)
  assertWithinBudget(plan, { isDraft: false }, refused)
  assertStillComparable(baselines, { plan, contract })
  const clock = systemClock()
  const suggested = discovery.suggestedTarget === null ? null : secrets.text(discovery.suggestedTarget)
  const info: RunInfo = {
    turnpike: 2,
    runId,
    version,
    target: secrets.text(target),
    startedAtMs: clock.wallMs(),
    ...(areInvented && { inventedKeys: true }),
    ...(keyed.length > 0 && keyed.every(({ keys }) => keys.length === 0) && { withoutKeys: true }),
    ...(traces && { traces: true }),
    ...(suggested !== null && { suggestedTarget: suggested }),
  }
  const { stop, quit, outputs, gauges, details, log, close } = await watch({ plan, info, clock })
  try {
    const isKeyed = callers.some(caller => caller.kind === 'wallet' || caller.keys.length > 0)
    const runSecrets = [...given, ...environmentSecrets(variables)]
    const notes = [
      isKeyed ? plainTextWarning(plan) : null,
      ...discovery.notes,
      suggested === null ? null : notThere(info.target, suggested),
      weakSecretsNote(runSecrets),
    ]
    for (const note of notes) if (note !== null) log(note)
    const common = { info, plan, contract, baselines, workers, warmUp, failFast, gauges, details, secrets: runSecrets }
    const solanaNode = solanaNodeOf(plan, variables)
    const job: RunJob = { ...common, callers, specialKeys, solanaNode, baseUrl: target }
    const notWritten: Unwritten[] = []
    const io: RunIo = {
      ...{ clock, stop, quit, startWorker, outputs, log },
      directory: reserved.create({ plan, contract }, elsewhere?.logs ?? workers),
      unwritten: file => void notWritten.push(file),
    }
    const report = await (elsewhere?.run ?? run)(job, io, spend)
    unwritten(notWritten)
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
