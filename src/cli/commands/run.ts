import { join } from 'node:path'
import { documentedContract } from '../../contract/documented.ts'
import type { Baselines } from '../../judge/compare/comparable.ts'
import { formatPico, pico } from '../../lib/money.ts'
import { type Mistake, UsageError } from '../../lib/usage-error.ts'
import { visible } from '../../lib/visible.ts'
import type { DraftPlan } from '../../library/draft.ts'
import {
  assertMayEndEarly,
  assertMayRun,
  assertShardable,
  type DraftIo,
  type DraftJob,
  newRunId,
  readBaselines,
  replanFor,
  runDraft,
} from '../../library/run-draft.ts'
import type { RequestedOutput } from '../../outputs/requested-output.ts'
import { describePlan } from '../../plan/describe-plan.ts'
import type { Plan } from '../../plan/plan.ts'
import { assertRedis, runOverQueue } from '../../run/queue/run-over-queue.ts'
import type { ShardTerms } from '../../run/queue/submit.ts'
import { startThread } from '../../run/threads.ts'
import { reserveRunDirectory } from '../../storage/run-directory.ts'
import { exitCodes, listFlag, number, text, type Values } from '../flags.ts'
import { draftPlan } from '../load-plan.ts'
import { requestedOutputs } from '../outputs.ts'
import { exitCodeOf, layoutOf, showUnwritten } from '../print.ts'
import { redisUrl } from '../redis-url.ts'
import { hiddenIn, ownSecrets } from '../secrets.ts'
import { watchRun } from '../watch-run.ts'
import { criteriaOf } from './compare.ts'

export async function runCommand(values: Values): Promise<number> {
  const files = listFlag(values, 'scenarios')
  // Read all scenarios before the first run, so that a mistake in the last one shows up now and not after an hour.
  const drafts: DraftPlan[] = []
  for (const file of files) drafts.push(await draftPlan(file, values))
  assertPaysOnce(text(values, 'top-up'), drafts.length)
  const flag = text(values, 'budget-usd')
  const { limit, spend } = createCommandBudget(flag, drafts.length)
  const job = jobOf(values)
  for (const draft of drafts) {
    assertMayRun(draft, job, { limit, refused: showRefused })
    assertShardable(draft.plan, '--shards', shardsOf(values))
  }
  if (values.collect === true && number(values, 'shards') === null)
    throw new UsageError({
      where: '--collect',
      got: 'no --shards',
      expected: '--shards with it, since all other runs leave their records on this machine',
    })
  assertMayEndEarly(job.untilDecided, listFlag(values, 'baseline').length)
  assertTogetherWithinBudget(drafts, flag)
  assertTraceable(values)
  const requested = await requestedOutputs(values, process.env)
  const out = text(values, 'out')
  const directory = (plan: Plan, runId: string) => directoryOf(plan, runId, out, drafts.length > 1)
  assertWritable(drafts, out, directory)
  await assertAvailable(requested)
  // Only --shards asks for workers elsewhere; the environment alone changes nothing.
  const redis = number(values, 'shards') === null ? null : redisUrl(values, process.env)
  if (redis !== null) await assertRedis(redis)
  const baselines = await baselinesOf(values, drafts)
  const io: DraftIo = {
    ...{ secrets: ownSecrets, limit, spend, refused: showRefused, unwritten: showUnwritten },
    ...{ startWorker: startThread, childStderr: 'inherit', elsewhere: elsewhereOf(values, redis) },
    reserve: (runId, { plan, contract }) => reserveRunDirectory(directory(plan, runId), hiddenIn(contract)),
    watch: run => watchRun(run, directory(run.plan, run.info.runId), values, requested),
  }
  const codes: number[] = []
  for (const draft of drafts) {
    const report = await runDraft(draft, { ...job, baselines }, io)
    codes.push(exitCodeOf(report))
    if (codes.at(-1) === exitCodes.interrupted) break
    const left = drafts.slice(codes.length).map(({ plan }) => plan.scenario)
    if (codes.at(-1) !== exitCodes.fail || !job.failFast || left.length === 0) continue
    process.stderr.write(`Not run, because of --fail-fast: ${left.join(', ')}.\n`)
    break
  }
  return worstExitCode(codes)
}

const jobOf = (values: Values): Omit<DraftJob, 'baselines'> => ({
  named: text(values, 'target'),
  workers: number(values, 'workers') ?? 1,
  warmUp: values['warm-up'] !== false,
  failFast: values['fail-fast'] === true,
  untilDecided: text(values, 'until') === 'decided',
  traces: values.traces === true,
  variables: process.env,
})

/** Workers elsewhere take the shards from this Redis; null: this process drives the load. */
function elsewhereOf(values: Values, redis: string | null): DraftIo['elsewhere'] {
  if (redis === null) return null
  const terms = shardTermsOf(values)
  return { logs: terms.shards, run: (job, io, spend) => runOverQueue(job, io, { url: redis, ...terms }, spend) }
}

/** The forecast shows which budget the run needs. */
function showRefused(plan: Plan, message: string): void {
  process.stderr.write(`${visible(describePlan(plan, message, layoutOf(process.stderr).columns))}\n`)
}

/** Reads the baselines before anything is sent; null if the flags name none. Throws a UsageError. */
async function baselinesOf(values: Values, drafts: readonly DraftPlan[]): Promise<Baselines | null> {
  const criteria = criteriaOf(values)
  const paths = listFlag(values, 'baseline')
  const [draft, ...others] = drafts
  if (paths.length === 0 || draft === undefined) return null
  if (others.length > 0)
    throw new UsageError({ where: '--baseline', got: `${drafts.length} scenarios`, expected: 'one scenario' })
  return await readBaselines(paths, criteria, replanFor(draft))
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

/** Throws a UsageError if an output cannot work, or if two of them need the same address. */
async function assertAvailable(requested: readonly RequestedOutput[]): Promise<void> {
  const releases: (() => Promise<void>)[] = []
  try {
    for (const { reserve } of requested) if (reserve !== undefined) releases.push(await reserve())
  } finally {
    for (const release of releases) await release()
  }
}

/** Throws a UsageError if spans have no receiver. Workers elsewhere do not send the requests that spans show. */
function assertTraceable(values: Values): void {
  if (values.traces !== true) return
  if (text(values, 'otlp') === null)
    throw new UsageError({ where: '--traces', got: 'no receiver', expected: '--otlp with it, for the spans' })
  if (number(values, 'shards') === null) return
  throw new UsageError({
    where: '--traces',
    got: '--shards',
    expected: '--workers, which share a machine, or no spans',
  })
}

/** Throws a UsageError if the directory of a run cannot be written, before the first run and before anything is sent. */
function assertWritable(
  drafts: readonly DraftPlan[],
  out: string | null,
  directory: (plan: Plan, runId: string) => string,
): void {
  const names = drafts.map(({ plan }) => plan.scenario)
  const repeated = names.find((name, index) => names.indexOf(name) !== index)
  if (out !== null && repeated !== undefined)
    throw new UsageError({
      where: '--out',
      got: `the scenario ${repeated} twice`,
      expected: 'scenarios with unique names',
    })
  // Only checks that the directory is writable; keys are loaded later.
  for (const { plan } of drafts) reserveRunDirectory(directory(plan, newRunId()), documentedContract).release()
}

/** The exit code of several runs. A failed run is worse than an inconclusive one. */
function worstExitCode(codes: readonly number[]): number {
  const order = [exitCodes.interrupted, exitCodes.fail, exitCodes.inconclusive]
  return order.find(code => codes.includes(code)) ?? exitCodes.pass
}

const shardTermsOf = (values: Values): ShardTerms => ({
  shards: shardsOf(values),
  readyWithinMs: 1_000 * (number(values, 'ready-within') ?? 60),
  silenceMs: 1_000 * (number(values, 'max-silence') ?? 10),
  collect: values.collect === true,
})

const shardsOf = (values: Values): number => number(values, 'shards') ?? 1

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
