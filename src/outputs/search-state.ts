import { exceedsCapacity } from '../judge/capacity/judge-trial.ts'
import { missedText, trialLabels } from '../judge/capacity/result.ts'
import type { CapacityResult, TrialOutcome, TrialResult } from '../judge/results.ts'
import { count, formatRate } from '../lib/format.ts'

/** The trials whose outcome is certain: all but the current one. */
export const finishedTrials = (
  { stage, trials }: Pick<CapacityResult, 'stage' | 'trials'>,
  stageNow: string,
): readonly TrialResult[] => (stage === stageNow ? trials.slice(0, -1) : trials)

/** The bounds of the capacity, from the trials so far. If a rate was tried again, its last trial counts. */
export function boundsOf(trials: readonly TrialResult[]): {
  readonly sustainedPerSecond: number | null
  readonly exceededPerSecond: number | null
} {
  const last = [...new Map(trials.map(({ offeredPerSecond, outcome }) => [offeredPerSecond, outcome]))]
  const rates = (isOf: (outcome: TrialOutcome) => boolean) =>
    last.filter(([, outcome]) => isOf(outcome)).map(([perSecond]) => perSecond)
  const exceeded = Math.min(...rates(exceedsCapacity))
  const sustained = Math.max(...rates(outcome => outcome === 'sustained').filter(perSecond => perSecond < exceeded))
  return { sustainedPerSecond: finite(sustained), exceededPerSecond: finite(exceeded) }
}

/** The minimum or maximum of no values is infinite. */
const finite = (value: number): number | null => (Number.isFinite(value) ? value : null)

/** `raise 180/s held`, or `raise 220/s missed: chat ttft 36 of 440`. */
export function trialWords(trial: TrialResult): string {
  const { purpose, offeredPerSecond, outcome, arrivals } = trial
  const rate = `${purpose} ${formatRate(offeredPerSecond)}`
  if (outcome === 'sustained') return `${rate} ${purpose === 'confirm' ? 'confirmed' : 'held'}`
  if (!exceedsCapacity(outcome)) return `${rate} undecided: ${trialLabels[outcome]}`
  const missed = missedText(trial)
  return `${rate} missed: ${missed === '' ? trialLabels[outcome] : `${missed} of ${count(arrivals)}`}`
}
