import type { Arrival } from '../arrivals/arrivals.ts'
import type { Clock } from '../lib/clock.ts'
import type { DropReason } from '../observation/observation.ts'

/** Sends an arrival and resolves when all of its requests have been observed. Never rejects. */
export type Fire = (arrival: Arrival) => Promise<void>

/** Records that the requests of an arrival were never sent. */
export type Drop = (arrival: Arrival, reason: DropReason) => void

/** What every driver works with. It knows neither the wire nor the plan. */
export type Cab = {
  readonly clock: Clock
  /** Aborted when nothing more may be sent. */
  readonly signal: AbortSignal
  readonly fire: Fire
  readonly drop: Drop
  /** Whether an arrival that is to be refused would have its caller fail too often. */
  readonly isHeldBack: (arrival: Arrival) => boolean
}

/**
 * Counts the arrivals that are under way, over all stages, and tells when there are none. Work never rejects; should it
 * do so all the same, the fault is ours, and whoever tracks or waits next is thrown it.
 */
export type InFlight = {
  readonly count: () => number
  readonly track: (work: Promise<void>) => void
  readonly idle: () => Promise<void>
}

export function countInFlight(): InFlight {
  let count = 0
  let fault: { readonly cause: unknown } | null = null
  let waiting: (() => void)[] = []
  const done = () => {
    if (--count > 0) return
    const resolves = waiting
    waiting = []
    for (const resolve of resolves) resolve()
  }
  const assertSound = () => {
    if (fault !== null) throw fault.cause
  }
  return {
    count: () => count,
    track: work => {
      count++
      void work.then(done, cause => {
        fault ??= { cause }
        done()
      })
      assertSound()
    },
    idle: async () => {
      if (count > 0) await new Promise<void>(resolve => waiting.push(resolve))
      assertSound()
    },
  }
}
