import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import type { Baselines } from '../judge/compare/comparable.ts'
import { systemClock } from '../lib/clock.ts'
import { UsageError } from '../lib/usage-error.ts'
import type { RunInfo } from '../observation/log.ts'
import type { Plan } from '../plan/plan.ts'
import { maxShards } from '../plan/shard.ts'
import { type Keys, loadKeys } from '../produce/callers/api-keys.ts'
import { discoverAt } from '../run/discovery.ts'
import { type RunJob, run } from '../run/run.ts'
import { startThread } from '../run/threads.ts'
import { assertNoRun, createRunDirectory } from '../storage/run-directory.ts'
import { startEmbeddedService } from './child-process.ts'
import { assertStillComparable, baselinesOf } from './compare.ts'
import { exitCodes, listFlag, number, text, type Values, version } from './flags.ts'
import { listenForInterrupts } from './interrupts.ts'
import { assertWithinBudget, type DraftPlan, draftPlan } from './load-plan.ts'
import { createOutputs, type OutputFlags, outputFlags } from './outputs.ts'
import { exitCodeOf } from './print.ts'

export async function runCommand(values: Values): Promise<number> {
  // Read all scenarios before the first run, so that a mistake in the last one shows up now and not after an hour.
  const drafts: DraftPlan[] = []
  for (const file of listFlag(values, 'scenarios')) drafts.push(await draftPlan(file, values))
  for (const { plan } of drafts) {
    assertWithinBudget(plan, { isDraft: true })
    assertShardable(plan, workersOf(values))
  }
  const flags = outputFlags(values, process.env)
  const baselines = await baselinesOf(values, drafts)
  const codes: number[] = []
  for (const draft of drafts) {
    const code = await runDraft(draft, { values, flags, baselines, several: drafts.length > 1 })
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
  assertNoRun(path)
  const keys = loadKeys(plan, draft.contract, runId)
  const runAt = (target: string) => runAgainst(target, draft, runId, path, keys, invocation)
  if (plan.target !== null) return await runAt(plan.target)
  const service = await startEmbeddedService({
    seed: plan.seed,
    profile: draft.profile,
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
  runId: string,
  path: string,
  { callers, specialKeys }: Keys,
  { values, flags, baselines }: Invocation,
): Promise<number> {
  // The published limits decide the rates, and so the cost.
  const discovery = await discoverAt(target, callers, draft.plan, draft.contract)
  const { plan, contract } = draft.replan(discovery)
  assertWithinBudget(plan, { isDraft: false })
  assertStillComparable(baselines, { plan, contract })
  const clock = systemClock()
  const info: RunInfo = { turnpike: 2, runId, version, target, startedAtMs: clock.wallMs() }
  const { outputs, gauges, log, close } = await createOutputs(plan, info, clock, path, values, flags)
  const { stop, quit, onFirst, dispose } = listenForInterrupts()
  for (const note of discovery.notes) log(note)
  onFirst(() => log('Interrupted. Waiting for requests in flight; press ^C again to quit now.'))
  try {
    const workers = workersOf(values)
    const directory = await createRunDirectory(path, { plan, contract }, workers)
    const warmUp = values['warm-up'] !== false
    const job: RunJob = { info, plan, contract, callers, specialKeys, baselines, workers, warmUp, gauges }
    return exitCodeOf(await run(job, { clock, stop, quit, startWorker: startThread, directory, outputs, log }))
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
