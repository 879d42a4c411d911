import { plural } from '../../lib/format.ts'
import type { DropReason } from '../../observation/observation.ts'
import { hasTrait, type Threshold } from '../../plan/plan.ts'
import type { MetricsCell, RequestStats } from './request-stats.ts'

/** Why Turnpike itself did not send what was due. `remedy`: what the user can change. */
const ownReasons: Partial<Record<DropReason, { readonly why: string; readonly remedy: string }>> = {
  'stage-over': {
    why: 'before the stage reached its maximum duration',
    remedy: 'raise "at-most" of the stage',
  },
  'failure-limit': {
    why: 'because their callers had failed almost often enough to be blocked',
    remedy: 'use more callers or a longer stage, or set "exceed-failure-limit"',
  },
  budget: { why: 'because the budget was spent', remedy: 'raise the budget' },
  interrupted: { why: 'because the run was ended', remedy: 'let it end by itself' },
}

/** The number of requests that Turnpike held back. They say nothing about the target. */
export const heldBack = ({ drops }: Pick<RequestStats, 'drops'>): number =>
  [...drops].reduce((sum, [reason, count]) => sum + (Object.hasOwn(ownReasons, reason) ? count : 0), 0)

/** Which requests Turnpike held back, why, and what to do; null: none. */
export function describeHeldBack(cells: readonly MetricsCell[]): string | null {
  const texts = [...new Set(cells.map(({ stage }) => stage))].flatMap(stage => {
    const ofStage = cells.filter(cell => cell.stage === stage).map(({ stats }) => stats)
    const due = ofStage.reduce((sum, { sent, dropped }) => sum + sent + dropped, 0)
    return Object.entries(ownReasons).flatMap(([reason, { why, remedy }]) => {
      const count = ofStage.reduce((sum, { drops }) => sum + (drops.get(reason) ?? 0), 0)
      const verb = count === 1 ? 'was' : 'were'
      return count === 0 ? [] : [`${count} of ${plural(due, 'request')} of ${stage} ${verb} not sent ${why}; ${remedy}`]
    })
  })
  return texts.length === 0 ? null : texts.join(', and ')
}

/** Whether requests that Turnpike held back may have crossed a threshold. */
export function mayBeOfHeldBack(
  { measure, operator }: Threshold,
  stats: RequestStats,
  holds: (share: number) => boolean,
): boolean {
  const own = heldBack(stats)
  if (!('count' in measure) || own === 0) return false
  if (measure.count.kind === 'dropped') return holds((stats.dropped - own) / stats.dropped)
  return hasTrait(measure.count.kind, 'held-back') && operator !== '<' && operator !== '<='
}
