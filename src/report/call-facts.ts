import { type Extent, perSecond, type Selection } from '../metrics/active-time.ts'
import { type Figures, OTHER_STATUS } from '../metrics/figures.ts'
import type { Metrics } from '../metrics/metrics.ts'
import { percentiles } from '../metrics/percentiles.ts'
import type { Plan } from '../plan/plan.ts'
import { isSystemStage } from '../plan/plan.ts'
import type { CallFacts } from './document.ts'

/**
 * Each call that was due, in the order of the plan: first over all stages, then by stage. None of the program's own.
 * A probe is to be refused, so that no answer to it is good: whether it was refused as promised is for its clause to say.
 */
export function callFacts(plan: Plan, metrics: Metrics, extent: Extent): readonly CallFacts[] {
  const seen = metrics.cells().filter(cell => !isSystemStage(cell.stage))
  const callOrder = Object.keys(plan.calls)
  const stageOrder = plan.stages.map(stage => stage.name)
  const calls = sortedLike(callOrder, [...new Set(seen.map(cell => cell.call))])
  return calls.flatMap(call => {
    const stages = seen.filter(cell => cell.call === call).map(cell => cell.stage)
    const rows: readonly Selection[] = [null, ...sortedLike(stageOrder, stages)].map(stage => ({ call, stage }))
    return rows
      .map(selection => ({ selection, figures: metrics.select(selection) }))
      .filter(({ figures }) => figures.sent + figures.dropped > 0)
      .map(({ selection, figures }) => facts(call, selection.stage, figures, metrics.activeMs(selection, extent)))
      .map(row => (plan.calls[call]?.kind === 'probe' ? { ...row, goodputPerSecond: null, goodRatio: null } : row))
  })
}

function facts(call: string, stage: string | null, figures: Figures, activeMs: number | null): CallFacts {
  return {
    call,
    stage,
    count: figures.sent,
    statuses: statusCounts(figures.statuses),
    failed: figures.failed,
    dropped: figures.dropped,
    latencyMs: percentiles(figures.timing('latency')),
    serviceTimeMs: percentiles(figures.timing('service-time')),
    ttftMs: percentiles(figures.timing('ttft')),
    ttfctMs: percentiles(figures.timing('ttfct')),
    tpotMs: percentiles(figures.timing('tpot')),
    itlMs: percentiles(figures.timing('itl')),
    iclMs: percentiles(figures.timing('icl')),
    outputTokens: figures.outputTokens,
    outputTokensPerSecond: figures.answersWithTokens === 0 ? null : perSecond(figures.outputTokens, activeMs),
    achievedPerSecond: perSecond(figures.answered, activeMs),
    goodputPerSecond: perSecond(figures.good, activeMs),
    goodRatio: figures.good / (figures.sent + figures.dropped),
  }
}

/** Ascending, as JSON and people expect, with what had to be summed up last. */
export function statusCounts(statuses: ReadonlyMap<number, number>): Readonly<Record<string, number>> {
  const known = [...statuses].filter(([status]) => status !== OTHER_STATUS).toSorted(([a], [b]) => a - b)
  const other = statuses.get(OTHER_STATUS)
  return Object.fromEntries([
    ...known.map(([status, count]) => [String(status), count] as const),
    ...(other === undefined ? [] : [['other', other] as const]),
  ])
}

/** In the given order; what is not in it comes last, in its own. */
function sortedLike(order: readonly string[], values: readonly string[]): readonly string[] {
  const rank = (value: string) => (order.includes(value) ? order.indexOf(value) : order.length)
  return values.toSorted((a, b) => rank(a) - rank(b))
}
