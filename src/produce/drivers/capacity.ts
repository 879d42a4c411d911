import { sleepUntil } from '../../lib/clock.ts'
import type { Trial } from '../../plan/plan.ts'
import type { Arrival } from '../arrivals/arrivals.ts'
import { createInFlight, type DriverContext, type InFlight } from './driver.ts'
import { driveOpen } from './open.ts'

/** A search, as its driver sees it. The judge chooses the trials and decides their outcomes. */
export type Search = {
  /** The next trial; null: the search is over. Called when nothing is in flight. */
  readonly next: () => Trial | null
  /** Whether the outcome of the current trial is already certain. */
  readonly isDecided: (trial: Trial) => boolean
  readonly arrivals: (trial: Trial, startMs: number) => Iterable<Arrival>
  /** When every caller may fail `times` more, as far as is known now; null: immediately. */
  readonly waitUntilMs: (times: number) => number | null
  /** Whether one more failure would block the caller of an arrival. */
  readonly wouldBlock: (arrival: Arrival) => boolean
  readonly coolDownMs: number
  readonly endMs: number
}

/** How often the driver checks whether a trial is decided. */
const checkEveryMs = 100
/** Failures that each caller must have left before a trial, because a trial may overload the target. */
const affordedFailures = 5

/**
 * Drives a search trial by trial. Each trial uses the open model, and ends early if its outcome is certain. The next
 * one starts when all requests of the last one have ended, so the queue of the target is empty. Unless the rate goes
 * up, a cool-down comes first. Resolves when the search is over, or when no trial fits before `endMs`.
 */
export async function driveCapacity(context: DriverContext, search: Search, maxInFlight: number): Promise<void> {
  const { clock, signal } = context
  let lastPerSecond = 0
  for (;;) {
    const trial = search.next()
    if (trial === null) return
    await rest(context, search, trial.perSecond > lastPerSecond ? 0 : search.coolDownMs)
    lastPerSecond = trial.perSecond
    const startMs = clock.nowMs()
    if (signal.aborted || startMs + (trial.arrivals * 1000) / trial.perSecond > search.endMs) return
    if (!(await driveTrial(context, search, trial, startMs, maxInFlight))) return
  }
}

/** Waits until the target has cooled down and callers may fail again. */
async function rest({ clock, signal }: DriverContext, { waitUntilMs, endMs }: Search, restMs: number): Promise<void> {
  if (restMs > 0) await sleepUntil(clock, Math.min(clock.nowMs() + restMs, endMs), signal)
  for (let until = waitUntilMs(affordedFailures); until !== null; until = waitUntilMs(affordedFailures)) {
    if (signal.aborted || clock.nowMs() >= endMs) return
    await sleepUntil(clock, Math.min(until, endMs), signal)
  }
}

/** Resolves with true when all requests of the trial have ended, or with false when the time is over before. */
async function driveTrial(
  context: DriverContext,
  search: Search,
  trial: Trial,
  startMs: number,
  maxInFlight: number,
): Promise<boolean> {
  const { clock, signal, inFlight } = context
  const ofTrial = createInFlight()
  const tracked: InFlight = {
    count: inFlight.count,
    idle: inFlight.idle,
    track: work => {
      inFlight.track(work)
      ofTrial.track(work)
    },
  }
  let checkAtMs = startMs + checkEveryMs
  const isDecided = () => {
    if (clock.nowMs() < checkAtMs) return false
    checkAtMs = clock.nowMs() + checkEveryMs
    return search.isDecided(trial)
  }
  const arrivals = function* () {
    for (const arrival of search.arrivals(trial, startMs)) {
      if (search.wouldBlock(arrival)) {
        context.drop(arrival, 'failure-limit')
        return
      }
      yield arrival
      if (isDecided()) return
    }
  }
  await driveOpen({ ...context, inFlight: tracked }, arrivals(), maxInFlight)
  await Promise.race([ofTrial.idle(), sleepUntil(clock, search.endMs, signal)])
  return !signal.aborted && ofTrial.count() === 0
}
