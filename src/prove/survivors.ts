import { formatExact, plural } from '../lib/format.ts'
import { reasonOf } from '../report/sections/clauses.ts'
import type { MutantResult } from './mutant-run.ts'
import type { Mutant } from './mutants.ts'

/**
 * never-asked: no request of the run exercised the clause. prevented: something prevented the judgement. not-shown: the
 * clause was judged, but no response showed it. no-threshold: no threshold measures it. too-loose: thresholds measured it,
 * and allow it. inconclusive: the run did not pass, but it did not fail either.
 */
export type Survival = {
  readonly kind: 'never-asked' | 'prevented' | 'not-shown' | 'no-threshold' | 'too-loose' | 'inconclusive'
  readonly text: string
}

/** Why a gate let a mutant pass. `honest`: the run without it. */
export function whySurvived(
  { clause }: Mutant,
  { verdict, reasons, clauses, thresholds }: MutantResult,
  honest: MutantResult,
): Survival {
  if (verdict === 'inconclusive') return { kind: 'inconclusive', text: reasons[0] ?? 'the run gave no reason' }
  if (clause === null) return thresholdSurvival(thresholds, honest.thresholds)
  const tally = clauses.find(({ id }) => id === clause)
  if (tally !== undefined && tally.judged > 0)
    return { kind: 'not-shown', text: `of ${plural(tally.judged, 'check')} of the clause, none showed it` }
  const because = tally?.because ?? null
  return { kind: because?.kind === 'not-judged' ? 'prevented' : 'never-asked', text: reasonOf(because) }
}

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
