import { describeLoad } from '../plan/describe-plan.ts'
import type { Plan } from '../plan/plan.ts'
import type { PlanFacts } from './document.ts'

/** Of the plan, what a reader of the report wants to see; all of it is in `plan.json`. */
export function planFacts({ callers, budgetUsd, forecast, stages, calls, slo }: Plan): PlanFacts {
  const { requests, durationMs, credits, worstUsd } = forecast
  return {
    callers: { count: callers.names.length, tier: callers.accountTier, shared: callers.shared },
    budgetUsd,
    forecast: { requests, durationMs, credits, worstUsd },
    stages: stages.map(stage => ({
      name: stage.name,
      startMs: stage.startMs,
      durationMs: stage.durationMs,
      callers: stage.callers,
      load: describeLoad(stage),
    })),
    calls: Object.entries(calls).map(([call, { kind }]) => ({ call, kind, slo: { ...slo[call] } })),
  }
}
