import { createDecision } from '../judge/decided.ts'
import type { Cancel, Clock } from '../lib/clock.ts'
import type { LiveRun } from '../outputs/output.ts'
import { type Call, type Plan, traitsOf } from '../plan/plan.ts'

/** How often it is looked whether a run may end. Bounds hold however often that is. */
const lookEveryMs = 1_000

/** Looks whether all that a run should decide is decided, and calls `onDecided` once. Returns a function that ends it. */
export function watchDecision(plan: Plan, live: LiveCounts, clock: Clock, onDecided: () => void): Cancel {
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
export function decisionOf(plan: Plan, live: LiveCounts): () => Promise<boolean> {
  const decision = createDecision(plan)
  return async () => {
    await live.refresh()
    const unanswered = new Map(
      [...live.inFlightByCall()].map(([name, arrivals]) => [name, arrivals * atOnce(plan.calls[name])] as const),
    )
    return decision.isMade(live.view(), unanswered)
  }
}

type LiveCounts = Pick<LiveRun, 'refresh' | 'view'> & { readonly inFlightByCall: () => ReadonlyMap<string, number> }

/** A replay or a payment may send its requests concurrently. */
export const requestsAtOnce = ({ calls }: Pick<Plan, 'calls'>): number =>
  Math.max(1, ...Object.values(calls).map(atOnce))

const atOnce = (call: Call | undefined): number => (call === undefined ? 1 : traitsOf(call).requestsAtOnce)
