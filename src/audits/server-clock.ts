import type { Observation } from '../observation/observation.ts'

/** How far the target's clock can be ahead of ours, in milliseconds: somewhere in [least, most]. */
export type Offset = { readonly least: number; readonly most: number }

/**
 * Bounds the offset from Date headers. A stamp is a whole second that the target saw between the sending of the
 * request and the arrival of the headers, so each answer leaves an interval, and all of them together a narrow one.
 */
export function createServerClock(startedAtMs: number): {
  readonly add: (observation: Observation) => void
  readonly offset: () => Offset
} {
  let least = Number.NEGATIVE_INFINITY
  let most = Number.POSITIVE_INFINITY
  return {
    add: ({ answer, sentMs, headersMs }) => {
      if (answer === null || sentMs === null || headersMs === null) return
      const stampMs = Date.parse(answer.headers.date ?? '')
      if (Number.isNaN(stampMs)) return
      least = Math.max(least, stampMs - (startedAtMs + headersMs))
      most = Math.min(most, stampMs + 1000 - (startedAtMs + sentMs))
    },
    offset: () => {
      if (!Number.isFinite(least) || !Number.isFinite(most)) return { least: -unknownMs, most: unknownMs }
      // A clock that was stepped during the run leaves an empty intersection: believe neither end.
      return least <= most ? { least, most } : { least: most - 1000, most: least + 1000 }
    },
  }
}

/** Without a single usable Date, the target's clock may be this far off. */
const unknownMs = 10_000
