import type { Observation } from '../observation/observation.ts'

/** How far the target's clock can be ahead of ours, in milliseconds: somewhere in [least, most]. */
export type Offset = { readonly least: number; readonly most: number }

export type ServerClock = {
  readonly add: (observation: Pick<Observation, 'answer' | 'sentMs' | 'headersMs'>) => void
  readonly offset: () => Offset
}

/** Two clocks drift apart, so what was seen is believed for one of these periods and the next. */
const periodMs = 300_000
/** A stamp shows whole seconds, and a busy server writes the same one a little too long. */
const grainMs = 1_500
/** Without a single usable Date, the target's clock may be this far off. */
const unknownMs = 10_000

/**
 * Bounds the offset from Date headers. A stamp is a second that the target saw between the sending of the request and
 * the arrival of the headers, so each answer leaves an interval, and all of them together a narrow one.
 */
export function createServerClock(startedAtMs: number): ServerClock {
  let period = 0
  let earlier = anything
  let current = anything
  let offset: Offset = { least: -unknownMs, most: unknownMs }
  let lastStamp = ''
  let lastStampMs = Number.NaN

  return {
    add: ({ answer, sentMs, headersMs }) => {
      if (answer === null || sentMs === null || headersMs === null) return
      const stamp = answer.headers.date ?? ''
      if (stamp !== lastStamp) {
        lastStamp = stamp
        lastStampMs = Date.parse(stamp)
      }
      if (Number.isNaN(lastStampMs)) return
      const now = Math.floor(sentMs / periodMs)
      if (now > period) {
        earlier = now === period + 1 ? current : anything
        current = anything
        period = now
      }
      current = {
        least: Math.max(current.least, lastStampMs - (startedAtMs + headersMs)),
        most: Math.min(current.most, lastStampMs + grainMs - (startedAtMs + sentMs)),
      }
      const least = Math.max(earlier.least, current.least)
      const most = Math.min(earlier.most, current.most)
      // A clock that was stepped leaves nothing in common: it may stand as before or as after the step.
      offset = least <= most ? { least, most } : { least: most - grainMs, most: least + grainMs }
    },
    offset: () => offset,
  }
}

const anything: Offset = { least: Number.NEGATIVE_INFINITY, most: Number.POSITIVE_INFINITY }
