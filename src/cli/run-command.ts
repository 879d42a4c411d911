import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { mostWorkers } from '../arrivals/share.ts'
import type { Contract } from '../contract/contract.ts'
import { systemClock } from '../lib/clock.ts'
import { UsageError } from '../lib/usage-error.ts'
import type { RunHead } from '../observation/log.ts'
import type { Plan } from '../plan/plan.ts'
import { assertNoRun, createRunDirectory } from '../report/run-directory.ts'
import { discoverLimits } from '../run/discovery.ts'
import { type Baselines, type RunJob, run } from '../run/run.ts'
import { startThread } from '../run/threads.ts'
import { assertAffordable } from './affordable.ts'
import { assertStillComparable, baselinesOf } from './baselines.ts'
import { exitCodes, number, text, texts, type Values } from './command.ts'
import { startEmbeddedService } from './embedded-service.ts'
import { listenForInterrupts } from './interrupts.ts'
import { loadKeys } from './load-keys.ts'
import { contractOf, type Draft, draftPlan } from './load-plan.ts'
import { type Receivers, receiversOf } from './push-run.ts'
import { exitCodeOf } from './show-report.ts'
import { version } from './version.ts'
import { metricsAddress, watchRun } from './watch-run.ts'

export async function runCommand(values: Values): Promise<number> {
  const contract = contractOf(values)
  // All scenarios are read before the first is run: a mistake in the last must not come after an hour.
  const drafts: Draft[] = []
  for (const file of texts(values, 'scenarios')) drafts.push(await draftPlan(file, contract, values))
  for (const { plan } of drafts) {
    assertAffordable(plan)
    assertDivisible(plan, workersOf(values))
  }
  metricsAddress(values)
  const receivers = receiversOf(values, process.env)
  const baselines = await baselinesOf(values, drafts, contract)
  const codes: number[] = []
  for (const draft of drafts) {
    const code = await runDraft(draft, { contract, values, baselines, receivers, several: drafts.length > 1 })
    codes.push(code)
    if (code === exitCodes.interrupted) break
  }
  return worstOf(codes)
}

/** One exit code for several runs: a failure is worse than an inconclusive run. */
function worstOf(codes: readonly number[]): number {
  const order = [exitCodes.interrupted, exitCodes.fail, exitCodes.inconclusive]
  return order.find(code => codes.includes(code)) ?? exitCodes.pass
}

/** What all runs of one command line have in common. */
type Invocation = {
  readonly contract: Contract
  readonly values: Values
  readonly baselines: Baselines | null
  readonly receivers: Receivers
  readonly several: boolean
}

/** Runs one scenario, against the target of its plan or else a reference service of its own. */
async function runDraft(draft: Draft, invocation: Invocation): Promise<number> {
  const { plan } = draft
  const { values, several } = invocation
  const runId = newRunId()
  const path = directoryOf(plan, runId, text(values, 'out'), several)
  assertNoRun(path)
  const keys = loadKeys(plan, runId)
  const runAt = async (target: string): Promise<number> => {
    const job = await jobAt(target, draft, runId, keys, invocation)
    return runJob(job, path, invocation)
  }
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

/** The limits that a target grants decide the rates, and so what the run could spend. */
async function jobAt(
  target: string,
  draft: Draft,
  runId: string,
  { callers, spareKeys }: ReturnType<typeof loadKeys>,
  { contract, values, baselines }: Invocation,
): Promise<Omit<RunJob, 'info' | 'gauges'> & { readonly info: Omit<RunHead, 'startedAtMs'> }> {
  const plan = draft.replan(await discoverLimits(target, callers, draft.plan, contract))
  assertAffordable(plan)
  assertStillComparable(baselines, { plan, contract })
  return {
    info: { turnpike: 1, runId, version, target },
    plan,
    contract,
    callers,
    specialKeys: spareKeys,
    baselines,
    workers: workersOf(values),
    warmUp: values.rehearsal !== false,
  }
}

async function runJob(
  draft: Awaited<ReturnType<typeof jobAt>>,
  path: string,
  { values, receivers }: Invocation,
): Promise<number> {
  const { plan, contract, workers } = draft
  const clock = systemClock()
  const info = { ...draft.info, startedAtMs: clock.wallMs() }
  const watch = await watchRun({ plan, head: info, clock, values, path, receivers })
  const { stop, quit, onFirst, dispose } = listenForInterrupts()
  onFirst(() => watch.log('Interrupted: waiting for what is under way. Once more to quit.'))
  try {
    const directory = await createRunDirectory(path, { plan, contract }, workers)
    const job: RunJob = { ...draft, info, gauges: watch.isMetered }
    const io = { clock, stop, quit, startWorker: startThread, directory, outputs: [watch.output], log: watch.log }
    return exitCodeOf(await run(job, io))
  } finally {
    await watch.output.close()
    dispose()
  }
}

/** How many workers are to share a run. */
const workersOf = (values: Values): number => number(values, 'workers') ?? 1

function assertDivisible(plan: Plan, workers: number): void {
  const { most, because } = mostWorkers(plan)
  if (Number.isSafeInteger(workers) && workers >= 1 && workers <= most) return
  throw new UsageError({
    where: '--workers',
    got: String(workers),
    expected: `a whole number from 1 to ${most}: ${plan.scenario} has ${because}`,
  })
}

/** A time that sorts, and enough chance to tell two runs of one second apart. */
function newRunId(): string {
  const stamp = new Date().toISOString().slice(0, 19).replaceAll(/[-:]/g, '')
  return `${stamp}Z-${randomBytes(3).toString('hex')}`
}

function directoryOf(plan: Plan, runId: string, out: string | null, several: boolean): string {
  if (out === null) return join('runs', `${runId}-${plan.scenario}`)
  return several ? join(out, plan.scenario) : out
}
