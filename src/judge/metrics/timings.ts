import { toObject } from '../../lib/json.ts'
import { latencyMs, latenessMs, type Observation, serviceTimeMs, streamOf } from '../../observation/observation.ts'
import { is2xx } from '../../observation/response.ts'
import { isSystemStage, type Plan, type StagePlan, type Timing, timings } from '../../plan/plan.ts'
import { isCount } from '../checks/completion.ts'

/** Timings with one value per response. Lateness belongs to the request; a response has many gaps. */
export const requestTimings = ['latency', 'service-time', 'ttft', 'ttfct', 'tpot'] as const satisfies readonly Timing[]
export const gapTimings = ['itl', 'icl'] as const satisfies readonly Timing[]
type RequestTiming = (typeof requestTimings)[number]
type GapTiming = (typeof gapTimings)[number]

/** Milliseconds, of a complete 2xx response; null: it has no such value. */
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

/** null: the response is no stream, or its gaps may not be gaps between tokens. */
export function gapsMs(timing: GapTiming, o: Observation): readonly number[] | null {
  const stream = streamOf(o)
  if (stream === null) return null
  // Each chunk held exactly one token only if the service counts as many tokens as chunks.
  return timing === 'icl' || stream.tokenChunks === outputTokens(o) ? stream.gapsMs : null
}

const sinceSentMs = (o: Observation, instantMs: number | null): number | null =>
  instantMs === null || o.sentMs === null ? null : instantMs - o.sentMs

/**
 * (last token − first token) ÷ (output tokens − 1); the first chunk counts as one token. A stream in one chunk has no
 * value, because 0 would be too good.
 */
function tpotMs(o: Observation): number | null {
  const stream = streamOf(o)
  const tokens = outputTokens(o)
  if (stream === null || tokens === null || tokens < 2 || stream.tokenChunks < 2) return null
  if (stream.firstTokenMs === null || stream.lastTokenMs === null) return null
  return (stream.lastTokenMs - stream.firstTokenMs) / (tokens - 1)
}

/** By timing: the longest time in milliseconds at which a response is still good. */
export type Slo = Readonly<Partial<Record<Timing, number>>>

export const isSuccess = (o: Observation): boolean => o.outcome.kind === 'answered' && is2xx(o.outcome.status)

/**
 * A complete 2xx response that met every SLO of its call. A timing without a value misses its SLO, unless there was
 * nothing to wait for after the first token.
 */
export function meetsSlo(o: Observation, slo: Slo): boolean {
  if (!isSuccess(o)) return false
  for (const timing of timings) if (!meetsBound(o, timing, slo[timing])) return false
  return true
}

/** The SLOs that a complete 2xx response missed. */
export const missedTimings = (o: Observation, slo: Slo): readonly Timing[] =>
  timings.filter(timing => !meetsBound(o, timing, slo[timing]))

function meetsBound(o: Observation, timing: Timing, boundMs: number | undefined): boolean {
  if (boundMs === undefined) return true
  if (timing === 'itl' || timing === 'icl') return gapsMs(timing, o)?.every(gap => gap <= boundMs) ?? false
  const value = timing === 'lateness' ? latenessMs(o) : timingMs(timing, o)
  return value === null ? timing === 'tpot' && hasNoPace(o) : value <= boundMs
}

/** Whether the response certainly had no second token, or came in one chunk. */
const hasNoPace = (o: Observation): boolean => {
  const tokens = outputTokens(o)
  const stream = streamOf(o)
  return stream !== null && tokens !== null && (tokens < 2 || stream.tokenChunks === 1)
}

/** The subject of a figure: one call or all (null), in one stage or in the whole run (null). */
export type Selection = { readonly call: string | null; readonly stage: string | null }

/** How far a run went: whether it ended by itself, and when on its clock. */
export type RunExtent = { readonly complete: boolean; readonly elapsedMs: number }

/** On the clock of the run: when the first stage started, and when the last request of each stage ended. */
type LoadTimes = { readonly loadStartMs: number; readonly lastEndMs: ReadonlyMap<string, number> }

/**
 * Milliseconds of the stages in which the call takes part; null: there are none, and so no rate. A run that ended early
 * covers only a part of them. A stage that saturates the target ends with its last call.
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
  // Each trial of a search has its own rate; the search as a whole has none.
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

/** `usage.completion_tokens` of the response; null: missing or no count. */
export function outputTokens(o: Observation): number | null {
  const body = o.response?.body
  const usage = body?.kind === 'stream' ? body.stream.usage : body?.kind === 'json' ? toObject(body.value)?.usage : null
  const count = toObject(usage)?.completion_tokens
  return isCount(count) ? count : null
}
