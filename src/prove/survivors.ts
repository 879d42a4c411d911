import type { ClauseId } from '../contract/clauses.ts'
import { count, formatExact, plural } from '../lib/format.ts'
import type { Plan } from '../plan/plan.ts'
import { reasonOf } from '../report/sections/clauses.ts'
import type { MutantResult } from './mutant-run.ts'
import type { Mutant } from './mutants.ts'

/**
 * never-asked: no request of the run exercised the clause. too-rarely: it needs more requests of one caller than there
 * are. prevented: something prevented the judgement. not-shown: the clause was judged, but no response showed it.
 * no-threshold: no threshold measures it. too-loose: thresholds measured it, and allow it. inconclusive: the run did not
 * pass, but it did not fail either.
 */
export type Survival = {
  readonly kind:
    | 'never-asked'
    | 'too-rarely'
    | 'prevented'
    | 'not-shown'
    | 'no-threshold'
    | 'too-loose'
    | 'inconclusive'
  readonly text: string
}

/** Why a gate let a mutant pass. `honest`: the run without it. */
export function whySurvived(
  { clause }: Mutant,
  { verdict, reasons, clauses, thresholds }: MutantResult,
  honest: MutantResult,
  { forecast }: Pick<Plan, 'forecast'>,
): Survival {
  if (verdict === 'inconclusive') return { kind: 'inconclusive', text: reasons[0] ?? 'the run gave no reason' }
  if (clause === null) return thresholdSurvival(thresholds, honest.thresholds)
  const tally = clauses.find(({ id }) => id === clause)
  if (tally !== undefined && tally.judged > 0)
    return { kind: 'not-shown', text: `of ${plural(tally.judged, 'check')} of the clause, none showed it` }
  const because = tally?.because ?? null
  const rarely = because?.kind === 'not-exercised' ? tooRarely(clause, forecast) : null
  if (rarely !== null) return rarely
  return { kind: because?.kind === 'not-judged' ? 'prevented' : 'never-asked', text: reasonOf(because) }
}

/** What is planned for the busiest caller, and what it takes until the service must refuse one. */
function tooRarely(clause: ClauseId, { limits, failures }: Plan['forecast']): Survival | null {
  const planned = isOfLimits(clause)
    ? limits.map(({ perMinute, limit, scope }) => ({ has: perMinute, needs: limit + 1, what: `${scope} in a minute` }))
    : clause.startsWith('abuse.')
      ? failures.map(each => ({ has: each.expected, needs: each.tolerated + 1, what: 'failures in a window' }))
      : []
  const [nearest] = planned.toSorted((a, b) => b.has / b.needs - a.has / a.needs)
  if (nearest === undefined || nearest.has >= nearest.needs) return null
  const { has, needs, what } = nearest
  return { kind: 'too-rarely', text: `${count(has)} of ${count(needs)} needed: ${what}, for the busiest caller` }
}

const isOfLimits = (clause: ClauseId): boolean =>
  ['limit.requests.enforced', 'limit.requests.not-early', 'limit.tokens.enforced', 'retry.after-reset'].includes(clause)

/** A value that differs by less than this ratio does not measure the fault. */
const minChange = 0.01

function thresholdSurvival(thresholds: MutantResult['thresholds'], honest: MutantResult['thresholds']): Survival {
  const moved = thresholds.filter(({ value }, index) => {
    const before = honest[index]?.value ?? null
    return value !== null && before !== null && Math.abs(value - before) > minChange * Math.abs(before)
  })
  if (moved.length === 0) return { kind: 'no-threshold', text: 'no threshold measures it' }
  const shown = moved.map(({ expression, value, unit }) => `${expression}, which had ${formatExact(value ?? 0, unit)}`)
  return { kind: 'too-loose', text: `it is within ${shown.join(', and ')}` }
}
