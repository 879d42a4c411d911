import { createDecision } from '../judge/decided.ts'
import type { Cancel, Clock } from '../lib/clock.ts'
import type { LiveRun } from '../outputs/output.ts'
import { type Plan, traitsOf } from '../plan/plan.ts'

/** How often it is looked whether a run may end. Bounds hold however often that is. */
const lookEveryMs = 1_000

/** Looks whether all that a run should decide is decided, and calls `onDecided` once. Returns a function that ends it. */
export function watchDecision(
  plan: Plan,
  live: Pick<LiveRun, 'refresh' | 'view' | 'inFlight'>,
  clock: Clock,
  onDecided: () => void,
): Cancel {
  const look = decisionOf(plan, live)
  let isOver = false
  let cancel: Cancel = () => {}
  const again = () => {
    cancel = clock.at(clock.nowMs() + lookEveryMs, async () => {
      const isMade = await look()
      if (isOver) return
      if (isMade) onDecided()
      else again()
    })
  }
  again()
  return () => {
    isOver = true
    cancel()
  }
}

/** Resolves with whether all is decided, as of now. */
export function decisionOf(plan: Plan, live: Pick<LiveRun, 'refresh' | 'view' | 'inFlight'>): () => Promise<boolean> {
  const decision = createDecision(plan)
  const perArrival = requestsAtOnce(plan)
  return async () => {
    await live.refresh()
    return decision.isMade(live.view(), live.inFlight() * perArrival)
  }
}

/** A replay or a payment may send its requests concurrently. */
export function requestsAtOnce({ calls }: Pick<Plan, 'calls'>): number {
  return Math.max(1, ...Object.values(calls).map(call => traitsOf(call).requestsAtOnce))
}
