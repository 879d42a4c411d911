import type { DraftPlan } from '../library/draft.ts'
import { mixOf } from '../plan/plan.ts'
import { type Addition, scenarioWith } from './additions.ts'
import type { MutantResult } from './mutant-run.ts'
import { honestTerms, type Mutant, type MutantTerms } from './mutants.ts'

/** Makes all of these runs. */
export type MakeRuns = (all: readonly MutantTerms[]) => Promise<readonly MutantResult[]>

/** A threshold that makes the gate notice a fault. */
type SuggestedThreshold = { readonly addition: Addition; readonly notices: readonly string[] }

/** An honest service passes with these random times, too. */
const otherSeeds = [2_000_001, 2_000_002, 2_000_003]
/** Calls that are measured. */
const maxCalls = 12
/** A measure that moves less than this does not show the fault. */
const minRatio = 1.1

/** Counts that are 0 as long as nothing fails. */
const counts = ['status(500) == 0', 'incomplete == 0', 'failed == 0']

const thresholdOf = (expect: string, why: string): Addition => ({
  calls: {},
  stages: [],
  thresholds: [{ expect, why }],
})

/** Thresholds on times and failures, for faults that no clause is about. */
export async function suggestThresholds(
  draft: DraftPlan,
  makeRuns: MakeRuns,
  survivors: readonly Mutant[],
): Promise<readonly SuggestedThreshold[]> {
  if (survivors.length === 0) return []
  const measures = measuresOf(draft)
  const probed = [...counts, ...measures.map(measure => `${measure} < 1h`)]
  const measured = scenarioWith(
    draft,
    probed.map(expect => thresholdOf(expect, 'A measurement.')),
  )
  const [honest, ...faulty] = await makeRuns([
    ...[null, ...survivors].map(mutant => ({
      ...{ ...honestTerms, ...mutant?.terms },
      ...{ scenario: measured, failFast: false },
    })),
  ])
  const own = draft.plan.thresholds.length
  const probeIn = (result: MutantResult | undefined, index: number) => result?.thresholds[own + index]
  const valueIn = (result: MutantResult | undefined, index: number) =>
    probeIn(result, counts.length + index)?.value ?? null
  const found = new Map<string, string[]>()
  /** The bounds on times that were tried. */
  const boundOf = new Map<string, { readonly measure: string; readonly ms: number }>()
  /** Whether honest services pass with it, by threshold. */
  const isPassed = new Map<string, boolean>()
  const check = async (addition: Addition, expect: string) => {
    const known = isPassed.get(expect)
    if (known !== undefined) return known
    const scenario = scenarioWith(draft, [addition])
    const results = await makeRuns(
      [null, ...otherSeeds].map(serviceSeed => ({ ...honestTerms, serviceSeed, scenario, failFast: false })),
    )
    const passes = results.every(({ verdict }) => verdict === 'pass')
    isPassed.set(expect, passes)
    return passes
  }
  for (const [position, mutant] of survivors.entries()) {
    const times = measures.map((measure, index) => ({ measure, after: valueIn(faulty[position], index) }))
    const moved = times
      .map(({ measure, after }, index) => {
        const before = valueIn(honest, index)
        return { measure, before: before ?? 0, ratio: before === null || after === null ? 0 : after / before }
      })
      .filter(({ ratio }) => ratio >= minRatio)
      .toSorted((a, b) => b.ratio - a.ratio)
      .slice(0, 2)
    const bounds = moved.map(({ measure, before, ratio }) => {
      const ms = rounded(before * Math.sqrt(ratio))
      const expect = `${measure} < ${ms}ms`
      boundOf.set(expect, { measure, ms })
      return expect
    })
    // No run is needed to know that what this mutant was measured to do is within a threshold.
    const isCrossed = (expect: string) => {
      const bound = boundOf.get(expect)
      if (bound === undefined) return probeIn(faulty[position], counts.indexOf(expect))?.verdict === 'fail'
      return (times.find(({ measure }) => measure === bound.measure)?.after ?? 0) >= bound.ms
    }
    // What was found for a smaller fault may notice this one, too.
    for (const expect of [...found.keys(), ...counts, ...bounds].filter(isCrossed)) {
      const addition = thresholdOf(expect, whyOf(mutant))
      if (!(await check(addition, expect))) continue
      const scenario = scenarioWith(draft, [addition])
      const [result] = await makeRuns([{ ...honestTerms, ...mutant.terms, scenario, failFast: false }])
      if (result?.verdict !== 'fail') continue
      found.set(expect, [...(found.get(expect) ?? []), mutant.name])
      break
    }
  }
  return [...found].map(([expect, notices]) => {
    const first = survivors.find(({ name }) => name === notices[0])
    return { addition: thresholdOf(expect, first === undefined ? '' : whyOf(first)), notices }
  })
}

const whyOf = ({ text }: Mutant): string => `An honest service passes this, and not one of which this is true: ${text}`

/** Two significant digits. */
const rounded = (ms: number): number => Number(ms.toPrecision(2))

/** The typical times of the calls that are sent most. */
function measuresOf({ plan }: DraftPlan): readonly string[] {
  const sent = new Set(plan.stages.flatMap(mixOf).map(([name]) => name))
  const calls = Object.entries(plan.calls)
    .filter(([name]) => sent.has(name))
    .slice(0, maxCalls)
  return calls.flatMap(([name]) => [`p(50) latency of ${name}`, `mean latency of ${name}`])
}
