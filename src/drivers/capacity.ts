import type { Arrival } from '../arrivals/arrivals.ts'
import { sleepUntil } from '../lib/clock.ts'
import type { Trial } from '../plan/search-terms.ts'
import { type Cab, countInFlight, type InFlight } from './driver.ts'
import { driveOpen } from './open.ts'

/** A search, as it looks to whoever spends it: others decide what is tried, and what came of it. */
export type Search = {
  /** What to try next, and what came of the last trial. Asked when nothing is under way. */
  readonly next: () => { readonly kind: 'trial'; readonly trial: Trial } | { readonly kind: 'conclusion' }
  /** What is clear already of the trial that goes on; null: nothing. */
  readonly soFar: (trial: Trial) => string | null
  readonly arrivals: (trial: Trial, startMs: number) => Iterable<Arrival>
  /** Until when some caller must not fail `times` more often, as far as can be told now; null: all of them may. */
  readonly heldUntilMs: (times: number) => number | null
  /** Whether the caller of an arrival must not fail once more. */
  readonly isAtRisk: (arrival: Arrival) => boolean
  readonly coolDownMs: number
  readonly endMs: number
}

/** How often it is asked how a trial goes. */
const lookEveryMs = 100
/** So many failures a caller must be able to afford before a trial, which has to break to show anything. */
const affordedFailures = 5

/**
 * Spends a search trial by trial. Each is sent in the open model and ended early where it is clear what comes of it; the
 * next one begins when the last request of it has ended, so that its queue is empty, and a while later unless the rate
 * goes up. Resolves when there is nothing more to try, or no time for it before `endMs`.
 */
export async function driveCapacity(cab: Cab, search: Search, inFlight: InFlight, maxInFlight: number): Promise<void> {
  const { clock, signal } = cab
  let lastPerSecond = 0
  for (;;) {
    const next = search.next()
    if (next.kind === 'conclusion') return
    const { trial } = next
    await rest(cab, search, trial.perSecond > lastPerSecond ? 0 : search.coolDownMs)
    lastPerSecond = trial.perSecond
    const startMs = clock.nowMs()
    if (signal.aborted || startMs + (trial.arrivals * 1000) / trial.perSecond > search.endMs) return
    if (!(await driveTrial(cab, search, trial, startMs, inFlight, maxInFlight))) return
  }
}

/** Until the target has had its rest, and callers may fail again. */
async function rest({ clock, signal }: Cab, { heldUntilMs, endMs }: Search, restMs: number): Promise<void> {
  if (restMs > 0) await sleepUntil(clock, Math.min(clock.nowMs() + restMs, endMs), signal)
  for (let until = heldUntilMs(affordedFailures); until !== null; until = heldUntilMs(affordedFailures)) {
    if (signal.aborted || clock.nowMs() >= endMs) return
    await sleepUntil(clock, Math.min(until, endMs), signal)
  }
}

/** Resolves when all requests of the trial have ended: true; or when there is no time left to wait for them: false. */
async function driveTrial(
  cab: Cab,
  search: Search,
  trial: Trial,
  startMs: number,
  inFlight: InFlight,
  maxInFlight: number,
): Promise<boolean> {
  const { clock, signal } = cab
  const own = countInFlight()
  const tracked: InFlight = {
    count: inFlight.count,
    idle: inFlight.idle,
    track: work => {
      inFlight.track(work)
      own.track(work)
    },
  }
  let lookAtMs = startMs + lookEveryMs
  const isClear = () => {
    if (clock.nowMs() < lookAtMs) return false
    lookAtMs = clock.nowMs() + lookEveryMs
    return search.soFar(trial) !== null
  }
  const arrivals = function* () {
    for (const arrival of search.arrivals(trial, startMs)) {
      if (search.isAtRisk(arrival)) {
        cab.drop(arrival, 'failure-limit')
        return
      }
      yield arrival
      if (isClear()) return
    }
  }
  await driveOpen(cab, arrivals(), tracked, maxInFlight)
  await Promise.race([own.idle(), sleepUntil(clock, search.endMs, signal)])
  return !signal.aborted && own.count() === 0
}
