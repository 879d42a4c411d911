import { plural } from '../lib/format.ts'
import { reasonOf } from '../report/sections/clauses.ts'
import type { MutantResult } from './mutant-run.ts'
import type { Mutant } from './mutants.ts'

/**
 * never-asked: no request of the run exercised the clause. prevented: something prevented the judgement. not-shown: the
 * clause was judged, but no response showed the lie. inconclusive: the run did not pass, but it did not fail either.
 */
export type Survival = {
  readonly kind: 'never-asked' | 'prevented' | 'not-shown' | 'inconclusive'
  readonly text: string
}

/** Why a gate let a mutant pass. */
export function whySurvived({ clause }: Mutant, { verdict, reasons, clauses }: MutantResult): Survival {
  if (verdict === 'inconclusive') return { kind: 'inconclusive', text: reasons[0] ?? 'the run gave no reason' }
  const tally = clauses.find(({ id }) => id === clause)
  if (tally !== undefined && tally.judged > 0)
    return { kind: 'not-shown', text: `of ${plural(tally.judged, 'check')} of the clause, none showed it` }
  const because = tally?.because ?? null
  return { kind: because?.kind === 'not-judged' ? 'prevented' : 'never-asked', text: reasonOf(because) }
}
