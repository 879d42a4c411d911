import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { documentedContract } from '../../contract/documented.ts'
import type { Baselines } from '../../judge/compare/comparable.ts'
import { systemClock } from '../../lib/clock.ts'
import { formatPico, pico } from '../../lib/money.ts'
import { type Mistake, UsageError } from '../../lib/usage-error.ts'
import type { RunInfo } from '../../observation/log.ts'
import type { Plan } from '../../plan/plan.ts'
import { maxShards } from '../../plan/shard.ts'
import { assertMaySendKeys, type Keys, loadKeys, plainTextWarning } from '../../produce/callers/api-keys.ts'
import type { WalletCaller } from '../../produce/callers/caller.ts'
import { loadWalletKeys, loadWallets, solanaNodeOf } from '../../produce/callers/wallet-keys.ts'
import { notThere } from '../../produce/transport/suggest-target.ts'
import { discoverAt } from '../../run/discovery.ts'
import { type RunJob, run } from '../../run/run.ts'
import { startThread } from '../../run/threads.ts'
import { type ReservedDirectory, reserveRunDirectory, type Unwritten } from '../../storage/run-directory.ts'
import { startEmbeddedService } from '../child-process.ts'
import { exitCodes, listFlag, number, text, type Values, version } from '../flags.ts'
import { listenForInterrupts } from '../interrupts.ts'
import { assertWithinBudget, type DraftPlan, draftPlan } from '../load-plan.ts'
import { assertCanListen, createOutputs, type OutputFlags, outputFlags } from '../outputs.ts'
import { exitCodeOf, showUnwritten } from '../print.ts'
import { assertNoSecret, environmentSecrets, hidden, hiddenIn, hideSecrets, weakSecretsNote } from '../secrets.ts'
import { assertStillComparable, baselinesOf } from './compare.ts'

export async function runCommand(values: Values): Promise<number> {
  // Read all scenarios before the first run, so that a mistake in the last one shows up now and not after an hour.
  const drafts: DraftPlan[] = []
  for (const file of listFlag(values, 'scenarios')) drafts.push(await draftPlan(file, values))
  assertPaysOnce(text(values, 'top-up'), drafts.length)
  const flag = text(values, 'budget-usd')
  const budget = createCommandBudget(flag, drafts.length)
  for (const { plan, ownBudgetUsd } of drafts) {
    assertMaySendKeys(plan, text(values, 'target'))
    assertWithinBudget(budget.limit(plan, ownBudgetUsd), { isDraft: true })
    assertShardable(plan, workersOf(values))
  }
  assertTogetherWithinBudget(drafts, flag)
  const flags = outputFlags(values, process.env)
  assertWritable(drafts, text(values, 'out'))
  await assertCanListen(flags)
  const baselines = await baselinesOf(values, drafts)
  const codes: number[] = []
  for (const draft of drafts) {
    const code = await runDraft(draft, { values, flags, baselines, budget, several: drafts.length > 1 })
    codes.push(code)
    if (code === exitCodes.interrupted) break
    const left = drafts.slice(codes.length).map(({ plan }) => plan.scenario)
    if (code !== exitCodes.fail || values['fail-fast'] !== true || left.length === 0) continue
    process.stderr.write(`Not run, because of --fail-fast: ${left.join(', ')}.\n`)
    break
  }
  return worstExitCode(codes)
}

/** Throws a UsageError if several runs could each pay the amount of --top-up. */
function assertPaysOnce(topUp: string | null, scenarios: number): void {
  if (topUp === null || scenarios === 1) return
  throw new UsageError({
    where: '--top-up',
    got: `${scenarios} scenarios`,
    expected: 'one scenario, since each of them could pay this amount',
  })
}

/** Throws a UsageError if the directory of a run cannot be written, before the first run and before anything is sent. */
function assertWritable(drafts: readonly DraftPlan[], out: string | null): void {
  const names = drafts.map(({ plan }) => plan.scenario)
  const repeated = names.find((name, index) => names.indexOf(name) !== index)
  if (out !== null && repeated !== undefined)
    throw new UsageError({
      where: '--out',
      got: `the scenario ${repeated} twice`,
      expected: 'scenarios with unique names',
    })
  // The keys are not known yet, so what is tried here holds nothing of this run.
  for (const { plan } of drafts)
    reserveRunDirectory(directoryOf(plan, newRunId(), out, drafts.length > 1), documentedContract).release()
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
  readonly budget: CommandBudget
  readonly several: boolean
}

/** Runs a scenario against the target of its plan, or against a reference service that it starts. */
async function runDraft(draft: DraftPlan, invocation: Invocation): Promise<number> {
  const { plan } = draft
  const { values, several } = invocation
  const runId = newRunId()
  const path = directoryOf(plan, runId, text(values, 'out'), several)
  const keys = loadKeys(plan, draft.contract, runId)
  const walletKeys = loadWalletKeys(plan, draft.contract.wallets, runId)
  const given = [...keys.given, ...walletKeys.given]
  hideSecrets(given)
  assertNoSecret(plan.scenario, { ...plan, target: null }, 'scenario')
  const wallets = await loadWallets(plan, walletKeys)
  const reserved = reserveRunDirectory(path, hiddenIn(draft.contract))
  try {
    return await runAtTarget(draft, { runId, path, reserved, keys: { ...keys, given }, wallets }, invocation)
  } finally {
    reserved.release()
  }
}

type Start = {
  readonly runId: string
  readonly path: string
  readonly reserved: ReservedDirectory
  readonly keys: Keys
  readonly wallets: readonly WalletCaller[]
}

async function runAtTarget(draft: DraftPlan, start: Start, invocation: Invocation): Promise<number> {
  const { plan } = draft
  const runAt = (target: string) => runAgainst(target, draft, start, invocation)
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
  { runId, path, reserved, keys: { callers: keyed, specialKeys, given, areInvented }, wallets }: Start,
  { values, flags, baselines, budget }: Invocation,
): Promise<number> {
  const callers = [...keyed, ...wallets]
  // The published limits decide the rates, and so the cost.
  const discovery = await discoverAt(target, callers, draft.plan, draft.contract)
  // Both are public, and the address of the target may contain a key.
  const { plan: unlimited, contract } = hiddenIn(draft.replan(discovery))
  const plan = budget.limit(unlimited, draft.ownBudgetUsd)
  assertWithinBudget(plan, { isDraft: false })
  assertStillComparable(baselines, { plan, contract })
  const clock = systemClock()
  const info: RunInfo = {
    turnpike: 2,
    runId,
    version,
    target: hidden(target),
    startedAtMs: clock.wallMs(),
    ...(areInvented && { inventedKeys: true }),
    ...(discovery.suggestedTarget !== null && { suggestedTarget: hidden(discovery.suggestedTarget) }),
  }
  const { outputs, gauges, log, close } = await createOutputs(plan, info, clock, path, values, flags)
  const warning = callers.some(caller => caller.kind === 'wallet' || caller.keys.length > 0)
    ? plainTextWarning(plan)
    : null
  if (warning !== null) log(warning)
  const { stop, quit, onFirst, dispose } = listenForInterrupts()
  for (const note of discovery.notes) log(note)
  if (discovery.suggestedTarget !== null) log(notThere(info.target, hidden(discovery.suggestedTarget)))
  onFirst(() => log('Interrupted. Waiting for requests in flight; press ^C again to quit now.'))
  try {
    const workers = workersOf(values)
    const directory = reserved.create({ plan, contract }, workers)
    const warmUp = values['warm-up'] !== false
    const secrets = [...given, ...environmentSecrets(process.env)]
    const weak = weakSecretsNote(secrets)
    if (weak !== null) log(weak)
    const failFast = values['fail-fast'] === true
    const common = { info, plan, contract, baselines, workers, warmUp, failFast, gauges }
    const job: RunJob = { ...common, callers, specialKeys, secrets, solanaNode: solanaNodeOf(plan), baseUrl: target }
    const unwritten: Unwritten[] = []
    const noteUnwritten = (file: Unwritten) => void unwritten.push(file)
    const io = { clock, stop, quit, startWorker: startThread, directory, outputs, log, unwritten: noteUnwritten }
    const report = await run(job, io, budget.spend)
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

/** The budget of a command. Several scenarios share it, and the budget of each scenario holds as well. */
export type CommandBudget = {
  /** The plan with what it may spend: at most what earlier scenarios have left. */
  readonly limit: (plan: Plan, ownBudgetUsd: string | null) => Plan
  readonly spend: (picoUsd: bigint) => void
}

/** `flag` is the value of --budget-usd. It replaces the budget of a scenario that runs alone. */
export function createCommandBudget(flag: string | null, scenarios: number): CommandBudget {
  let spent = 0n
  return {
    limit: (plan, ownBudgetUsd) => {
      if (flag === null || plan.budgetUsd === null || scenarios < 2) return plan
      const left = pico(plan.budgetUsd) - spent
      const own = ownBudgetUsd === null ? left : pico(ownBudgetUsd)
      const least = own < left ? own : left
      return { ...plan, budgetUsd: formatPico(least > 0n ? least : 0n) }
    },
    spend: picoUsd => {
      spent += picoUsd
    },
  }
}

/** Throws a UsageError if the scenarios could together spend more than --budget-usd. */
export function assertTogetherWithinBudget(drafts: readonly DraftPlan[], flag: string | null): void {
  const mistake = togetherMistake(drafts, flag)
  if (mistake !== null) throw new UsageError(mistake)
}

function togetherMistake(drafts: readonly DraftPlan[], flag: string | null): Mistake | null {
  const budgetUsd = drafts[0]?.plan.budgetUsd ?? null
  if (flag === null || budgetUsd === null || drafts.length < 2) return null
  const worst = drafts.reduce((sum, { plan }) => sum + pico(plan.forecast.worstUsd ?? '0'), 0n)
  if (worst <= pico(budgetUsd)) return null
  return {
    where: '--budget-usd',
    got: `$${budgetUsd} for ${drafts.length} scenarios`,
    expected: `at least $${formatPico(worst)}, the sum of the worst cases of their forecasts`,
  }
}
