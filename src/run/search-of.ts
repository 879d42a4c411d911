import type { Draw } from '../arrivals/arrivals.ts'
import type { CapacitySearch } from '../capacity/search.ts'
import type { Search } from '../drivers/capacity.ts'
import type { StagePlan } from '../plan/plan.ts'

export type SearchDesk = {
  readonly draw: Draw
  /** Says what a search tries next, and how its trial goes. */
  readonly capacity: () => Pick<CapacitySearch, 'next' | 'soFar'>
  /** Until when a caller must not fail so often more, whether it means to or not; null: it may. */
  readonly heldUntilMs: (caller: number, failures: number) => number | null
}

/** The search of a stage: the judges say what comes next, and the bound on failures how long it has to wait. */
export function searchOf(stage: StagePlan, coolDownMs: number, endMs: number, desk: SearchDesk): Search {
  const { draw, capacity, heldUntilMs } = desk
  const { name, callers, firstCaller, beyondFailures } = stage
  const held = (caller: number, failures: number) => (beyondFailures ? null : heldUntilMs(caller, failures))
  return {
    next: () => capacity().next(name),
    soFar: trial => capacity().soFar(name, trial),
    arrivals: (trial, startMs) => draw.trial(stage, trial, startMs),
    heldUntilMs: failures => latest(Array.from({ length: callers }, (_, index) => held(firstCaller + index, failures))),
    isAtRisk: ({ caller }) => held(caller, 1) !== null,
    coolDownMs,
    endMs,
  }
}

const latest = (instants: readonly (number | null)[]): number | null =>
  instants.reduce((a, b) => (a === null || b === null ? (a ?? b) : Math.max(a, b)), null)
