import { arrivalsBetween } from './arrivals-between.ts'
import { busiestWindow, type Draw } from './busiest-window.ts'
import type { StagePlan } from './plan.ts'
import { ratePieces } from './rate-line.ts'
import { callersIn, recordedDraw } from './recorded-draw.ts'
import { meanOf, mixOf } from './stage-mix.ts'

/** The most that one caller takes of something within any `windowMs` of these stages, when it is the busiest of all. */
export function busiestOfCaller(
  stages: readonly StagePlan[],
  windowMs: number,
  amountOf: (call: string) => number,
): number {
  const busiest = callersToWatch(stages).map(caller => {
    const own = stages.filter(stage => stage.firstCaller <= caller && caller < stage.firstCaller + stage.callers)
    return busiestWindow(
      own.map(stage => drawOf(stage, caller, amountOf)),
      windowMs,
    )
  })
  return busiest.reduce((most, each) => Math.max(most, each), 0)
}

/** The callers who may be the busiest: where stages share most callers, one of them begins. */
function callersToWatch(stages: readonly StagePlan[]): readonly number[] {
  return [
    ...new Set(
      stages.flatMap(({ load, firstCaller }) =>
        load.model === 'open' && load.shape.kind === 'recorded' ? callersIn(load.shape) : [firstCaller],
      ),
    ),
  ]
}

function drawOf(stage: StagePlan, caller: number, amountOf: (call: string) => number): Draw {
  const { load, startMs } = stage
  if (load.model === 'open' && load.shape.kind === 'recorded')
    return recordedDraw(load.shape, startMs, caller, load.mix, amountOf)
  const perArrival = meanOf(mixOf(stage), amountOf) / stage.callers
  return {
    taken: (fromMs, toMs) => perArrival * arrivalsBetween(stage, fromMs - startMs, toMs - startMs),
    // Just behind an edge less its length a window holds what happens at the edge; at it, it does not.
    starts: windowMs =>
      edgesOf(stage, windowMs).flatMap(edge => [edge, edge - windowMs, edge - windowMs + 1e-6].map(at => startMs + at)),
    isStepped: false,
  }
}

/** Instants of a stage, from its start, at which it begins, ends, turns or bursts. */
function edgesOf({ load, durationMs }: StagePlan, windowMs: number): readonly number[] {
  const ends = [0, durationMs]
  if (load.model !== 'open') return ends
  const { shape } = load
  if (shape.kind !== 'burst') return [...ends, ...(ratePieces(shape, durationMs) ?? []).map(({ startMs }) => startMs)]
  const { everyMs } = shape
  const bursts = Math.ceil(durationMs / everyMs)
  // Bursts far from both ends of their stage see only each other, and those near its start are like them.
  const near = Math.min(bursts, Math.ceil(windowMs / Math.max(everyMs, 100)) + 1)
  const indices = Array.from({ length: near }, (_, index) => [index, bursts - 1 - index]).flat()
  return [...ends, ...indices.map(index => index * everyMs)]
}
