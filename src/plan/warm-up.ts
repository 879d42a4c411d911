import type { Plan, StagePlan } from './plan.ts'
import { peakPerSecond } from './rate-curve.ts'

/** How one worker prepares for a plan, before its first request. */
export type WarmUpTerms = {
  /** The longest time of the warm-up in milliseconds. It ends earlier if calls stop getting faster. */
  readonly maxMs: number
  /** The highest rate of the plan, in arrivals per second of one worker. */
  readonly perSecond: number
  /** Connections that one worker opens in advance. */
  readonly connections: number
}

const maxWarmUpMs = 3_000
/** A plan of fewer requests would spend more time on a warm-up than on its requests. */
const minRequests = 20
const msPerRequest = 5
/** A slow plan needs code that was compiled once; a fast one needs code that was optimized. */
const slowMs = 500
const msPerRate = 0.5
const maxConnections = 256
/** The time that an arrival keeps its connection, before any response has shown it. */
const guessedLatencyMs = 10

/** How one of `workers` workers prepares for a plan; null: too few requests to warm up for. */
export function warmUpTerms(plan: Plan, workers: number): WarmUpTerms | null {
  const requests = plan.forecast.requests / workers
  if (requests < minRequests) return null
  const perSecond = Math.max(0, ...plan.stages.map(stage => rateOf(stage, plan))) / workers
  const maxMs = Math.round(Math.min(maxWarmUpMs, requests * msPerRequest, slowMs + perSecond * msPerRate))
  return { maxMs, perSecond, connections: connectionsOf(plan, workers) }
}

function rateOf(stage: StagePlan, { forecast }: Plan): number {
  const { load, name, durationMs } = stage
  if (load.model === 'saturate') return (load.connections * 1_000) / guessedLatencyMs
  const requests = forecast.calls.reduce((sum, row) => sum + (row.stage === name ? row.requests : 0), 0)
  return peakPerSecond(stage) ?? (requests * 1_000) / durationMs
}

/** The connections that the first stage needs. A saturate stage opens its own, in autocannon. */
function connectionsOf({ stages, bounds }: Plan, workers: number): number {
  const [first] = stages
  if (first === undefined || first.load.model === 'saturate') return 0
  const { load, callers } = first
  const needed =
    load.model === 'closed'
      ? load.users
      : load.model === 'sequence'
        ? callers
        : load.model === 'open' && load.shape.kind === 'burst'
          ? load.shape.size
          : ((peakPerSecond(first) ?? 0) * guessedLatencyMs) / 1_000
  return Math.ceil(Math.min(needed, bounds.maxInFlight, maxConnections) / workers)
}
