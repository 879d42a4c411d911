import { latencyMs, type Observation, serviceTimeMs, streamOf } from '../observation/observation.ts'
import type { Timing } from '../plan/plan.ts'
import { outputTokens } from './output-tokens.ts'

/** Timings with one value an answer; lateness belongs to the request and the gaps are many. */
export const singleTimings = ['latency', 'service-time', 'ttft', 'ttfct', 'tpot'] as const satisfies readonly Timing[]
export const gapTimings = ['itl', 'icl'] as const satisfies readonly Timing[]
type SingleTiming = (typeof singleTimings)[number]
type GapTiming = (typeof gapTimings)[number]

/** Milliseconds, of a complete answer with a 2xx status; null where it has no such value. */
export function timingMs(timing: SingleTiming, o: Observation): number | null {
  switch (timing) {
    case 'latency':
      return latencyMs(o)
    case 'service-time':
      return serviceTimeMs(o)
    case 'ttft':
      return sinceSentMs(o, streamOf(o)?.firstTokenMs ?? null)
    case 'ttfct':
      return sinceSentMs(o, streamOf(o)?.firstContentMs ?? null)
    case 'tpot':
      return tpotMs(o)
  }
}

/** null where the answer was no stream, or where a gap cannot be said to be one between tokens. */
export function gapsMs(timing: GapTiming, o: Observation): readonly number[] | null {
  const stream = streamOf(o)
  if (stream === null) return null
  // Only where the service counts as many tokens as there were chunks did each chunk hold exactly one.
  return timing === 'icl' || stream.tokenChunks === outputTokens(o) ? stream.gapsMs : null
}

const sinceSentMs = (o: Observation, instantMs: number | null): number | null =>
  instantMs === null || o.sentMs === null ? null : instantMs - o.sentMs

/**
 * (last token − first token) ÷ (output tokens − 1): the first chunk is taken as one token. A stream that came in one
 * chunk shows no pace, whatever its number of tokens; 0 would flatter it.
 */
function tpotMs(o: Observation): number | null {
  const stream = streamOf(o)
  const tokens = outputTokens(o)
  if (stream === null || tokens === null || tokens < 2 || stream.tokenChunks < 2) return null
  if (stream.firstTokenMs === null || stream.lastTokenMs === null) return null
  return (stream.lastTokenMs - stream.firstTokenMs) / (tokens - 1)
}
