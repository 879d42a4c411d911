import { latenessMs, type Observation } from '../../observation/observation.ts'
import type { Aggregate, Timing } from '../../plan/plan.ts'
import {
  divideLevels,
  type ErrorLevels,
  errorUpTo,
  type Interval,
  intervalOf,
  levelsOf,
  type MeasurementError,
  noError,
  sumLevels,
  worseLevels,
} from './error-levels.ts'
import type { Histogram } from './histogram.ts'
import type { StallStats } from './stall-stats.ts'
import { tokenSteps } from './timings.ts'

/*
 * What the errors of Turnpike do to a time. An instant of a response (first token, last byte) is off in one direction:
 *
 * - Lateness. The request was sent late. On time, a service that answers earlier requests earlier would have reached the
 *   instant earlier: by no more than the lateness, and never later.
 * - A stall. The event loop was busy when the bytes arrived, so Turnpike read them late: by no more than the stall.
 *
 * So the true instant is earlier by 0 to lateness + stall. From this follows each timing:
 *
 * - Latency counts from due, so its true value is at most that much lower, and never higher.
 * - Service time, TTFT and TTFCT count from the send, which was late, too. Their true value is lower by at most the stall,
 *   and higher by at most the lateness: sent on time, the request might have waited for its turn instead.
 * - A gap lies between two instants with an error each, so it is off by a stall in either direction. TPOT spreads the
 *   error of two instants over all its tokens.
 *
 * Requests that are sent late are sent together, and a queue at the service that they caused also delays requests that
 * were on time. `docs/measurement.md` has the arguments in full.
 */

/** How far the true value of a timing may be below and above the measured one, in milliseconds. */
type ResponseError = { readonly belowMs: number; readonly aboveMs: number }

const exact: ResponseError = { belowMs: 0, aboveMs: 0 }

/** The error of one response. A stall that is not recorded counts as none. */
export function errorOfResponse(o: Observation, timing: Timing): ResponseError {
  const stallMs = o.stalls?.longestMs ?? 0
  const lateMs = Math.max(0, latenessMs(o) ?? 0)
  switch (timing) {
    case 'lateness':
      return exact
    case 'latency':
      return { belowMs: lateMs + stallMs, aboveMs: 0 }
    case 'service-time':
    case 'ttft':
    case 'ttfct':
      return { belowMs: stallMs, aboveMs: lateMs }
    case 'itl':
    case 'icl':
      return { belowMs: stallMs, aboveMs: stallMs }
    case 'tpot':
      return { belowMs: stallMs / tokenSteps(o), aboveMs: stallMs / tokenSteps(o) }
  }
}

/**
 * How many requests a late one may have delayed, itself included. At a service that is busy 90 % of the time, the queue
 * that a pause of the senders causes is gone after nine times as many requests.
 */
export const disturbedPerLate = 10

/** Less lateness changes the load so little that no response to another request becomes bad, and no stream slower. */
export const lateForLoadMs = 20

/** The errors that a set of times may have. */
export type ErrorSources = {
  /** Of the responses. */
  readonly stalls: StallStats
  /** Of the requests themselves. */
  readonly lateness: Histogram
  /** Of all requests that the service handled in the same stages. */
  readonly latenessOfAll: Histogram
  /** The longest stall of the run, for responses whose stalls were not recorded. 0: all were recorded. */
  readonly unrecordedStallMs: number
}

/** Where the true aggregate of a timing lies, given the measured value. */
export const timingInterval = (
  timing: Timing,
  of: Aggregate,
  value: number,
  values: Histogram,
  sources: ErrorSources,
): Interval => intervalOf(values, of, value, errorOfTiming(timing, values.count(), sources))

function errorOfTiming(
  timing: Timing,
  count: number,
  { stalls, lateness, latenessOfAll, unrecordedStallMs }: ErrorSources,
): MeasurementError {
  if (timing === 'lateness') return { below: noError, above: noError }
  const late = worseLevels(
    levelsOf(lateness, lateness.count(), disturbedPerLate),
    levelsOf(latenessOfAll, latenessOfAll.count(), disturbedPerLate),
  )
  const unrecorded = errorUpTo(unrecordedStallMs)
  switch (timing) {
    case 'latency': {
      const stall = worseLevels(levelsOf(stalls.longest, count), unrecorded)
      return { below: sumLevels(late, stall), above: noError }
    }
    case 'service-time':
    case 'ttft':
    case 'ttfct': {
      const stall = worseLevels(levelsOf(stalls.longest, count), unrecorded)
      return { below: sumLevels(late, stall), above: levelsOf(lateness, lateness.count()) }
    }
    case 'itl':
    case 'icl': {
      const both = sumLevels(paceOf(late), worseLevels(gapLevels(stalls, count), unrecorded))
      return { below: both, above: both }
    }
    case 'tpot': {
      const stall = worseLevels(levelsOf(stalls.perToken, count), divideLevels(unrecorded, stalls.fewestSteps))
      const both = sumLevels(divideLevels(paceOf(late), stalls.fewestSteps), stall)
      return { below: both, above: both }
    }
  }
}

const paceOf = (late: ErrorLevels): ErrorLevels =>
  late.map(({ ms, share }) => ({ share, ms: ms > lateForLoadMs ? ms : 0 }))

/** A stall lengthens one gap of a stream and shortens the next one. It leaves the others as they are. */
function gapLevels({ longest, gaps }: StallStats, count: number): ErrorLevels {
  const worst = longest.maxMs()
  if (worst === null || count === 0) return noError
  return [
    { ms: 0, share: Math.min(1, gaps / count) },
    { ms: worst, share: 0 },
  ]
}
