import { relative, sep } from 'node:path'
import type { Contract } from '../contract/contract.ts'
import { documentedContract } from '../contract/documented.ts'
import { systemClock } from '../lib/clock.ts'
import { isLoopback } from '../lib/loopback.ts'
import { formatPico, pico } from '../lib/money.ts'
import { UsageError } from '../lib/usage-error.ts'
import type { RunOptions, ShrinkProgress } from '../library/options.ts'
import { runScenario } from '../library/run-scenario.ts'
import { profileFile, shippedNames } from '../library/shipped-files.ts'
import type { Plan } from '../plan/plan.ts'
import type { Report } from '../report/document.ts'
import { type ChosenFinding, exampleOf } from '../report/numbered-findings.ts'
import { historyOf, sequenceOf } from '../run/sequence.ts'
import type { WrittenScenario } from '../scenario/load-scenario.ts'
import type { ScenarioInput } from '../scenario/schema.ts'
import { readJudgedRun } from '../storage/run-directory.ts'
import { type About, type Candidate, scenarioOfCandidate, variantsOf } from './candidate.ts'
import { type Attempted, type Shrunk, shrink } from './shrink.ts'

/** What is shrunk: a finding of a run directory. */
export type ShrinkJob = { readonly directory: string; readonly report: Report; readonly chosen: ChosenFinding }

/** How its requests are sent again. The budget is for all runs together. */
export type ShrinkOptions = Pick<
  RunOptions,
  'target' | 'keys' | 'walletKeys' | 'profile' | 'budgetUsd' | 'topUpUsd' | 'signal'
> & {
  /** Whether the user gave the keys, so that all runs use the same ones. */
  readonly hasOwnKeys: boolean
  /** The maximum time for all runs, in milliseconds. */
  readonly maxMs: number
  /** The folder of the scenario file, which names a profile by its path from there. */
  readonly folder: string
  /** Where the last run of the smallest scenario is recorded; null: nowhere. */
  readonly record: string | null
}

export type ShrunkFinding = Shrunk & { readonly spentUsd: string }

/**
 * The smallest scenario that still gives a finding, found by sending the requests that it cites, and always fewer of them.
 * null: sending them again does not give it. Throws a UsageError if nothing can be sent.
 */
export async function shrinkFinding(
  { directory, report, chosen }: ShrinkJob,
  options: ShrinkOptions,
  onProgress: (progress: ShrinkProgress) => void,
): Promise<ShrunkFinding | null> {
  const { name, finding } = chosen
  const example = exampleOf(chosen)
  const known = readJudgedRun(directory, report)
  const { plan, contract } = known
  const profile = options.profile === undefined ? profileOf(plan, contract) : profileFile(options.profile, null)
  const sequence = await sequenceOf(example, known)
  const variants = variantsOf([sequence.requests, await historyOf(sequence, known)], plan)
  if (variants.length === 0)
    throw new UsageError({
      where: `finding ${chosen.number}`,
      got: 'no recorded request of a call',
      expected: 'a run with "record: all" or "record: findings", and a finding about the load',
    })
  const target = options.target ?? ownTarget(plan.target)
  const about: About = {
    clause: name,
    isClause: 'clause' in finding,
    message: example.message,
    seed: plan.seed,
    // A scenario of Windows is read elsewhere, too.
    profile: profile === null ? null : relative(options.folder, profile).replaceAll(sep, '/'),
  }
  const sender = createSender({ ...options, target, profile: profile ?? undefined }, { name, contract })
  const scenarioOf = (candidate: Candidate) => scenarioOfCandidate(candidate, plan, about)
  const shrunk = await shrink(variants, {
    scenarioOf,
    attempt: sender.attempt,
    onProgress: progress => onProgress({ ...progress, spentUsd: sender.spentUsd() }),
  })
  if (shrunk === null) return null
  if (options.record !== null && shrunk.ended === 'minimal') await sender.record(shrunk.scenario, options.record)
  return { ...shrunk, spentUsd: sender.spentUsd() }
}

/** The profile that judged a run, if it is a shipped one; null for none. A file may keep the name of the documented one. */
function profileOf({ profile }: Plan, { sources }: Contract): string | null {
  if (profile === documentedContract.name && !Object.values(sources).includes('profile')) return null
  if (shippedNames('profile').includes(profile)) return profileFile(profile, null)
  const expected = `the file of the profile "${profile}", which judged the run`
  throw new UsageError({ where: '--profile', got: 'nothing', expected })
}

/** The target of a run on this machine. Only a target that the user names gets keys that leave it. */
function ownTarget(target: string | null): string {
  if (target !== null && isLoopback(target)) return target
  const expected =
    target === null
      ? 'the base URL of the service, because the one that the run started has ended'
      : `the base URL of the service, because that of the run, ${target}, is not on this machine`
  throw new UsageError({ where: '--target', got: 'nothing', expected })
}

type Asked = { readonly name: string; readonly contract: Contract }

/** Sends scenarios within one budget and one time. */
function createSender(
  { maxMs, signal, budgetUsd, hasOwnKeys, record: _, folder: __, ...options }: ShrinkOptions,
  { name, contract }: Asked,
) {
  const budget = budgetUsd === undefined || budgetUsd === 'unlimited' ? null : pico(String(budgetUsd))
  const clock = systemClock()
  const endMs = clock.nowMs() + maxMs
  let spent = 0n
  let isSent = false
  /** When the limits of the keys are as before; 0: they are. */
  let restedMs = 0

  const send = async (scenario: WrittenScenario, directory?: string): Promise<Report | null> => {
    const left = budget === null ? budgetUsd : formatPico(budget - spent)
    const terms = {
      ...options,
      budgetUsd: left,
      warmUp: false,
      ...(signal && { signal }),
      ...(directory && { directory }),
    }
    const report = await runScenario(scenario as ScenarioInput, terms).catch((cause: unknown) => {
      if (!(cause instanceof UsageError) || !isSent) throw cause
      return null
    })
    if (report === null) return null
    if (!isSent && report.load.answered === 0)
      throw new UsageError({
        where: '--target',
        got: `no response from ${options.target}`,
        expected: 'a service that responds and still has the fault',
      })
    isSent = true
    spent += pico(costOf(report))
    restedMs = restAfter(report)
    return report
  }

  /** Invented keys are new in each run. Others need the time after which nothing of an earlier run counts. */
  const restAfter = ({ calls }: Report): number => {
    const refused = calls.some(({ statuses }) =>
      ['429', String(contract.abuse.status)].some(status => Number(statuses[status]) > 0),
    )
    const { windowMs, blockMs } = contract.abuse
    return refused && hasOwnKeys ? clock.nowMs() + Math.max(contract.limits.windowMs, windowMs + blockMs) : 0
  }

  const attempt = async (scenario: WrittenScenario): Promise<Attempted | null> => {
    if (restedMs >= endMs || signal?.aborted) return null
    if (restedMs > clock.nowMs()) await new Promise<void>(resolve => void clock.at(restedMs, resolve))
    if (clock.nowMs() >= endMs || (budget !== null && spent >= budget)) return null
    const report = await send(scenario)
    return report === null ? 'refused' : hasFinding(report, name) ? 'violated' : 'kept'
  }
  return { attempt, record: send, spentUsd: () => formatPico(spent) }
}

const hasFinding = ({ findings, billing }: Report, name: string): boolean =>
  findings.some(({ clause }) => clause === name) || billing.discrepancies.some(({ kind }) => kind === name)

/** The larger of what the responses claim and what the balances show. */
function costOf({ billing: { claimedUsd, billedUsd } }: Report): string {
  return billedUsd !== null && pico(billedUsd) > pico(claimedUsd) ? billedUsd : claimedUsd
}
