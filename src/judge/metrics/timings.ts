import { toObject } from '../../lib/json.ts'
import { isReadSlowly, latencyMs, type Observation, serviceTimeMs, streamOf } from '../../observation/observation.ts'
import { is2xx } from '../../observation/response.ts'
import { isSystemStage, type Plan, type StagePlan, type Timing } from '../../plan/plan.ts'
import { isCount } from '../checks/completion.ts'
import type { StageClock } from './stage-clock.ts'

/** Timings with one value per response. Lateness belongs to the request; a response has many gaps. */
export const requestTimings = ['latency', 'service-time', 'ttft', 'ttfct', 'tpot'] as const satisfies readonly Timing[]
export const gapTimings = ['itl', 'icl'] as const satisfies readonly Timing[]
type RequestTiming = (typeof requestTimings)[number]
type GapTiming = (typeof gapTimings)[number]

/** Milliseconds, of a complete 2xx response; null: it has no such value, or its client took the time. */
export function timingMs(timing: RequestTiming, o: Observation): number | null {
  if (isReadSlowly(o)) return null
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

/** null: the response is not a stream, its client made the gaps, or they may not be gaps between tokens. */
export function gapsMs(timing: GapTiming, o: Observation): readonly number[] | null {
  const stream = streamOf(o)
  if (stream === null || isReadSlowly(o)) return null
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

/** The number of times that TPOT is the mean of; at least 1. */
export const tokenSteps = (o: Observation): number => Math.max(1, (outputTokens(o) ?? 0) - 1)

export const isSuccess = (o: Observation): boolean => o.outcome.kind === 'answered' && is2xx(o.outcome.status)

/** The subject of a figure: one call or all (null), in one stage or in the whole run (null). */
export type Selection = { readonly call: string | null; readonly stage: string | null }

/** How far a run went: whether it ended by itself, and when on its clock. */
export type RunExtent = { readonly complete: boolean; readonly elapsedMs: number }

/**
 * Milliseconds of the stages in which the call takes part; null: there are none, and so no rate. A run that ended early
 * covers only a part of them. A stage that saturates the target ends with its last call, and a sequence not before its own.
 */
export function activeMs(
  plan: Plan,
  selection: Selection,
  extent: RunExtent,
  clock: Pick<StageClock, 'loadStartMs' | 'timeOf' | 'lastEndMs'>,
): number | null {
  if (!extent.complete && !Number.isFinite(clock.loadStartMs())) return null
  const doneMs = ({ name, load }: StagePlan): number => {
    const { startMs, endMs } = clock.timeOf(name)
    const upTo = (atMs: number) => Math.max(0, Math.min(endMs, atMs) - startMs)
    const tookMs = extent.complete ? endMs - startMs : upTo(extent.elapsedMs)
    return load.model === 'saturate' ? Math.min(tookMs, upTo(clock.lastEndMs(name))) : tookMs
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
