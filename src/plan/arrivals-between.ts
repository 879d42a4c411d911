import { unpackArrivals } from './packed-arrivals.ts'
import type { StagePlan } from './plan.ts'
import { arrivalsIn, ratePieces } from './rate-line.ts'

/** Without a pause between calls a closed user is taken to call every 10 ms: no answer is quicker over a network. */
const quickestAnswerMs = 10

/**
 * Arrivals of all callers that a stage expects in [fromMs, toMs), counted from the start of the stage. Exact for bursts,
 * sequences and what has a rate; the mean of a poisson stage; for closed users, connections that are kept busy and
 * searches the most that they could send, since what they do depends on the answers.
 */
export function arrivalsBetween(stage: StagePlan, fromMs: number, toMs: number): number {
  const from = Math.min(Math.max(0, fromMs), stage.durationMs)
  const to = Math.min(Math.max(from, toMs), stage.durationMs)
  const { load } = stage
  if (load.model === 'sequence') return from === 0 && to > 0 ? load.calls.length * stage.callers : 0
  if (load.model === 'closed') return (load.users * (to - from)) / Math.max(load.thinkMs, quickestAnswerMs)
  // All of them may come in any of its minutes.
  if (load.model === 'saturate') return to > from ? load.maxCalls : 0
  if (load.model === 'capacity') return (load.search.toPerSecond * (to - from)) / 1_000
  const { shape } = load
  if (shape.kind === 'recorded') return countRecorded(shape.packed, from, to)
  if (shape.kind === 'burst') return shape.size * (Math.ceil(to / shape.everyMs) - Math.ceil(from / shape.everyMs))
  return (ratePieces(shape, stage.durationMs) ?? []).reduce((sum, piece) => sum + arrivalsIn(piece, from, to), 0)
}

function countRecorded(packed: string, fromMs: number, toMs: number): number {
  let count = 0
  for (const { offsetMs } of unpackArrivals(packed)) if (offsetMs >= fromMs && offsetMs < toMs) count++
  return count
}

/** The highest rate of a stage, of all callers together; null where arrivals come at once and not at a rate. */
export function peakPerSecond({ load, durationMs }: StagePlan): number | null {
  if (load.model === 'sequence' || load.model === 'saturate') return null
  if (load.model === 'closed') return (load.users * 1_000) / Math.max(load.thinkMs, quickestAnswerMs)
  if (load.model === 'capacity') return load.search.toPerSecond
  const pieces = ratePieces(load.shape, durationMs)
  if (pieces === null) return null
  return Math.max(...pieces.flatMap(({ fromPerSecond, toPerSecond }) => [fromPerSecond, toPerSecond]))
}
