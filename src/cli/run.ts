import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import type { Contract } from '../contract/contract.ts'
import type { Baselines } from '../judge/compare/comparable.ts'
import { systemClock } from '../lib/clock.ts'
import { UsageError } from '../lib/usage-error.ts'
import type { RunInfo } from '../observation/log.ts'
import type { Plan } from '../plan/plan.ts'
import { maxShards } from '../plan/shard.ts'
import { type Keys, loadKeys } from '../produce/callers/api-keys.ts'
import { discoverLimits } from '../run/discovery.ts'
import { type RunJob, run } from '../run/run.ts'
import { startThread } from '../run/threads.ts'
import { type ReservedDirectory, reserveRunDirectory, type Unwritten } from '../storage/run-directory.ts'
import { startEmbeddedService } from './child-process.ts'
import { assertStillComparable, baselinesOf } from './compare.ts'
import { exitCodes, listFlag, number, text, type Values, version } from './flags.ts'
import { listenForInterrupts } from './interrupts.ts'
import { assertWithinBudget, contractOf, type DraftPlan, draftPlan } from './load-plan.ts'
import { createOutputs, type OutputFlags, outputFlags } from './outputs.ts'
import { exitCodeOf, showUnwritten } from './print.ts'

export async function runCommand(values: Values): Promise<number> {
  const contract = contractOf(values)
  // Read all scenarios before the first run, so that a mistake in the last one shows up now and not after an hour.
  const drafts: DraftPlan[] = []
  for (const file of listFlag(values, 'scenarios')) drafts.push(await draftPlan(file, contract, values))
  for (const { plan } of drafts) {
    assertWithinBudget(plan)
    assertShardable(plan, workersOf(values))
  }
  const flags = outputFlags(values, process.env)
  const baselines = await baselinesOf(values, drafts, contract)
  const codes: number[] = []
  for (const draft of drafts) {
    const code = await runDraft(draft, { contract, values, flags, baselines, several: drafts.length > 1 })
    codes.push(code)
    if (code === exitCodes.interrupted) break
  }
  return worstExitCode(codes)
}

/** The exit code of several runs. A failed run is worse than an inconclusive one. */
function worstExitCode(codes: readonly number[]): number {
  const order = [exitCodes.interrupted, exitCodes.fail, exitCodes.inconclusive]
  return order.find(code => codes.includes(code)) ?? exitCodes.pass
}

/** The values that all runs of one command line share. */
type Invocation = {
  readonly contract: Contract
  readonly values: Values
  readonly flags: OutputFlags
  readonly baselines: Baselines | null
  readonly several: boolean
}

/** Runs a scenario against the target of its plan, or against a reference service that it starts. */
async function runDraft(draft: DraftPlan, invocation: Invocation): Promise<number> {
  const { plan } = draft
  const { values, several } = invocation
  const runId = newRunId()
  const path = directoryOf(plan, runId, text(values, 'out'), several)
  const keys = loadKeys(plan, runId)
  const reserved = reserveRunDirectory(path, invocation.contract)
  try {
    return await runAtTarget(draft, { runId, path, reserved, keys }, invocation)
  } finally {
    reserved.release()
  }
}

type Start = {
  readonly runId: string
  readonly path: string
  readonly reserved: ReservedDirectory
  readonly keys: Keys
}

async function runAtTarget(draft: DraftPlan, start: Start, invocation: Invocation): Promise<number> {
  const { plan } = draft
  const { values } = invocation
  const runAt = (target: string) => runAgainst(target, draft, start, invocation)
  if (plan.target !== null) return await runAt(plan.target)
  const service = await startEmbeddedService({
    seed: plan.seed,
    profile: text(values, 'profile'),
    service: plan.service,
  })
  try {
    return await runAt(service.baseUrl)
  } finally {
    service.stop()
  }
}

async function runAgainst(
  target: string,
  draft: DraftPlan,
  { runId, path, reserved, keys: { callers, specialKeys } }: Start,
  { contract, values, flags, baselines }: Invocation,
): Promise<number> {
  // The published limits decide the rates, and so the cost.
  const plan = draft.replan(await discoverLimits(target, callers, draft.plan, contract))
  assertWithinBudget(plan)
  assertStillComparable(baselines, { plan, contract })
  const clock = systemClock()
  const info: RunInfo = { turnpike: 2, runId, version, target, startedAtMs: clock.wallMs() }
  const { outputs, gauges, log, close } = await createOutputs(plan, info, clock, path, values, flags)
  const { stop, quit, onFirst, dispose } = listenForInterrupts()
  onFirst(() => log('Interrupted. Waiting for requests in flight; press ^C again to quit now.'))
  try {
    const workers = workersOf(values)
    const directory = reserved.create(plan, workers)
    const warmUp = values['warm-up'] !== false
    const job: RunJob = { info, plan, contract, callers, specialKeys, baselines, workers, warmUp, gauges }
    const unwritten: Unwritten[] = []
    const io = { clock, stop, quit, startWorker: startThread, directory, outputs, log }
    const report = await run(job, { ...io, unwritten: file => void unwritten.push(file) })
    showUnwritten(unwritten)
    return exitCodeOf(report)
  } finally {
    await close()
    dispose()
  }
}

const workersOf = (values: Values): number => number(values, 'workers') ?? 1

function assertShardable(plan: Plan, workers: number): void {
  const { max, reason } = maxShards(plan)
  if (Number.isSafeInteger(workers) && workers >= 1 && workers <= max) return
  throw new UsageError({
    where: '--workers',
    got: String(workers),
    expected: `a whole number from 1 to ${max}: ${plan.scenario} has ${reason}`,
  })
}

/** A sortable time, and random digits for runs that start in the same second. */
function newRunId(): string {
  const stamp = new Date().toISOString().slice(0, 19).replaceAll(/[-:]/g, '')
  return `${stamp}Z-${randomBytes(3).toString('hex')}`
}

function directoryOf(plan: Plan, runId: string, out: string | null, several: boolean): string {
  if (out === null) return join('runs', `${runId}-${plan.scenario}`)
  return several ? join(out, plan.scenario) : out
}
