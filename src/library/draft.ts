import { dirname, isAbsolute, join } from 'node:path'
import type { Contract } from '../contract/contract.ts'
import { documentedContract } from '../contract/documented.ts'
import { loadProfile } from '../contract/profile.ts'
import type { JudgedPlan } from '../judge/compare/comparable.ts'
import { isObject } from '../lib/json.ts'
import { isLoopback } from '../lib/loopback.ts'
import { pico } from '../lib/money.ts'
import { describeValue, type Mistake, UsageError } from '../lib/usage-error.ts'
import type { GivenKeys } from '../plan/fewer-keys.ts'
import { makePlan } from '../plan/make-plan.ts'
import type { Plan } from '../plan/plan.ts'
import type { Recording, Recordings } from '../plan/recorded-load.ts'
import { type Discovery, discoveredContract, nothingDiscovered } from '../run/discovery.ts'
import { parseScenario, profileNamedIn, readScenario, type WrittenScenario } from '../scenario/load-scenario.ts'
import type { Scenario, ScenarioInput } from '../scenario/schema.ts'
import type { Recorded } from '../scenario/stage-schema.ts'
import { readRecording } from '../storage/recorded-run.ts'
import { readTrace } from '../traffic/read-trace.ts'
import { assertNoSecret, createSecrets, type Secrets } from './secrets.ts'
import { profileFile, scenarioFile } from './shipped-files.ts'

/** What overrides a scenario. null: what the scenario says, or the default. */
export type DraftOverrides = {
  /** The path of a profile, or the name of a shipped one. */
  readonly profile: string | null
  readonly target: string | null
  readonly seed: number | null
  /** A decimal, or `unlimited`. */
  readonly budgetUsd: string | null
  readonly topUpUsd: string | null
  /** Names of calls and of clauses. Empty: all of them. */
  readonly only: readonly string[]
  readonly limitsFrom: 'target' | 'documented'
  /** The keys of the environment; null or missing: none, or they do not matter. */
  readonly keys?: GivenKeys | null
}

/** The contract of the profile at this path, or the documented one. */
export function contractIn(profile: string | null, secrets: Secrets): Contract {
  if (profile === null) return documentedContract
  const contract = loadProfile(profile)
  assertNoSecret(secrets, profile, contract, 'profile')
  return contract
}

/** A plan before discovery, and how to make it again with what the target states. */
export type DraftPlan = JudgedPlan & {
  /** The path of the profile; null for the documented contract. */
  readonly profile: string | null
  readonly replan: (discovery: Discovery) => JudgedPlan
  /** The budget in the scenario. */
  readonly ownBudgetUsd: string | null
  readonly named: NamedScenario
  /** The draft of another scenario in its place, with the same profile and the same overrides. Throws a UsageError. */
  readonly inPlace: (written: WrittenScenario) => Promise<DraftPlan>
}

/** A scenario, and the file or the value that it is in, for messages. */
export type NamedScenario = { readonly written: WrittenScenario; readonly file: string; readonly isFile: boolean }

/** The scenario of a path, or of the name of a shipped one. */
export function scenarioAt(name: string): NamedScenario {
  const file = scenarioFile(name)
  return { written: readScenario(file), file, isFile: true }
}

/** The data of a program as a scenario, with its name for messages. */
export function scenarioOf(scenario: unknown): NamedScenario {
  if (!isObject(scenario))
    throw new UsageError({
      where: 'scenario',
      got: describeValue(scenario),
      expected: 'a scenario, or the path of one',
    })
  const { name } = scenario
  const isName = typeof name === 'string' && /^[a-z0-9-]{1,64}$/.test(name)
  return { written: scenario, file: isName ? `scenario ${name}` : 'scenario', isFile: false }
}

/**
 * A scenario in TypeScript: what a scenario file holds, checked at once. Returns it unchanged. Throws a UsageError with
 * every mistake and its place, such as `scenario nightly: calls.chat.kind`. Names of models and networks, and rates, are
 * checked when it runs, because the target may state them.
 */
export function defineScenario(scenario: ScenarioInput): ScenarioInput {
  const { written, file } = scenarioOf(scenario)
  const named = profileNamedIn(written, file)
  const contract = contractIn(named === null ? null : profileFile(named, null), createSecrets())
  parseScenario(written, file, contract, () => true)
  return scenario
}

/** The plan of a scenario. Throws a UsageError. */
export async function draftScenario(
  named: NamedScenario,
  overrides: DraftOverrides,
  secrets: Secrets,
): Promise<DraftPlan> {
  const { written, file, isFile } = named
  const profile = profileOf(overrides.profile, profileNamedIn(written, file), isFile ? file : null)
  return await draftFor(named, { profile, contract: contractIn(profile, secrets) }, overrides, secrets)
}

/** Like `draftScenario`, with a profile that has been read. Recordings that are known are not read again. */
export async function draftFor(
  named: NamedScenario,
  { profile, contract }: Pick<DraftPlan, 'profile' | 'contract'>,
  overrides: DraftOverrides,
  secrets: Secrets,
  known: Recordings = new Map(),
): Promise<DraftPlan> {
  const { written, file, isFile } = named
  const { target, seed, budgetUsd, topUpUsd: topUp, limitsFrom } = overrides
  // A strange target has its own models, networks and limits, which only a discovery can tell.
  const isUnknown = (named: string | null) => (target ?? named) !== null || contract.models.length === 0
  const draft = parseScenario(written, file, contract, isUnknown)
  const recordings = new Map<string, Recording>()
  for (const stage of draft.stages)
    if (stage.shape === 'recorded')
      recordings.set(stage.name, known.get(stage.name) ?? (await recordingOf(stage, isFile ? file : null, draft)))
  // Without a target, the run starts the reference service.
  const isOwn = (target ?? draft.target) === null
  const keys = isOwn || draft.callers.keysFile !== null ? null : (overrides.keys ?? null)
  const own = { seed, target, budgetUsd, topUp, only: [...new Set(overrides.only)], keys }
  const replan = (discovery: Discovery): JudgedPlan => {
    const layered = discoveredContract(contract, discovery, draft.callers.accountTier, limitsFrom, isOwn)
    const scenario = parseScenario(written, file, layered)
    return {
      plan: makePlan(scenario, layered, own, { recordings, publishedLimits: discovery.limits }),
      contract: layered,
    }
  }
  const plan = makePlan(draft, contract, own, { recordings, publishedLimits: nothingDiscovered.limits })
  // The address may contain a key, as with some nodes. It is masked wherever it is shown.
  assertNoSecret(secrets, file, { ...plan, target: null }, 'scenario')
  const inPlace = (other: WrittenScenario) =>
    draftFor({ ...named, written: other }, { profile, contract }, overrides, secrets, recordings)
  return { plan, contract, profile, replan, ownBudgetUsd: draft.budgetUsd, named, inPlace }
}

/** The recording of a stage. The path of a trace is relative to the scenario file. */
function recordingOf(
  stage: Recorded & { readonly name: string },
  file: string | null,
  { callers, calls }: Scenario,
): Promise<Recording> {
  const { name, run, trace, blockTokens } = stage
  if (trace === null) return readRecording(name, { run: run ?? '', stage: stage.stage })
  const path = file === null || isAbsolute(trace) ? trace : join(dirname(file), trace)
  return readTrace(name, path, { callers: callers.count, calls: Object.keys(calls), blockTokens })
}

/** The path of the profile that overrides, or of the one that the scenario names; null for the documented contract. */
function profileOf(overriding: string | null, named: string | null, file: string | null): string | null {
  if (overriding !== null) return profileFile(overriding, null)
  return named === null ? null : profileFile(named, file)
}

/**
 * Throws a UsageError, before anything is sent, if a plan could spend more than its budget. `isDraft`: a price may still
 * be discovered. `onRefused` gets the message if there is no budget, because the plan shows which one the run needs.
 */
export function assertWithinBudget(
  plan: Plan,
  { isDraft }: { readonly isDraft: boolean },
  onRefused: (plan: Plan, message: string) => void = () => {},
): void {
  const mistake = budgetMistake(plan, { isDraft })
  if (mistake === null) return
  const refusal = new UsageError(mistake)
  if (plan.budgetUsd === null) onRefused(plan, refusal.message)
  throw refusal
}

/**
 * Why a plan must not run; null if it may. Turnpike never spends money without permission: a target that is not on this
 * machine needs a budget, and a plan that could exceed its budget is refused.
 */
export function budgetMistake(
  { target, budgetUsd, isBudgetUnlimited, forecast }: Plan,
  { isDraft }: { readonly isDraft: boolean },
): Mistake | null {
  if (isBudgetUnlimited) return null
  if (target !== null && !isLoopback(target)) {
    if (budgetUsd === null)
      return {
        where: '--budget-usd',
        got: 'nothing',
        expected: `a budget, because ${new URL(target).host} is not on this machine`,
        ...(forecast.worstUsd !== null && { hint: `the worst case of the forecast is $${forecast.worstUsd}` }),
      }
    if (forecast.worstUsd === null && !isDraft)
      return {
        where: 'forecast',
        got: 'a call without a known price',
        expected: 'its price in the profile, so that the budget can be enforced, or --budget-usd unlimited',
      }
  }
  if (budgetUsd !== null && forecast.worstUsd !== null && pico(forecast.worstUsd) > pico(budgetUsd))
    return {
      where: 'budget',
      got: `$${budgetUsd}`,
      expected: `at least $${forecast.worstUsd}, the worst case of the forecast`,
      hint: 'raise the budget, or send less',
    }
  return null
}
