import { draftScenario, scenarioAt, scenarioOf } from '../library/draft.ts'
import { assertProveOptions, type ProveOptions, withOptionNames } from '../library/options.ts'
import { createSecrets } from '../library/secrets.ts'
import type { ScenarioInput } from '../scenario/schema.ts'
import { defaultThreads, inlineRuns, threadedRuns } from './mutant-threads.ts'
import { type GateProof, proveGate } from './prove.ts'

/**
 * Tests a scenario, the path of a scenario file, or the name of a shipped scenario, and resolves with what it notices,
 * whatever the verdict. Sends nothing, reads no key, and leaves nothing running. Rejects with a UsageError for a mistake,
 * and with the reason of `signal` if that is aborted.
 */
export function proveScenario(scenario: string | ScenarioInput, options: ProveOptions = {}): Promise<GateProof> {
  return withOptionNames(async () => {
    assertProveOptions(options)
    const {
      signal,
      minScore = null,
      sensitivity = true,
      suggestions = true,
      workers = defaultThreads(),
      onProgress,
    } = options
    signal?.throwIfAborted()
    const overrides = {
      ...{
        profile: options.profile ?? null,
        target: null,
        seed: options.seed ?? null,
        budgetUsd: null,
        topUpUsd: null,
      },
      ...{ only: options.only ?? [], limitsFrom: options.limitsFrom ?? 'target' },
    }
    const named = typeof scenario === 'string' ? scenarioAt(scenario) : scenarioOf(scenario)
    const draft = await draftScenario(named, overrides, createSecrets([]))
    const runs = workers === 1 ? await inlineRuns(draft) : threadedRuns(draft, overrides, workers)
    // Its threads end, or the next run does not start.
    const onAbort = () => void runs.close()
    signal?.addEventListener('abort', onAbort, { once: true })
    try {
      return await proveGate(draft, runs, {
        minScore,
        sensitivity,
        suggestions,
        ...(onProgress !== undefined && { onProgress }),
      })
    } catch (cause) {
      signal?.throwIfAborted()
      throw cause
    } finally {
      signal?.removeEventListener('abort', onAbort)
      await runs.close()
    }
  })
}
