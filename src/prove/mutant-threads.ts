import { availableParallelism } from 'node:os'
import { Worker as Thread } from 'node:worker_threads'
import { messageOf } from '../lib/usage-error.ts'
import type { DraftOverrides, DraftPlan } from '../library/draft.ts'
import { assertInMemory, createMutantRun, type MutantResult } from './mutant-run.ts'
import type { MutantTerms } from './mutants.ts'

/** What a thread makes its own draft of. The files of the scenario and the profile have been read, and may have changed. */
export type DraftInput = Pick<DraftPlan, 'named' | 'profile' | 'contract'> & { readonly overrides: DraftOverrides }

/** One run after another, or several at a time. Results come in any order. */
export type MutantRuns = {
  readonly run: (
    all: readonly MutantTerms[],
    onResult: (index: number, result: MutantResult) => void,
  ) => Promise<unknown>
  readonly close: () => Promise<unknown>
}

/** A run that a thread should make, and its result. */
export type MutantOrder = { readonly index: number; readonly terms: MutantTerms }
export type MutantAnswer = { readonly index: number; readonly result: MutantResult }

/** Further threads would need more memory than they save time. */
const maxThreads = 8
/** Most of what a run needs lives until its end. With less room for young objects, copying them takes a sixth of the time. */
const resourceLimits = { maxYoungGenerationSizeMb: 192 }
export const defaultThreads = (): number => Math.min(maxThreads, availableParallelism())

/** All runs in this thread. */
export async function inlineRuns(draft: DraftPlan): Promise<MutantRuns> {
  const runMutant = await createMutantRun(draft)
  let isClosed = false
  return {
    run: async (all, onResult) => {
      for (const [index, terms] of all.entries()) {
        if (isClosed) throw new Error('closed before the last run')
        onResult(index, await runMutant(terms))
      }
    },
    close: async () => {
      isClosed = true
    },
  }
}

/** Runs in threads of their own, each of which gets the next run when it has ended one. */
export function threadedRuns(draft: DraftPlan, overrides: DraftOverrides, count: number): MutantRuns {
  assertInMemory(draft.plan)
  const { named, profile, contract } = draft
  const input: DraftInput = { named, profile, contract, overrides }
  const lost = new Map<Thread, Error>()
  const threads = Array.from(
    { length: count },
    () => new Thread(new URL('./thread-main.js', import.meta.url), { workerData: input, resourceLimits }),
  )
  for (const thread of threads) thread.on('error', cause => lost.set(thread, new Error(messageOf(cause), { cause })))
  return {
    run: async (all, onResult) => {
      let next = 0
      const work = (thread: Thread) =>
        new Promise<void>((resolve, reject) => {
          const order = () => {
            const failure = lost.get(thread)
            if (failure !== undefined) return leave(() => reject(failure))
            if (next >= all.length) return leave(resolve)
            const index = next++
            thread.postMessage({ index, terms: all[index] as MutantTerms } satisfies MutantOrder)
          }
          const onMessage = ({ index, result }: MutantAnswer) => {
            onResult(index, result)
            order()
          }
          const onError = (cause: unknown) => leave(() => reject(cause))
          const onExit = (code: number) => leave(() => reject(new Error(`a thread exited with code ${code}`)))
          const leave = (end: () => void) => {
            thread.off('message', onMessage).off('error', onError).off('exit', onExit)
            end()
          }
          thread.on('message', onMessage).on('error', onError).on('exit', onExit)
          order()
        })
      await Promise.all(threads.map(work))
    },
    close: () => Promise.all(threads.map(thread => thread.terminate())),
  }
}
