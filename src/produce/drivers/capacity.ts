import { sleepUntil } from '../../lib/clock.ts'
import type { Trial } from '../../plan/plan.ts'
import type { Arrival } from '../arrivals/arrivals.ts'

import { createInFlight, type DriverContext, type InFlight } from './driver.ts'
import { driveOpen } from './open.ts'

/** A search, as its driver sees it: others decide what to try, and judge what came of it. */
export type Search = {
  /** The next trial; null: there is nothing more to try. Asked when nothing is in flight. */
  readonly next: () => Trial | null
  /** Whether the outcome of the current trial is already certain. */
  readonly isDecided: (trial: Trial) => boolean
  readonly arrivals: (trial: Trial, startMs: number) => Iterable<Arrival>
  /** Until when some caller must not fail `times` more often, as far as is known now; null: all of them may. */
  readonly waitUntilMs: (times: number) => number | null
  /** Whether one more failure would block the caller of an arrival. */
  readonly wouldBlock: (arrival: Arrival) => boolean
  readonly coolDownMs: number
  readonly endMs: number
}

/** How often the driver asks whether a trial is decided. */
const askEveryMs = 100
/** Failures that each caller must be able to afford before a trial: it has to overload the target to show anything. */
const affordedFailures = 5

/**
 * Drives a search trial by trial. Each is sent in the open model and ends early where its outcome is certain. The next
 * one begins when the last request of it has ended, so that its queue is empty, and a cool-down later unless the rate
 * goes up. Resolves when there is nothing more to try, or no time for it before `endMs`.
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

/** Until the target has cooled down and callers may fail again. */
async function rest({ clock, signal }: DriverContext, { waitUntilMs, endMs }: Search, restMs: number): Promise<void> {
  if (restMs > 0) await sleepUntil(clock, Math.min(clock.nowMs() + restMs, endMs), signal)
  for (let until = waitUntilMs(affordedFailures); until !== null; until = waitUntilMs(affordedFailures)) {
    if (signal.aborted || clock.nowMs() >= endMs) return
    await sleepUntil(clock, Math.min(until, endMs), signal)
  }
}

/** Resolves with true when all requests of the trial have ended, or with false when there is no time left for them. */
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
  let askAtMs = startMs + askEveryMs
  const isDecided = () => {
    if (clock.nowMs() < askAtMs) return false
    askAtMs = clock.nowMs() + askEveryMs
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
