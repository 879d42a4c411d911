import type { Clock } from '../../lib/clock.ts'
import type { DropReason } from '../../observation/observation.ts'
import type { Arrival } from '../arrivals/arrivals.ts'

/**
 * Sends an arrival and resolves when all of its requests have been observed, with whether it was sent. Rejects only if
 * Turnpike has a bug. May call `onFree` before that: the response has arrived, so the sender may send again.
 */
type Fire = (arrival: Arrival, onFree?: () => void) => Promise<boolean>

/** Records that the requests of an arrival were never sent. */
type Drop = (arrival: Arrival, reason: DropReason) => void

/** The dependencies of every driver. A driver knows neither HTTP nor the plan. */
export type DriverContext = {
  readonly clock: Clock
  /** Aborted when sending must stop. */
  readonly signal: AbortSignal
  readonly fire: Fire
  readonly drop: Drop
  /** Whether an arrival with expected refusals would exceed the failure limit of its caller. */
  readonly mustWait: (arrival: Arrival) => boolean
  /** Arrivals in flight, of this stage and of earlier stages. */
  readonly inFlight: InFlight
}

/**
 * Counts the arrivals in flight; `idle` resolves when there are none. The tracked promise must never reject. If it
 * does, that is our bug: the next `track` or `idle` rethrows it.
 */
export type InFlight = {
  readonly count: () => number
  readonly track: (work: Promise<unknown>) => void
  readonly idle: () => Promise<void>
}

export function createInFlight(): InFlight {
  let count = 0
  let bug: { readonly cause: unknown } | null = null
  let waiting: (() => void)[] = []
  const done = () => {
    if (--count > 0) return
    const resolves = waiting
    waiting = []
    for (const resolve of resolves) resolve()
  }
  const assertNoBug = () => {
    if (bug !== null) throw bug.cause
  }
  return {
    count: () => count,
    track: work => {
      count++
      void work.then(done, cause => {
        bug ??= { cause }
        done()
      })
      assertNoBug()
    },
    idle: async () => {
      if (count > 0) await new Promise<void>(resolve => waiting.push(resolve))
      assertNoBug()
    },
  }
}
