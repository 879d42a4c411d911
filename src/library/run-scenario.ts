import { defaultCriteria } from '../judge/compare/comparison.ts'
import type { Clock } from '../lib/clock.ts'
import { UsageError } from '../lib/usage-error.ts'
import type { Output } from '../outputs/output.ts'
import { snapshotsOf } from '../outputs/progress.ts'
import type { ProgressSnapshot } from '../outputs/progress-snapshot.ts'
import type { Plan } from '../plan/plan.ts'
import { countKeys, type Variables } from '../produce/callers/api-keys.ts'
import type { Report } from '../report/document.ts'
import { startGuestThread } from '../run/threads.ts'
import type { ScenarioInput } from '../scenario/schema.ts'
import { reserveRunDirectory } from '../storage/run-directory.ts'
import { reserveTemporaryRecord } from '../storage/temporary-record.ts'
import { type DraftOverrides, type DraftPlan, draftScenario, scenarioAt, scenarioOf } from './draft.ts'
import { assertOptions, type RunOptions, type RunProgress, withOptionNames } from './options.ts'
import {
  assertMayEndEarly,
  assertMayRun,
  type DraftIo,
  type DraftJob,
  readBaselines,
  replanFor,
  runDraft,
} from './run-draft.ts'
import { createSecrets, environmentSecrets, type Secrets } from './secrets.ts'

/**
 * Runs a scenario, the path of a scenario file, or the name of a shipped scenario, and resolves with its report, whatever
 * the verdict. Writes to neither stdout nor stderr, handles no signal, and leaves nothing running. Rejects with a
 * UsageError for a mistake, before the load, and with the reason of `signal` if that is aborted before the run
 * starts.
 */
export function runScenario(scenario: string | ScenarioInput, options: RunOptions = {}): Promise<Report> {
  return withOptionNames(async () => {
    assertOptions(options)
    const { signal } = options
    const stop = new AbortController()
    const onAbort = () => stop.abort()
    signal?.throwIfAborted()
    signal?.addEventListener('abort', onAbort, { once: true })
    try {
      return await runUntil(stop, scenario, options)
    } finally {
      signal?.removeEventListener('abort', onAbort)
    }
  }, options)
}

/** Runs until `stop` is aborted. A function of the caller that throws aborts it, and decides how this rejects. */
async function runUntil(stop: AbortController, scenario: string | ScenarioInput, options: RunOptions): Promise<Report> {
  const variables = variablesOf(options)
  const secrets = createSecrets(environmentSecrets(variables))
  const named = typeof scenario === 'string' ? scenarioAt(scenario) : scenarioOf(scenario)
  const overrides = { ...overridesOf(options), keys: countKeys(variables) }
  const draft = withOwnKeys(await draftScenario(named, overrides, secrets), options)
  const job: Omit<DraftJob, 'baselines'> = {
    named: options.target ?? null,
    workers: options.workers ?? 1,
    warmUp: options.warmUp ?? true,
    failFast: options.failFast ?? false,
    untilDecided: options.until === 'decided',
    traces: false,
    variables,
  }
  const failures: unknown[] = []
  const onFailure = (cause: unknown) => {
    failures.push(cause)
    stop.abort()
  }
  const io = ioOf(options, secrets, stop.signal, onFailure)
  assertMayRun(draft, job, io)
  assertMayEndEarly(job.untilDecided, (options.baselines ?? []).length)
  const { minEffect = defaultCriteria.minEffect, noiseFloor = defaultCriteria.noiseFloor } = options
  const baselines = await readBaselines(options.baselines ?? [], { minEffect, noiseFloor }, replanFor(draft))
  options.signal?.throwIfAborted()
  const report = await runDraft(draft, { ...job, baselines }, io)
  if (failures.length > 0) throw failures[0]
  return report
}

/** A run in the process of another program, which shows what its own functions get. */
function ioOf(
  { directory, onProgress, onNote = () => {} }: RunOptions,
  secrets: Secrets,
  stop: AbortSignal,
  onFailure: (cause: unknown) => void,
): DraftIo {
  const log = (note: string) => {
    try {
      onNote(secrets.text(note))
    } catch (cause) {
      onFailure(cause)
    }
  }
  return {
    secrets,
    reserve: (_, { contract }) =>
      directory === undefined ? reserveTemporaryRecord() : reserveRunDirectory(directory, secrets.json(contract)),
    watch: async ({ plan, clock }) => {
      const outputs = onProgress === undefined ? [] : [progressOutput(plan, clock, onProgress, onFailure)]
      const close = async () => {
        for (const output of outputs) await output.close()
      }
      return { stop, quit: new AbortController().signal, outputs, log, close }
    },
    startWorker: startGuestThread,
    unwritten: files => {
      for (const { file, why } of files) log(`Turnpike could not write ${file}: ${why}.`)
    },
    refused: () => {},
    limit: plan => plan,
    spend: () => {},
    childStderr: 'ignore',
    elsewhere: null,
  }
}

/** The environment, with the keys of the options in place of its own. */
export const variablesOf = ({ keys, walletKeys }: RunOptions): Variables => ({
  ...process.env,
  ...(keys !== undefined && { TURNPIKE_KEYS: keys.map(each => [each].flat().join(' ')).join('\n') }),
  ...(walletKeys !== undefined && { TURNPIKE_WALLET_KEYS: walletKeys.join('\n') }),
})

/** Keys of the options count more than a file that the scenario names. Throws a UsageError if no target gets them. */
function withOwnKeys(draft: DraftPlan, { keys, walletKeys }: RunOptions): DraftPlan {
  const given = keys !== undefined ? 'keys' : walletKeys !== undefined ? 'walletKeys' : null
  if (given === null) return draft
  const { callers, target } = draft.plan
  if (target === null)
    throw new UsageError({
      where: given,
      got: 'keys without a target',
      expected: 'a target that they belong to, since the service that a run starts has its own keys',
    })
  const wallets =
    callers.wallets === null || walletKeys === undefined ? callers.wallets : { ...callers.wallets, keysFile: null }
  const keysFile = keys === undefined ? callers.keysFile : null
  return { ...draft, plan: { ...draft.plan, callers: { ...callers, keysFile, wallets } } }
}

export const overridesOf = (options: RunOptions): DraftOverrides => ({
  profile: options.profile ?? null,
  target: options.target ?? null,
  seed: options.seed ?? null,
  budgetUsd: amountOf(options.budgetUsd),
  topUpUsd: amountOf(options.topUpUsd),
  only: options.only ?? [],
  limitsFrom: options.limitsFrom ?? 'target',
})

const amountOf = (usd: string | number | undefined): string | null => (usd === undefined ? null : String(usd))

/** How often `onProgress` is called. */
const progressEveryMs = 1_000

/** Calls `onProgress` about once per second and at the end. Calls `onError` once if that throws, and never again then. */
export function progressOutput(
  plan: Plan,
  clock: Clock,
  onProgress: (progress: RunProgress) => void,
  onError: (cause: unknown) => void,
): Output {
  let cancel = () => {}
  let isOpen = true
  let report = () => {}
  const stop = () => {
    isOpen = false
    cancel()
  }
  return {
    start: live => {
      const snapshot = snapshotsOf(plan, live, clock)
      report = () => {
        try {
          onProgress(progressOf(snapshot()))
        } catch (cause) {
          stop()
          onError(cause)
        }
      }
      const again = () => {
        cancel = clock.at(clock.nowMs() + progressEveryMs, () => {
          void live.refresh().then(() => {
            if (isOpen) report()
            if (isOpen) again()
          })
        })
      }
      again()
    },
    finish: async () => {
      if (isOpen) report()
      stop()
    },
    close: async () => stop(),
  }
}

function progressOf(snapshot: ProgressSnapshot): RunProgress {
  const { scenario, elapsedMs, totalMs, stage, inFlight, sent, failed, dropped, statuses } = snapshot
  const { latencyMs, ttftMs, violations, claimedUsd, achievedPerSecond } = snapshot
  const counts = { inFlight, sent, failed, dropped, statuses }
  const measured = { latencyMs, ttftMs, violations, claimedUsd, achievedPerSecond }
  return { scenario, stage: stage.name, elapsedMs, totalMs, ...counts, ...measured }
}
