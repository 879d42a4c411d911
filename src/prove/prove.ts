import type { ClauseId } from '../contract/clauses.ts'
import { plural } from '../lib/format.ts'
import type { DraftPlan } from '../library/draft.ts'
import type { ProveProgress } from '../library/options.ts'
import type { Plan } from '../plan/plan.ts'
import type { Verdict } from '../report/document.ts'
import { faultMutants } from './faults.ts'
import type { MutantResult } from './mutant-run.ts'
import type { MutantRuns } from './mutant-threads.ts'
import { honestTerms, type Mutant, promisedLies, unpromised } from './mutants.ts'
import { measureSensitivity, type Sensitivity, sensitivityRuns } from './sensitivity.ts'
import { type Suggestion, type Suggestions, suggestAdditions } from './suggest.ts'
import type { MakeRuns } from './suggest-thresholds.ts'
import { type Survival, whySurvived } from './survivors.ts'

/** What a gate noticed of the services that a trial ran it against. */
export type GateProof = {
  readonly schema: 1
  readonly scenario: string
  readonly profile: string
  readonly seed: number
  readonly verdict: Verdict
  /** Sentences; never empty. */
  readonly reasons: readonly string[]
  /** The run against a service that keeps every promise. */
  readonly honest: { readonly verdict: Verdict; readonly reasons: readonly string[] }
  /** Caught mutants as a share of all of them; null: none was tried. */
  readonly score: number | null
  readonly minScore: number | null
  readonly groups: readonly ScoredGroup[]
  readonly mutants: readonly JudgedMutant[]
  /** How large a slowdown each upper bound on a time notices; empty: there is no such bound, or it was not asked for. */
  readonly sensitivity: readonly Sensitivity[]
  /** What would make the scenario notice more, each checked by running it; empty also if it was not asked for. */
  readonly suggestions: readonly Suggestion[]
  /** What was not noticed, and for which no addition was tried, since this would take too long. */
  readonly untried: readonly string[]
  /** Clauses that the profile does not promise. No gate needs to notice lies about them, so they are not in the score. */
  readonly unpromised: { readonly clauses: readonly ClauseId[]; readonly lies: number }
}

export type ScoredGroup = {
  readonly group: string
  readonly caught: number
  /** Those that no request of the scenario exercised. */
  readonly neverAsked: number
  readonly all: number
}

export type JudgedMutant = Pick<Mutant, 'name' | 'group' | 'clause' | 'text'> & {
  /** The clauses, discrepancies and thresholds that failed, until the run ended; empty: it survived. */
  readonly caughtBy: readonly string[]
  /** null: it was caught. */
  readonly survived: Survival | null
}

/** What a proof should say, and who watches it. */
export type ProofTerms = {
  readonly minScore: number | null
  readonly sensitivity: boolean
  /** Whether to look for additions that notice more. */
  readonly suggestions: boolean
  readonly onProgress?: (progress: ProveProgress) => void
}

/** Runs a scenario against an honest service, and then against one for each lie about what the profile promises, and each fault. */
export async function proveGate(draft: DraftPlan, runs: MutantRuns, options: ProofTerms): Promise<GateProof> {
  const { minScore, onProgress = () => {} } = options
  let result: MutantResult | undefined
  await runs.run([{ ...honestTerms, failFast: false }], (_, honest) => {
    result = honest
  })
  if (result === undefined) throw new Error('the honest run has no result')
  const honest = result
  if (honest.verdict !== 'pass') return proofOf(draft, honest, { mutants: [], sensitivity: [], ...nothing, minScore })
  const mutants = mutantsOf(draft)
  const timed = options.sensitivity ? draft.plan : { ...draft.plan, thresholds: [] }
  let all = mutants.length + sensitivityRuns(timed)
  let [done, caught] = [0, 0]
  const onRun = () => onProgress({ done: ++done, all, caught })
  const results: MutantResult[] = []
  await runs.run(
    mutants.map(({ terms }) => ({ ...honestTerms, ...terms, failFast: true })),
    (index, ended) => {
      results[index] = ended
      if (ended.verdict === 'fail') caught++
      onRun()
    },
  )
  const judgedAll = mutants.map((mutant, index) => judged(mutant, results[index] ?? honest, honest, draft.plan))
  const sensitivity = await measureSensitivity(timed, runs, onRun)
  const makeRuns: MakeRuns = async terms => {
    all += terms.length
    const ended: MutantResult[] = []
    await runs.run(terms, (index, result) => {
      ended[index] = result
      onRun()
    })
    return ended
  }
  const survivors = mutants.filter((_, index) => judgedAll[index]?.survived !== null)
  const suggested = options.suggestions ? await suggestAdditions(draft, makeRuns, survivors) : nothing
  return proofOf(draft, honest, { mutants: judgedAll, sensitivity, ...suggested, minScore })
}

const nothing: Suggestions = { suggestions: [], untried: [] }

/** Faults of quantity fail no single clause, so `--only` with clauses leaves them out. */
const mutantsOf = ({ plan, contract }: DraftPlan): readonly Mutant[] => [
  ...promisedLies(plan, contract),
  ...(plan.only?.clauses == null ? faultMutants(contract) : []),
]

function judged(mutant: Mutant, result: MutantResult, honest: MutantResult, plan: Plan): JudgedMutant {
  const { name, group, clause, text } = mutant
  const isCaught = result.verdict === 'fail'
  return {
    ...{ name, group, clause, text },
    caughtBy: isCaught ? result.failed : [],
    survived: isCaught ? null : whySurvived(mutant, result, honest, plan),
  }
}

function proofOf(
  { plan, contract }: DraftPlan,
  { verdict, reasons }: MutantResult,
  found: Pick<GateProof, 'mutants' | 'sensitivity' | 'minScore'> & Suggestions,
): GateProof {
  const { mutants, minScore, ...others } = found
  const { caught } = noticedIn(mutants)
  const score = mutants.length === 0 ? null : caught / mutants.length
  const names = [...new Set(mutants.map(({ group }) => group))]
  return {
    schema: 1,
    scenario: plan.scenario,
    profile: plan.profile,
    seed: plan.seed,
    ...concluded({ verdict, reasons }, mutants.length, caught, minScore),
    honest: { verdict, reasons },
    score,
    minScore,
    groups: names.map(group => ({
      group,
      ...noticedIn(mutants.filter(each => each.group === group)),
    })),
    mutants,
    ...others,
    unpromised: unpromised(contract),
  }
}

export const noticedIn = (mutants: readonly JudgedMutant[]): Omit<ScoredGroup, 'group'> => ({
  caught: mutants.filter(({ survived }) => survived === null).length,
  neverAsked: mutants.filter(({ survived }) => survived?.kind === 'never-asked').length,
  all: mutants.length,
})

/** A gate that an honest service cannot pass proves nothing, whatever it notices. */
function concluded(
  honest: Pick<MutantResult, 'verdict' | 'reasons'>,
  all: number,
  caught: number,
  minScore: number | null,
): Pick<GateProof, 'verdict' | 'reasons'> {
  if (honest.verdict !== 'pass') {
    const ending = honest.verdict === 'fail' ? 'fails' : 'is inconclusive'
    return {
      verdict: honest.verdict,
      reasons: [
        `The gate can never pass: against a service that keeps every promise, it ${ending}.`,
        ...honest.reasons,
      ],
    }
  }
  if (all === 0)
    return {
      verdict: 'inconclusive',
      reasons: ['There is nothing to notice: the profile promises no clause that is judged.'],
    }
  const noticed = `The gate noticed ${caught} of ${plural(all, 'wrong service')}`
  if (minScore !== null && caught / all < minScore)
    return { verdict: 'fail', reasons: [`${noticed}, less than ${minScore * 100} %.`] }
  return { verdict: 'pass', reasons: [`${noticed}, and lets an honest service pass.`] }
}
