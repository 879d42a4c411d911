import { arrivalsBetween } from './arrivals-between.ts'
import type { StagePlan } from './plan.ts'
import { ratePieces } from './rate-line.ts'

/** A stage, and how much one of its arrivals takes of what is counted. */
export type Draw = { readonly stage: StagePlan; readonly perArrival: number }

/**
 * The most that is taken within any `windowMs`, wherever they begin: the bound for a fixed window, whose beginning is not
 * ours to choose. Between two instants at which some stage begins, ends, turns or bursts at an edge of the window, the
 * amount is a quadratic function of where the window begins, so looking at those and at the vertex between them is exact.
 */
export function busiestWindow(draws: readonly Draw[], windowMs: number): number {
  const amount = (startMs: number) =>
    draws.reduce((sum, { stage, perArrival }) => {
      const from = startMs - stage.startMs
      return sum + perArrival * arrivalsBetween(stage, from, from + windowMs)
    }, 0)
  const edges = draws.flatMap(({ stage }) => edgesOf(stage, windowMs))
  // Just behind an edge less its length the window holds what happens at the edge; at it, it does not.
  const starts = [...new Set(edges.flatMap(edge => [edge, edge - windowMs, edge - windowMs + 1e-6]))].sort(
    (a, b) => a - b,
  )
  let most = 0
  for (const [index, start] of starts.entries()) {
    most = Math.max(most, amount(start), amount(vertexBetween(amount, start, starts[index + 1] ?? start)))
  }
  return Number(most.toPrecision(9))
}

function edgesOf(stage: StagePlan, windowMs: number): readonly number[] {
  const ends = [stage.startMs, stage.startMs + stage.durationMs]
  if (stage.load.model !== 'open') return ends
  const { shape } = stage.load
  if (shape.kind !== 'burst') {
    const pieces = ratePieces(shape, stage.durationMs) ?? []
    return [...ends, ...pieces.map(({ startMs }) => stage.startMs + startMs)]
  }
  const { everyMs } = shape
  const bursts = Math.ceil(stage.durationMs / everyMs)
  // Bursts far from both ends of their stage see only each other, and those near its start are like them.
  const near = Math.min(bursts, Math.ceil(windowMs / Math.max(everyMs, 100)) + 1)
  const indices = Array.from({ length: near }, (_, index) => [index, bursts - 1 - index]).flat()
  return [...ends, ...indices.map(index => stage.startMs + index * everyMs)]
}

/** Where the quadratic through three points inside (low, high) is highest; `low` when it has no summit there. */
function vertexBetween(f: (x: number) => number, low: number, high: number): number {
  const step = (high - low) / 4
  if (step < 1e-3) return low
  const middle = low + 2 * step
  const [left, centre, right] = [f(low + step), f(middle), f(high - step)]
  const bend = left - 2 * centre + right
  if (bend >= 0) return low
  const summit = middle + (step * (left - right)) / (2 * bend)
  return summit > low && summit < high ? summit : low
}
