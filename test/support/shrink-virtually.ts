import { expect } from 'vitest'
import type { ClauseId } from '../../src/contract/clauses.ts'
import { historyOf, sequenceOf } from '../../src/run/sequence.ts'
import type { WrittenScenario } from '../../src/scenario/load-scenario.ts'
import type { Lie } from '../../src/service/lies/lie.ts'
import { scenarioOfCandidate, variantsOf } from '../../src/shrink/candidate.ts'
import { type ShrinkIo, shrink } from '../../src/shrink/shrink.ts'
import { type VirtualRun, virtualRun } from './virtual-run.ts'

/** Shrinks the finding that a lie causes in a run, in virtual time. `liesIn`: whether the service lies in this run. */
export async function shrinkVirtually(
  run: VirtualRun,
  clause: ClauseId,
  lie: Lie,
  liesIn: (run: number) => boolean = () => true,
) {
  const { report, plan, contract, observations } = await virtualRun({ ...run, lies: [lie] })
  const example = report.findings.find(each => each.clause === clause)?.examples[0]
  if (example === undefined)
    expect.fail(`${lie.name} violates ${report.findings.map(each => each.clause).join()}, and not ${clause}`)
  async function* all() {
    yield* observations
  }
  const known = { plan, contract, observations: all }
  const sequence = await sequenceOf(example, known)
  const about = { clause, isClause: true, message: example.message, seed: plan.seed, profile: null }
  const withLies = (scenario: WrittenScenario, lies: readonly Lie[], changes: Partial<VirtualRun> = {}) =>
    virtualRun({ ...run, ...changes, scenario: JSON.stringify(scenario, null, 1), lies })
  let runs = 0
  const attempt: ShrinkIo['attempt'] = async scenario => {
    const virtual = await withLies(scenario, liesIn(runs++) ? [lie] : []).catch(() => null)
    if (virtual === null) return 'refused'
    return virtual.report.findings.some(each => each.clause === clause) ? 'violated' : 'kept'
  }
  const variants = variantsOf([sequence.requests, await historyOf(sequence, known)], plan)
  const scenarioOf: ShrinkIo['scenarioOf'] = candidate => scenarioOfCandidate(candidate, plan, about)
  const shrunk = await shrink(variants, { scenarioOf, attempt, onProgress: () => {} })
  return { shrunk, runs, withLies }
}
