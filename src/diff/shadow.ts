import { join } from 'node:path'
import { documentedContract } from '../contract/documented.ts'
import { isObject } from '../lib/json.ts'
import { UsageError } from '../lib/usage-error.ts'
import type { NamedScenario } from '../library/draft.ts'
import { shippedNames } from '../library/shipped-files.ts'
import { keyCallers, type Plan } from '../plan/plan.ts'
import { writtenCallsOf } from '../scenario/calls/calls.ts'
import { membersOf, readScenario } from '../scenario/load-scenario.ts'
import { openCompleteRun } from '../storage/recorded-run.ts'
import { temporaryFolder } from '../storage/temporary-record.ts'
import { importTraffic, isDirectory } from '../traffic/import-traffic.ts'
import { scenarioFileFor } from '../traffic/traffic-scenario.ts'

/** Recorded traffic: a run directory, or a file that an import reads. */
export type Shadow = {
  readonly source: string
  /** Whether prompts of a file keep their text. */
  readonly keepsText: boolean
}

/** What a diff sends: a scenario, or recorded traffic. */
export type DiffLoad = { readonly scenario: NamedScenario } | { readonly shadow: Shadow }

/** Throws a UsageError unless one of both is given. */
export function diffLoad(scenario: NamedScenario | null, source: string | null, keepsText: boolean): DiffLoad {
  if (source !== null && scenario === null) return { shadow: { source, keepsText } }
  if (source === null && keepsText)
    throw new UsageError({ where: '--text', got: 'no recorded traffic', expected: '--shadow with a file of it' })
  if (source === null && scenario !== null) return { scenario }
  throw new UsageError({
    where: '--shadow',
    got: source === null ? 'neither a scenario nor recorded traffic' : 'recorded traffic and a scenario',
    expected: 'one of them, since it decides what is sent',
  })
}

/** A scenario that repeats recorded traffic. Its files are needed until its plan is made. Throws a UsageError. */
export async function shadowScenario(
  { source, keepsText }: Shadow,
  profile: string | null,
): Promise<{ readonly scenario: NamedScenario; readonly remove: () => void }> {
  if (isDirectory(source)) return { scenario: await scenarioOfRun(source, profile), remove: () => {} }
  const { path, remove } = temporaryFolder()
  try {
    const { scenario, trace } = await importTraffic(source, { out: join(path, scenarioFileFor(source)), keepsText })
    const written = membersOf(readScenario(scenario), source)
    const stages = [written.stages].flat().map(stage => (isObject(stage) ? { ...stage, trace } : stage))
    return { scenario: { written: { ...written, stages }, file: source, isFile: false }, remove }
  } catch (cause) {
    remove()
    throw cause
  }
}

/** All arrivals of a run: the same calls by the same callers at the same times. */
async function scenarioOfRun(directory: string, profile: string | null): Promise<NamedScenario> {
  const { plan } = await openCompleteRun(directory)
  const { callers, stages, bounds } = plan
  const chains = callers.wallets?.chains ?? []
  return {
    ...{ file: directory, isFile: false },
    written: {
      name: plan.scenario,
      question: 'Does NEW serve the traffic of a recorded run as OLD does?',
      ...profileOf(plan, directory, profile),
      seed: plan.seed,
      callers: {
        count: keyCallers(callers),
        tier: callers.accountTier,
        ...(callers.keysEach > 1 && { 'keys-per-caller': callers.keysEach }),
        ...(callers.shared && { shared: true }),
        ...(chains.length > 0 && { wallets: chains.length, chain: chains }),
      },
      calls: writtenCallsOf(plan.calls),
      stages: [
        {
          ...{ name: 'replay', shape: 'recorded', run: directory },
          ...(stages.some(({ beyondFailures }) => beyondFailures) && { 'exceed-failure-limit': true }),
        },
      ],
      bounds: { 'max-in-flight': bounds.maxInFlight },
      thresholds: [{ expect: 'violations == 0', why: 'A client parses the responses by these rules.' }],
    },
  }
}

/** The profile of the run, unless another one is given. A run does not keep the file of its profile. */
function profileOf({ profile: own }: Plan, directory: string, given: string | null): { readonly profile?: string } {
  if (given !== null || own === documentedContract.name) return {}
  if (shippedNames('profile').includes(own)) return { profile: own }
  throw new UsageError({
    where: directory,
    got: `a run that was judged by the profile ${JSON.stringify(own)}, and no --profile`,
    expected: 'the file of that profile, or another one',
  })
}
