import { formatRatio, plural } from '../../lib/format.ts'
import { isProbe, type Plan } from '../../plan/plan.ts'
import type { Slices } from '../metrics/slices.ts'
import type { Verdict } from '../results.ts'
import type { ChangeVerdict, ComparedRow, ComparedRunInfo, Comparison, Criteria } from './comparison.ts'
import { type ClassifiedRow, headlineOf, looselyBounded, obstaclesOf, obstacleTo } from './conclusion.ts'
import { type ComparedMeasure, inconclusiveReason, measuresOf, type RunCell } from './measures.ts'
import { benjaminiHochberg, type CompletedTest, type TestResult, testMeasure } from './significance.ts'

export type ComparedRun = {
  readonly info: ComparedRunInfo
  readonly plan: Plan
  readonly slices: Slices
  /** Whether it ended by itself. */
  readonly isComplete: boolean
  readonly verdict: Verdict
}

/**
 * Compares a run with others of the same plan. Inconclusive and incomplete baselines are left out, unless all are.
 */
export function compareRuns(baselines: readonly ComparedRun[], run: ComparedRun, criteria: Criteria): Comparison {
  const fit = baselines.filter(({ isComplete, verdict }) => isComplete && verdict !== 'inconclusive')
  const used = fit.length > 0 ? fit : baselines
  const rows = classifyRows(testRows(used, run, criteria))
  return {
    schema: 1,
    ...compareVerdict(rows, baselines.length - used.length, run, criteria),
    scenario: run.plan.scenario,
    run: run.info,
    baselines: used.map(({ info }) => info),
    criteria,
    rows: rows.map(({ row }) => row),
  }
}

/** Each call in each stage where any run has data of it, in plan order. */
function testRows(baselines: readonly ComparedRun[], run: ComparedRun, criteria: Criteria): readonly TestedRow[] {
  const { stages, calls } = run.plan
  return stages.flatMap(({ name: stage }) =>
    Object.entries(calls).flatMap(([call, planned]) => {
      const ofRun = cellOf(run, call, stage)
      const ofBaselines = baselines.map(baseline => cellOf(baseline, call, stage))
      const allSlices = ofBaselines.map(({ slices }) => slices)
      return measuresOf(isProbe(planned)).flatMap(measure => {
        const openReason = (baseMs: number) =>
          inconclusiveReason(measure, ofRun, ofBaselines, { baseMs, minEffect: criteria.minEffect })
        const tested = testMeasure(measure, ofRun.slices, allSlices, criteria, openReason)
        return tested === null ? [] : [{ call, stage, measure, tested }]
      })
    }),
  )
}

function cellOf({ slices, isComplete, verdict }: ComparedRun, call: string, stage: string): RunCell {
  const ofStage = slices.calls.filter(cell => cell.stage === stage)
  const dropped = ofStage.flatMap(cell => cell.slices).reduce((sum, slice) => sum + slice.dropped, 0)
  return { slices: ofStage.find(cell => cell.call === call)?.slices ?? [], dropped, isComplete, verdict }
}

type TestedRow = {
  readonly call: string
  readonly stage: string
  readonly measure: ComparedMeasure
  readonly tested: TestResult
}

/**
 * The accepted rate of false regressions if nothing has changed, and the same for improvements: 5 % in total. Times are
 * correlated and support each other, so they are tested apart from the other measures.
 */
const falseDiscoveryRates = { times: 0.04, others: 0.01 }
/** A row is `unchanged` if a change by this multiple of the minimum effect is excluded, for the worse and the better. */
const excluded = 2
/** Fewer values of a time never count as unchanged. */
const minUnchanged = 30

/** All rows together decide which are significant, because among many numbers some seem changed by chance. */
function classifyRows(rows: readonly TestedRow[]): readonly ClassifiedRow[] {
  const made = (isTime: boolean): readonly CompletedTest[] =>
    rows
      .filter(({ measure }) => (measure.kind === 'time') === isTime)
      .flatMap(({ tested: { test } }) => (test.kind === 'made' ? [test] : []))
  const [ofTimes, ofOthers] = [made(true), made(false)]
  const significantBy = (chance: (test: CompletedTest) => number): ReadonlySet<CompletedTest> =>
    new Set([
      ...benjaminiHochberg(ofTimes, chance, falseDiscoveryRates.times),
      ...benjaminiHochberg(ofOthers, chance, falseDiscoveryRates.others),
    ])
  const worse = significantBy(({ chanceOfWorse }) => chanceOfWorse)
  const better = significantBy(({ chanceOfBetter }) => chanceOfBetter)

  const verdictOf = (test: CompletedTest, { kind }: ComparedMeasure): ChangeVerdict => {
    if (worse.has(test) && test.worse >= 1) return 'regressed'
    if (better.has(test) && test.worse <= -1) return 'improved'
    const isBounded = test.atMostWorse < excluded && test.atLeastWorse > -excluded
    const isEnough = kind !== 'time' || test.values >= minUnchanged
    return isBounded && isEnough ? 'unchanged' : 'cannot-tell'
  }

  return rows.map(({ call, stage, measure, tested: { base, run, effect, test } }) => {
    const { name, unit, better: direction } = measure
    const row = { call, stage, measure: name, unit, better: direction, base, run, effect, ...judged(test, measure) }
    return { row, measure, test }
  })

  function judged(
    test: TestResult['test'],
    measure: ComparedMeasure,
  ): Pick<ComparedRow, 'verdict' | 'confidence' | 'reason'> {
    if (test.kind === 'none') return { verdict: 'cannot-tell', confidence: null, reason: test.reason }
    if (test.kind === 'plain') return { verdict: test.verdict, confidence: null, reason: '' }
    const verdict = verdictOf(test, measure)
    const reason = verdict === 'cannot-tell' ? 'it varies too much' : ''
    return { verdict, confidence: 1 - Math.min(test.chanceOfWorse, test.chanceOfBetter), reason }
  }
}

/** One regressed row is a regression. Otherwise the result is `cannot-tell` if an obstacle is in its way. */
function compareVerdict(
  classified: readonly ClassifiedRow[],
  skipped: number,
  { plan, isComplete }: ComparedRun,
  criteria: Criteria,
): Pick<Comparison, 'verdict' | 'reasons'> {
  const rows = classified.map(({ row }) => row)
  const has = (verdict: ChangeVerdict) => rows.some(row => row.verdict === verdict)
  const obstacle = has('regressed') ? null : obstacleTo(classified, plan.thresholds, isComplete, criteria)
  const aside =
    skipped === 0
      ? []
      : [`${plural(skipped, 'baseline')} ${skipped === 1 ? 'was' : 'were'} inconclusive or incomplete, and left out.`]
  const advice = obstacle === null ? [] : obstaclesOf(rows).flatMap(({ remedy }) => remedy ?? [])
  const loose = obstacle !== null || has('regressed') ? [] : looseWords(classified)
  const verdict = obstacle !== null ? 'cannot-tell' : ((['regressed', 'improved'] as const).find(has) ?? 'unchanged')
  return { verdict, reasons: [headlineOf(rows, obstacle), ...loose, ...new Set(advice), ...aside] }
}

/** How much worse the calls may be of which no time is known precisely. */
function looseWords(rows: readonly ClassifiedRow[]): readonly string[] {
  const calls = looselyBounded(rows)
  if (calls.length === 0) return []
  const [names, worst] = [calls.map(({ call }) => call).join(', '), Math.max(...calls.map(each => each.worst))]
  return [
    `Only large changes can be excluded for ${names}: their times may be up to ${formatRatio(Number(worst.toPrecision(2)))} longer.`,
  ]
}
