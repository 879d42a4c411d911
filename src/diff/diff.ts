import { scenarioAt, scenarioOf } from '../library/draft.ts'
import { assertDiffOptions, type DiffOptions, withOptionNames } from '../library/options.ts'
import { overridesOf, variablesOf } from '../library/run-scenario.ts'
import { createSecrets, environmentSecrets } from '../library/secrets.ts'
import { startGuestThread } from '../run/threads.ts'
import type { ScenarioInput } from '../scenario/schema.ts'
import type { TargetDiff } from './compare-sides.ts'
import { parseMargins } from './margins.ts'
import { newKeysVariable, runDiff } from './run-diff.ts'
import { diffLoad } from './shadow.ts'

/**
 * Sends a scenario, the path of a scenario file, the name of a shipped scenario, or, for null, the traffic of the option
 * `shadow` to two targets at the same time, and resolves with whether the second is worse. Rejects with a UsageError for a
 * mistake, before the load, and with the reason of `signal` if that is aborted before the runs start.
 */
export function diffTargets(
  oldUrl: string,
  newUrl: string,
  scenario: string | ScenarioInput | null,
  options: DiffOptions = {},
): Promise<TargetDiff> {
  return withOptionNames(async () => {
    assertDiffOptions(options)
    const { signal, margin = {}, newKeys, directory = null, warmUp = true, shadow = null, keepsText = false } = options
    const { onProgress = () => {}, onNote = () => {}, ...load } = options
    signal?.throwIfAborted()
    const named = scenario === null ? null : typeof scenario === 'string' ? scenarioAt(scenario) : scenarioOf(scenario)
    const own =
      newKeys === undefined ? {} : { [newKeysVariable]: newKeys.map(each => [each].flat().join(' ')).join('\n') }
    const variables = { ...variablesOf(load), ...own }
    const secrets = createSecrets(environmentSecrets(variables))
    return await runDiff(
      {
        load: diffLoad(named, shadow, keepsText),
        overrides: overridesOf(load),
        targets: [oldUrl, newUrl],
        margins: parseMargins(Object.entries(margin).map(([name, ratio]) => `${name}=${ratio * 100}%`)),
        ...{ variables, warmUp, directory },
      },
      {
        ...{ secrets, startWorker: startGuestThread, onProgress },
        ...{ stop: signal ?? new AbortController().signal, quit: new AbortController().signal },
        log: line => onNote(secrets.text(line)),
        unwritten: files => {
          for (const { file, why } of files) onNote(secrets.text(`Turnpike could not write ${file}: ${why}.`))
        },
      },
    )
  }, options)
}
