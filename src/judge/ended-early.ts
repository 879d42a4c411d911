import { formatDuration, formatRatio, plural } from '../lib/format.ts'
import { rareAtMost } from '../lib/statistics/decided-share.ts'
import type { LogFooter } from '../observation/log-lines.ts'
import { isSystemStage, type Plan } from '../plan/plan.ts'
import { decidingOf, decisionError } from '../plan/until-decided.ts'
import type { RunMetrics } from './metrics/request-stats.ts'
import type { RunExtent } from './metrics/timings.ts'

type Ending = LogFooter['ended'] | 'truncated'

/** Whether a run ended by itself: at the end of its plan, or because all that it should decide was decided. */
export const endedByItself = (ended: Ending): ended is 'complete' | 'decided' =>
  ended === 'complete' || ended === 'decided'

/** How far a run went. The load of one that was decided ended with its last response. */
export function extentOf({ plan, ended, durationMs, metrics }: EndedRun & { readonly durationMs: number }): RunExtent {
  const elapsedMs = ended === 'decided' ? loadEndMs(plan, metrics) : durationMs
  return { complete: ended === 'complete', elapsedMs }
}

const loadEndMs = (plan: Plan, { stages }: EndedRun['metrics']): number =>
  Math.max(0, ...plan.stages.map(({ name }) => stages.lastEndMs(name)))

type EndedRun = {
  readonly plan: Plan
  readonly ended: Ending
  readonly metrics: Pick<RunMetrics, 'cells' | 'stages'>
}

/** When a run ended early because all was decided, what the verdict holds for, and what was saved: sentences. */
export function savingNote({
  plan,
  ended,
  metrics,
  billing,
}: EndedRun & { readonly billing: { readonly claimedCredits: string } }): readonly string[] {
  if (ended !== 'decided') return []
  const { requests, credits, durationMs } = plan.forecast
  const sent = metrics.cells().reduce((sum, { stage, stats }) => (isSystemStage(stage) ? sum : sum + stats.sent), 0)
  const startMs = metrics.stages.loadStartMs()
  // Only an edited record has no load.
  const tookMs = Number.isFinite(startMs) ? Math.max(0, loadEndMs(plan, metrics) - startMs) : 0
  const savedCredits = Math.round(credits - Number(billing.claimedCredits))
  const saved = [
    plural(Math.max(0, Math.round(requests) - sent), 'request'),
    ...(savedCredits > 0 ? [plural(savedCredits, 'credit')] : []),
  ]
  const rules = plan.thresholds.some(threshold => decidingOf(threshold, plan).by === 'rule')
  const never = `; where a threshold of 0 is met, the chance per request is at most ${formatRatio(rareAtMost(sent, decisionError))}`
  return [
    `The load ended after ${formatDuration(tookMs)} of ${formatDuration(durationMs)}, since every threshold was decided (--until decided). The verdict holds for the ${plural(sent, 'request')} that were sent; a bound behind it is wrong with a chance of at most ${formatRatio(decisionError)}${rules ? never : ''}. Saved: ${saved.join(' and ')} of the plan.`,
  ]
}
