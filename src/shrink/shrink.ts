import type { ShrinkProgress } from '../library/options.ts'
import type { WrittenScenario } from '../scenario/load-scenario.ts'
import { arrivalsSent, type Candidate } from './candidate.ts'
import { reducers } from './reductions.ts'

/** What one run of a candidate gave. `refused`: the scenario makes no sense, so that nothing was sent. */
export type Attempted = 'violated' | 'kept' | 'refused'

export type ShrinkIo = {
  readonly scenarioOf: (candidate: Candidate) => WrittenScenario
  /** Sends a scenario and judges its responses. Resolves with null if budget or time are spent, so that it was not sent. */
  readonly attempt: (scenario: WrittenScenario) => Promise<Attempted | null>
  readonly onProgress: (progress: Omit<ShrinkProgress, 'spentUsd'>) => void
}

export type Shrunk = {
  readonly candidate: Candidate
  /** Of the smallest candidate. */
  readonly scenario: WrittenScenario
  /** Why there was no further step. `minimal`: without any one part, the clause is kept. */
  readonly ended: 'minimal' | 'stopped'
  readonly runs: number
  readonly arrivalsBefore: number
  readonly arrivals: number
  /** In how many of how many runs the smallest candidate violated the clause. */
  readonly violated: number
  readonly tried: number
}

/** How often a candidate is sent to measure how often it fails. */
const trials = 3
/** A fault that shows itself rarely is missed at most this often in a candidate that has it. */
const maxMissed = 0.02
const maxTries = 30

/**
 * Makes a candidate smaller as long as it violates the clause. null: the first one does not violate it, or was not sent.
 * `variants`: ways to send the same requests, the most likely one first.
 */
export async function shrink(variants: readonly Candidate[], io: ShrinkIo): Promise<Shrunk | null> {
  /** By scenario: whether it violated the clause, and in how many runs it was tried. */
  const known = new Map<string, { readonly isViolated: boolean; readonly tries: number }>()
  let runs = 0
  let isStopped = false
  const send = async (scenario: WrittenScenario): Promise<Attempted> => {
    const attempted = isStopped ? null : await io.attempt(scenario)
    if (attempted === null) isStopped = true
    else if (attempted !== 'refused') runs++
    return attempted ?? 'kept'
  }
  const violates = async (candidate: Candidate, tries: number): Promise<boolean> => {
    const scenario = io.scenarioOf(candidate)
    const text = JSON.stringify(scenario)
    const before = known.get(text) ?? { isViolated: false, tries: 0 }
    let { isViolated } = before
    for (let index = before.tries; index < tries && !isViolated && !isStopped; index++) {
      const attempted = await send(scenario)
      isViolated = attempted === 'violated'
      if (attempted === 'refused') break
    }
    if (!isStopped) known.set(text, { isViolated, tries })
    return isViolated
  }

  const found = await firstViolating(variants, violates)
  if (found === null) return null
  let smallest = found
  const progress = (cut: string | null) => io.onProgress({ runs, arrivals: arrivalsSent(smallest), cut })
  progress(null)
  const measured = await measure(io.scenarioOf(smallest), send)
  const tries = triesFor(measured.violated / Math.max(1, measured.tried))
  for (let before: Candidate | null = null; before !== smallest && !isStopped; ) {
    before = smallest
    for (const reduce of reducers) {
      for (let cut: string | null = ''; cut !== null; ) {
        cut = null
        for (const reduction of reduce(smallest)) {
          if (isStopped || !(await violates(reduction.candidate, tries))) continue
          smallest = reduction.candidate
          cut = reduction.cut
          progress(cut)
          break
        }
      }
    }
  }
  const wasStopped = isStopped
  const scenario = io.scenarioOf(smallest)
  const { violated, tried } = wasStopped ? { violated: 1, tried: 1 } : await measure(scenario, send)
  return {
    candidate: smallest,
    scenario,
    ended: wasStopped ? 'stopped' : 'minimal',
    runs,
    arrivalsBefore: arrivalsSent(found),
    arrivals: arrivalsSent(smallest),
    violated,
    tried,
  }
}

async function firstViolating(
  variants: readonly Candidate[],
  violates: (candidate: Candidate, tries: number) => Promise<boolean>,
): Promise<Candidate | null> {
  // A fault that shows itself rarely needs a second round.
  for (const tries of [1, maxFirstTries])
    for (const variant of variants) if (await violates(variant, tries)) return variant
  return null
}

/** How often each variant is sent before the finding counts as not repeatable: a fault in one of five runs shows in 95 %. */
const maxFirstTries = 14

async function measure(scenario: WrittenScenario, send: (scenario: WrittenScenario) => Promise<Attempted>) {
  let violated = 0
  let tried = 0
  for (; tried < trials; tried++) if ((await send(scenario)) === 'violated') violated++
  return { violated, tried }
}

/** How often a candidate is sent before it counts as one without the fault, by how often the fault shows itself. */
function triesFor(ratio: number): number {
  if (ratio === 1) return 1
  // Of few trials, the lower half of what is likely.
  const cautious = Math.max(ratio / 2, 1 / maxTries)
  return Math.min(maxTries, Math.ceil(Math.log(maxMissed) / Math.log(1 - cautious)))
}
