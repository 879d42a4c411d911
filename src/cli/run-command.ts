import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { mostWorkers } from '../arrivals/share.ts'
import type { Keys } from '../callers/api-keys.ts'
import { loadKeys } from '../callers/api-keys.ts'
import type { Baselines } from '../compare/comparable.ts'
import type { Contract } from '../contract/contract.ts'
import { epochOf, systemClock } from '../lib/clock.ts'
import { UsageError } from '../lib/usage-error.ts'
import type { RunHead } from '../observation/log.ts'
import type { Plan } from '../plan/plan.ts'
import { carryOutInThreads } from '../run/carry-out-in-threads.ts'
import { assertNoRun, createRunDirectory, logFiles, observationsIn } from '../storage/run-directory.ts'
import { assertAffordable } from './affordable.ts'
import { askLimits } from './ask-limits.ts'
import { assertStillComparable, baselinesOf } from './baselines.ts'
import { exitCodes, number, text, texts, type Values } from './command.ts'
import { startEmbeddedService } from './embedded-service.ts'
import { tellGitHub } from './github-actions.ts'
import { listenForInterrupts } from './interrupts.ts'
import { contractOf, type Draft, draftPlan } from './load-plan.ts'
import { type Receivers, receiversOf } from './push-run.ts'
import { exitCodeOf, showReport } from './show-report.ts'
import { version } from './version.ts'
import { metricsAddress, watchRun } from './watch-run.ts'

export async function runCommand(values: Values): Promise<number> {
  const contract = contractOf(values)
  // All of them are read before the first is carried out: a mistake in the last must not come after an hour.
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

/** One verdict for several runs: a failure is worse than a doubt. */
function worstOf(codes: readonly number[]): number {
  const order = [exitCodes.interrupted, exitCodes.fail, exitCodes.inconclusive]
  return order.find(code => codes.includes(code)) ?? exitCodes.pass
}

type Order = {
  readonly contract: Contract
  readonly values: Values
  readonly baselines: Baselines | null
  readonly receivers: Receivers
  readonly several: boolean
}

async function runDraft(draft: Draft, { contract, values, baselines, receivers, several }: Order): Promise<number> {
  const { plan } = draft
  const runId = nameRun()
  const path = directoryOf(plan, runId, text(values, 'out'), several)
  assertNoRun(path)
  const keys = loadKeys(plan, runId)
  const errand = { draft, contract, keys, runId, path, values, baselines, receivers }
  if (plan.target !== null) return await askAndCarryOut(plan.target, errand)
  const service = await startEmbeddedService({
    seed: plan.seed,
    profile: text(values, 'profile'),
    service: plan.service,
  })
  try {
    return await askAndCarryOut(service.baseUrl, errand)
  } finally {
    service.stop()
  }
}

type Errand = {
  readonly draft: Draft
  readonly contract: Contract
  readonly keys: Keys
  readonly runId: string
  readonly path: string
  readonly values: Values
  readonly baselines: Baselines | null
  readonly receivers: Receivers
}

/** What a target grants decides the rates, and so what the run could spend. */
async function askAndCarryOut(target: string, errand: Errand): Promise<number> {
  const { draft, contract, keys, baselines } = errand
  const plan = draft.replan(await askLimits(target, keys.callers, draft.plan, contract))
  assertAffordable(plan)
  assertStillComparable(baselines, { plan, contract })
  return carryOutAt(target, plan, errand)
}

async function carryOutAt(target: string, plan: Plan, errand: Errand): Promise<number> {
  const { contract, keys, runId, path, values, baselines, receivers } = errand
  const clock = systemClock()
  const head: RunHead = { turnpike: 1, runId, version, target, startedAtMs: clock.wallMs() }
  const watch = await watchRun({ plan, head, clock, values, path, receivers })
  const interrupts = listenForInterrupts()
  interrupts.onFirst(() => watch.log('Interrupted: waiting for what is under way. Once more to quit.'))
  try {
    const directory = await createRunDirectory(path, { plan, contract })
    const logs = logFiles(path, workersOf(values))
    const common = {
      ...{ plan, contract, ...keys, head, epoch: epochOf(clock), clock },
      ...{ stop: interrupts.stop, quit: interrupts.quit },
      isMetered: watch.isMetered,
      isRehearsed: values.rehearsal !== false,
      pushed: watch.pushed,
      logs,
      maxConnections: plan.bounds.maxInFlight * connectionsPerArrival(plan),
      baselines,
      records: { recall: () => observationsIn(logs), writeSlices: directory.writeSlices },
      onStart: watch.start,
      log: watch.log,
    }
    const report = await carryOutInThreads(common)
    watch.stop()
    await directory.writeReport(report)
    showReport(report, path, values)
    tellGitHub(report)
    await watch.conclude(report, interrupts.quit)
    return exitCodeOf(report)
  } finally {
    await watch.close()
    interrupts.dispose()
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
function nameRun(): string {
  const stamp = new Date().toISOString().slice(0, 19).replaceAll(/[-:]/g, '')
  return `${stamp}Z-${randomBytes(3).toString('hex')}`
}

function directoryOf(plan: Plan, runId: string, out: string | null, several: boolean): string {
  if (out === null) return join('runs', `${runId}-${plan.scenario}`)
  return several ? join(out, plan.scenario) : out
}

/** A replay may race itself; every one of its requests needs a connection. */
function connectionsPerArrival(plan: Plan): number {
  const replays = Object.values(plan.calls).map(call => (call.kind === 'replay' ? 1 + call.duplicates : 1))
  return Math.max(1, ...replays)
}
