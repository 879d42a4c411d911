import { toObject } from '../../lib/json.ts'
import { latencyMs, latenessMs, type Observation, serviceTimeMs, streamOf } from '../../observation/observation.ts'
import { is2xx } from '../../observation/response.ts'
import { isSystemStage, type Plan, type StagePlan, type Timing, timings } from '../../plan/plan.ts'
import { isCount } from '../checks/completion.ts'

/** Timings with one value an answer; lateness belongs to the request and the gaps are many. */
export const requestTimings = ['latency', 'service-time', 'ttft', 'ttfct', 'tpot'] as const satisfies readonly Timing[]
export const gapTimings = ['itl', 'icl'] as const satisfies readonly Timing[]
type RequestTiming = (typeof requestTimings)[number]
type GapTiming = (typeof gapTimings)[number]

/** Milliseconds, of a complete answer with a 2xx status; null where it has no such value. */
export function timingMs(timing: RequestTiming, o: Observation): number | null {
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

/** By timing: the longest time, in milliseconds, at which an answer is still good. */
export type Slo = Readonly<Partial<Record<Timing, number>>>

export const isSuccess = (o: Observation): boolean => o.outcome.kind === 'answered' && is2xx(o.outcome.status)

/**
 * A complete 2xx answer that met every SLO of its call. A timing without a value is not met, for silence is not
 * success, unless there was nothing to wait for after the first token.
 */
export const meetsSlo = (o: Observation, slo: Slo): boolean =>
  isSuccess(o) && timings.every(timing => meetsBound(o, timing, slo[timing]))

function meetsBound(o: Observation, timing: Timing, boundMs: number | undefined): boolean {
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

/** What a figure is about: one call or all (null), in one stage or in the whole run (null). */
export type Selection = { readonly call: string | null; readonly stage: string | null }

/** How far a run went: whether it ended by itself and, if not, when on its clock. */
export type RunExtent = { readonly complete: boolean; readonly elapsedMs: number }

/** On the clock of the run: when the first stage began, and when the last request of each stage had ended. */
type LoadTimes = { readonly loadStartMs: number; readonly lastEndMs: ReadonlyMap<string, number> }

/**
 * Milliseconds of the stages in which the call takes part; null where there are none, and then there is no rate. A run
 * that was cut short did only a part of them, and a stage that saturates the target is over with its last call.
 */
export function activeMs(plan: Plan, selection: Selection, extent: RunExtent, seen: LoadTimes): number | null {
  const { loadStartMs, lastEndMs } = seen
  const doneMs = ({ name, load, startMs, durationMs }: StagePlan): number => {
    const upTo = (atMs: number) => Math.min(durationMs, Math.max(0, atMs - loadStartMs - startMs))
    const planned = extent.complete ? durationMs : upTo(extent.elapsedMs)
    return load.model === 'saturate' ? Math.min(planned, upTo(lastEndMs.get(name) ?? 0)) : planned
  }
  const stages = plan.stages
    .filter(stage => (selection.stage === null ? !isSystemStage(stage.name) : stage.name === selection.stage))
    .filter(stage => takesPart(stage, selection.call))
  // The trials of a search have rates of their own; all of them together have none.
  if (stages.some(({ load }) => load.model === 'capacity')) return null
  const ms = stages.reduce((sum, stage) => sum + doneMs(stage), 0)
  return ms > 0 ? ms : null
}

export const perSecond = (count: number, ms: number | null): number | null => (ms === null ? null : (count * 1000) / ms)

function takesPart({ load }: StagePlan, call: string | null): boolean {
  if (load.model === 'sequence') return call === null ? load.calls.length > 0 : load.calls.includes(call)
  if (load.model === 'open' && load.shape.kind === 'pause') return false
  return load.mix.some(([name, weight]) => weight > 0 && (call === null || name === call))
}

/** `usage.completion_tokens` as the response stated it; null where it stated none, or no count. */
export function outputTokens(o: Observation): number | null {
  const body = o.response?.body
  const usage = body?.kind === 'stream' ? body.stream.usage : body?.kind === 'json' ? toObject(body.value)?.usage : null
  const count = toObject(usage)?.completion_tokens
  return isCount(count) ? count : null
}
