import { latenessMs, type Observation, streamOf } from '../observation/observation.ts'
import { type Timing, timings } from '../plan/plan.ts'
import { outputTokens } from './output-tokens.ts'
import { gapsMs, timingMs } from './timing-values.ts'

/** By timing: the longest time, in milliseconds, at which an answer is still good. */
export type Slo = Readonly<Partial<Record<Timing, number>>>

export const isSuccess = (o: Observation): boolean =>
  o.outcome.kind === 'answered' && o.outcome.status >= 200 && o.outcome.status < 300

/**
 * A complete 2xx answer that met every SLO of its call. A timing without a value is not met, for silence is not
 * success, unless there was nothing to wait for after the first token.
 */
export const isGood = (o: Observation, slo: Slo): boolean =>
  isSuccess(o) && timings.every(timing => meets(o, timing, slo[timing]))

function meets(o: Observation, timing: Timing, boundMs: number | undefined): boolean {
  if (boundMs === undefined) return true
  if (timing === 'itl' || timing === 'icl') return gapsMs(timing, o)?.every(gap => gap <= boundMs) ?? false
  const value = timing === 'lateness' ? latenessMs(o) : timingMs(timing, o)
  return value === null ? timing === 'tpot' && hasNoPace(o) : value <= boundMs
}

/** Whether the answer is known to have had no second token, or to have come in one chunk. */
const hasNoPace = (o: Observation): boolean => {
  const tokens = outputTokens(o)
  const stream = streamOf(o)
  return stream !== null && tokens !== null && (tokens < 2 || stream.tokenChunks === 1)
}
