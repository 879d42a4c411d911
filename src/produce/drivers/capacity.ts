import { sleepUntil } from '../../lib/clock.ts'
import type { Trial } from '../../plan/plan.ts'
import type { Arrival } from '../arrivals/arrivals.ts'
import { createInFlight, type DriverContext, type InFlight } from './driver.ts'
import { driveOpen } from './open.ts'

/**
 * Leads the drivers of all workers through the searches of a run. It chooses the trials and decides their outcomes from
 * the observations of all workers. A promise may never resolve, if the run stops or the time of the stage is over.
 */
export type SearchLead = {
  /** The next trial; null: the search is over. Called when no request of the search is in flight here. */
  readonly next: (stage: string) => Promise<LedTrial | null>
  /**
   * The start of the trial, which is the same for all workers, on the clock of the run; null: immediately, because there
   * is one worker. Called when this worker could start it. `end` is called once the outcome is certain.
   */
  readonly start: (stage: string, trial: Trial, end: () => void) => Promise<number | null>
  /** Reports that there are new observations of the trial. */
  readonly report: (stage: string, trial: Trial) => void
}

/** A trial, and the number of arrivals of all workers in the trials before it. */
export type LedTrial = { readonly trial: Trial; readonly earlier: number }

/** A search of one worker, as its driver sees it. */
export type Search = {
  readonly stage: string
  readonly lead: SearchLead
  readonly arrivals: (led: LedTrial, startMs: number) => Iterable<Arrival>
  /** When every caller may fail `times` more, as far as is known now; null: immediately. */
  readonly waitUntilMs: (times: number) => number | null
  /** Whether one more failure would block the caller of an arrival. */
  readonly wouldBlock: (arrival: Arrival) => boolean
  readonly coolDownMs: number
  readonly endMs: number
}

/** How often the driver reports its observations during a trial. */
const reportEveryMs = 100
/** Failures that each caller must have left before a trial, because a trial may overload the target. */
const affordedFailures = 5

/**
 * Drives a search trial by trial. Each trial uses the open model, and ends early if its outcome is certain. The next
 * one starts when all requests of the last one have ended, so the queue of the target is empty. Unless the rate goes
 * up, a cool-down comes first. Resolves when the search is over, or when no trial fits before `endMs`.
 */
export async function driveCapacity(context: DriverContext, search: Search, maxInFlight: number): Promise<void> {
  const { clock, signal } = context
  const { stage, lead, endMs } = search
  const over = sleepUntil(clock, endMs, signal).then(() => null)
  let lastPerSecond = 0
  for (;;) {
    const led = await Promise.race([lead.next(stage), over])
    if (led === null) return
    const { trial } = led
    await rest(context, search, trial.perSecond > lastPerSecond ? 0 : search.coolDownMs)
    lastPerSecond = trial.perSecond
    const decided = new AbortController()
    const start = lead.start(stage, trial, () => decided.abort())
    const startMs = (await Promise.race([start, over])) ?? clock.nowMs()
    if (signal.aborted || startMs + (trial.arrivals * 1000) / trial.perSecond > endMs) return
    if (!(await driveTrial(context, search, { led, startMs, decided: decided.signal, over }, maxInFlight))) return
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

type RunningTrial = {
  readonly led: LedTrial
  readonly startMs: number
  /** Aborted when the outcome is certain. */
  readonly decided: AbortSignal
  /** Resolves when the time of the search is over. */
  readonly over: Promise<unknown>
}

/** Resolves with true when all requests of the trial have ended, or with false when the time is over before. */
async function driveTrial(
  context: DriverContext,
  { stage, lead, arrivals: arrivalsOf, wouldBlock }: Search,
  { led, startMs, decided, over }: RunningTrial,
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
  let reportAtMs = startMs + reportEveryMs
  const arrivals = function* () {
    for (const arrival of arrivalsOf(led, startMs)) {
      if (wouldBlock(arrival)) {
        context.drop(arrival, 'failure-limit')
        // The other workers must end the trial, too.
        lead.report(stage, led.trial)
        return
      }
      yield arrival
      if (clock.nowMs() >= reportAtMs) {
        reportAtMs = clock.nowMs() + reportEveryMs
        lead.report(stage, led.trial)
      }
      if (decided.aborted) return
    }
  }
  const sending = AbortSignal.any([signal, decided])
  await driveOpen({ ...context, signal: sending, inFlight: tracked }, arrivals(), maxInFlight)
  await Promise.race([ofTrial.idle(), over])
  return !signal.aborted && ofTrial.count() === 0
}
