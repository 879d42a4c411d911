import { parentPort, workerData } from 'node:worker_threads'
import { draftFor } from '../library/draft.ts'
import { createSecrets } from '../library/secrets.ts'
import { createMutantRun } from './mutant-run.ts'
import type { DraftInput, MutantAnswer, MutantOrder } from './mutant-threads.ts'

/** The main function of a thread, which runs a scenario as it is told. An error ends the thread. */
async function serve({ named, overrides, profile, contract }: DraftInput): Promise<void> {
  // The main thread has found no secret in the same files.
  const ready = draftFor(named, { profile, contract }, overrides, createSecrets([])).then(createMutantRun)
  parentPort?.on('message', async ({ index, terms }: MutantOrder) => {
    const runMutant = await ready
    parentPort?.postMessage({ index, result: await runMutant(terms) } satisfies MutantAnswer)
  })
  await ready
}

if (parentPort !== null) await serve(workerData as DraftInput)
