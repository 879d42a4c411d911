import type { Plan, StagePlan } from './plan.ts'
import { peakPerSecond, requestsPerArrivalIn } from './rate-curve.ts'

/** How many seconds at the highest rate the prepared sign-ins cover. */
const aheadSeconds = 10
const minAhead = 8
const maxAhead = 256
/** The maximum for all wallets together: about 15 MB. */
const maxTotal = 20_000
/** The requests per second of a user who does not think, before any response has shown it. */
const guessedPerSecond = 20

/** How many sign-ins of each wallet are signed in advance: enough for the next seconds. */
export function signInsAhead({ stages, calls, callers }: Pick<Plan, 'stages' | 'calls' | 'callers'>): number {
  const needed = Math.max(0, ...stages.map(stage => neededOf(stage, calls)))
  const wallets = Math.max(1, callers.wallets?.chains.length ?? 0)
  return Math.ceil(Math.min(Math.max(minAhead, needed), maxAhead, Math.max(minAhead, maxTotal / wallets)))
}

/** The requests of one caller that a stage may send soon. */
function neededOf(stage: StagePlan, calls: Plan['calls']): number {
  const { load, callers } = stage
  const each = requestsPerArrivalIn(stage, calls) / Math.max(1, callers)
  switch (load.model) {
    case 'open': {
      const atOnce = load.shape.kind === 'burst' ? load.shape.size : 0
      return (atOnce + (peakPerSecond(stage) ?? 0) * aheadSeconds) * each
    }
    case 'capacity':
      return load.search.toPerSecond * aheadSeconds * each
    case 'closed':
      return load.users * guessedPerSecond * aheadSeconds * each
    case 'saturate':
      return load.connections * guessedPerSecond * aheadSeconds * each
    case 'sequence':
      return 0
  }
}
