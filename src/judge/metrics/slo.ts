import { latenessMs, type Observation, streamOf } from '../../observation/observation.ts'
import { type Timing, timings } from '../../plan/plan.ts'
import { errorOfResponse } from './instrument-error.ts'
import { gapsMs, isSuccess, outputTokens, timingMs, tokenSteps } from './timings.ts'

/** By timing: the longest time in milliseconds at which a response is still good. */
export type Slo = Readonly<Partial<Record<Timing, number>>>

/**
 * What a complete 2xx response says about the SLOs of its call, as measured. `unmeasured`: it missed none that could be
 * measured, and a timing with an SLO has no value. The doubtful ones could be the contrary without the errors of Turnpike.
 */
export type SloOutcome = 'good' | 'doubtfully-good' | 'unmeasured' | 'doubtfully-missed' | 'missed'

export function sloOutcome(o: Observation, slo: Slo): SloOutcome {
  let outcome: SloOutcome = 'good'
  for (const timing of timings) {
    const each = outcomeOf(o, timing, slo[timing])
    if (severity[each] > severity[outcome]) outcome = each
  }
  return outcome
}

/** The outcome of all SLOs is the worst one. */
const severity: Readonly<Record<SloOutcome, number>> = {
  good: 0,
  'doubtfully-good': 1,
  unmeasured: 2,
  'doubtfully-missed': 3,
  missed: 4,
}

/** A complete 2xx response that met every SLO of its call, as measured. A timing without a value meets none. */
export function meetsSlo(o: Observation, slo: Slo): boolean {
  if (!isSuccess(o)) return false
  const outcome = sloOutcome(o, slo)
  return outcome === 'good' || outcome === 'doubtfully-good'
}

/** The SLOs that a complete 2xx response missed. One that could not be measured is not among them. */
export const missedTimings = (o: Observation, slo: Slo): readonly Timing[] =>
  timings.filter(timing => {
    const outcome = outcomeOf(o, timing, slo[timing])
    return outcome === 'missed' || outcome === 'doubtfully-missed'
  })

/**
 * How much earlier every instant of a complete 2xx response would have to be for it to meet all SLOs. 0: it meets them,
 * perhaps without the errors of Turnpike.
 */
export const missedByMs = (o: Observation, slo: Slo): number =>
  timings.reduce((most, timing) => {
    const [boundMs, value] = [slo[timing], sloValueMs(o, timing)]
    if (boundMs === undefined || value === null || timing === 'lateness') return most
    // The instants of all tokens together move a mean of them.
    const scale = timing === 'tpot' ? tokenSteps(o) : 1
    return Math.max(most, (value - errorOfResponse(o, timing).belowMs - boundMs) * scale)
  }, 0)

/** The SLOs of a complete 2xx response whose timing has no value. */
export const unmeasuredTimings = (o: Observation, slo: Slo): readonly Timing[] =>
  timings.filter(timing => outcomeOf(o, timing, slo[timing]) === 'unmeasured')

function outcomeOf(o: Observation, timing: Timing, boundMs: number | undefined): SloOutcome {
  if (boundMs === undefined) return 'good'
  const value = sloValueMs(o, timing)
  if (value === null) return timing === 'tpot' && hasNoPace(o) ? 'good' : 'unmeasured'
  const { belowMs, aboveMs } = errorOfResponse(o, timing)
  if (value <= boundMs) return value + aboveMs <= boundMs ? 'good' : 'doubtfully-good'
  // The service has no part in lateness.
  return value - belowMs > boundMs && timing !== 'lateness' ? 'missed' : 'doubtfully-missed'
}

/** Of gaps, the longest one. */
function sloValueMs(o: Observation, timing: Timing): number | null {
  if (timing === 'lateness') return latenessMs(o)
  if (timing !== 'itl' && timing !== 'icl') return timingMs(timing, o)
  const gaps = gapsMs(timing, o)
  if (gaps === null) return null
  return gaps.reduce((longest, gap) => Math.max(longest, gap), 0)
}

/** Whether the response certainly had no second token, or came in one chunk. */
const hasNoPace = (o: Observation): boolean => {
  const tokens = outputTokens(o)
  const stream = streamOf(o)
  return stream !== null && tokens !== null && (tokens < 2 || stream.tokenChunks === 1)
}
