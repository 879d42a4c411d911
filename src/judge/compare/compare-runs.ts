import { plural } from '../../lib/format.ts'
import type { Plan } from '../../plan/plan.ts'
import type { Slices } from '../metrics/slices.ts'
import type { Verdict } from '../thresholds.ts'
import type { ChangeVerdict, ComparedRow, ComparedRunInfo, Comparison, Criteria } from './comparison.ts'
import { headlineOf, obstaclesOf } from './conclusion.ts'
import { type ComparedMeasure, inconclusiveReason, measuresOf, type RunCell } from './measures.ts'
import { benjaminiHochberg, type CompletedTest, type TestResult, testMeasure } from './significance.ts'

/** A run of a comparison. */
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
    ...compareVerdict(rows, baselines.length - used.length, run.isComplete),
    scenario: run.plan.scenario,
    run: run.info,
    baselines: used.map(({ info }) => info),
    criteria,
    rows,
  }
}

/** Each call in each stage where any run has data of it, in plan order. */
function testRows(baselines: readonly ComparedRun[], run: ComparedRun, criteria: Criteria): readonly TestedRow[] {
  const { stages, calls } = run.plan
  return stages.flatMap(({ name: stage }) =>
    Object.entries(calls).flatMap(([call, { kind }]) => {
      const ofRun = cellOf(run, call, stage)
      const ofBaselines = baselines.map(baseline => cellOf(baseline, call, stage))
      const allSlices = ofBaselines.map(({ slices }) => slices)
      return measuresOf(kind === 'probe').flatMap(measure => {
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
/** A row is `unchanged` if a worsening by this multiple of the minimum effect is excluded. */
const excluded = 2

/** All rows together decide which are significant, because among many numbers some seem changed by chance. */
function classifyRows(rows: readonly TestedRow[]): readonly ComparedRow[] {
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

  const verdictOf = (test: CompletedTest): ChangeVerdict => {
    if (worse.has(test) && test.worse >= 1) return 'regressed'
    if (better.has(test) && test.worse <= -1) return 'improved'
    return test.atMostWorse < excluded ? 'unchanged' : 'cannot-tell'
  }

  return rows.map(({ call, stage, measure, tested: { base, run, effect, test } }) => {
    const { name, unit, better: direction } = measure
    return { call, stage, measure: name, unit, better: direction, base, run, effect, ...judged(test) }
  })

  function judged(test: TestResult['test']): Pick<ComparedRow, 'verdict' | 'confidence' | 'reason'> {
    if (test.kind === 'none') return { verdict: 'cannot-tell', confidence: null, reason: test.reason }
    if (test.kind === 'plain') return { verdict: test.verdict, confidence: null, reason: '' }
    const verdict = verdictOf(test)
    const reason = verdict === 'cannot-tell' ? 'it varies too much' : ''
    return { verdict, confidence: 1 - Math.min(test.chanceOfWorse, test.chanceOfBetter), reason }
  }
}

/**
 * One regressed row is a regression. The result is `cannot-tell` if no time at all of some call is conclusive. Single
 * inconclusive rows, such as a p99 of few values, are normal.
 */
function compareVerdict(
  rows: readonly ComparedRow[],
  skipped: number,
  isComplete: boolean,
): Pick<Comparison, 'verdict' | 'reasons'> {
  const has = (verdict: ChangeVerdict) => rows.some(row => row.verdict === verdict)
  const obstacle = has('regressed') ? null : obstacleTo(rows, isComplete)
  const aside =
    skipped === 0
      ? []
      : [`${plural(skipped, 'baseline')} ${skipped === 1 ? 'was' : 'were'} inconclusive or incomplete, and left out.`]
  const advice = obstacle === null ? [] : obstaclesOf(rows).flatMap(({ remedy }) => remedy ?? [])
  const verdict = obstacle !== null ? 'cannot-tell' : ((['regressed', 'improved'] as const).find(has) ?? 'unchanged')
  return { verdict, reasons: [headlineOf(rows, obstacle), ...new Set(advice), ...aside] }
}

/** Why the comparison cannot exclude a regression; null: it can. */
function obstacleTo(rows: readonly ComparedRow[], isComplete: boolean): string | null {
  if (!isComplete) return 'the run did not end by itself'
  if (rows.length === 0) return 'there is nothing to compare'
  return inconclusiveTimes(rows)
}

/**
 * The first call without a conclusive time in any stage. Calls too rare for any percentile are ignored, unless the
 * baselines have times of them.
 */
function inconclusiveTimes(rows: readonly ComparedRow[]): string | null {
  const times = rows.filter(({ unit }) => unit === 'ms')
  const calls = [...new Set(times.map(({ call }) => call))]
  const open = calls.flatMap(call => {
    const ofCall = times.filter(row => row.call === call && row.base !== null)
    if (ofCall.some(({ verdict }) => verdict !== 'cannot-tell')) return []
    const [best] = ofCall.toSorted((a, b) => intervalWidth(a) - intervalWidth(b))
    return best === undefined ? [] : [best]
  })
  const [best, ...others] = open
  if (best !== undefined) {
    const more = others.length === 0 ? '' : ` and of ${plural(others.length, 'other call')}`
    return `no time of ${best.call}${more} could be compared; ${best.measure} of ${best.call} in ${best.stage}: ${best.reason}`
  }
  const isTimed = times.length === 0 || times.some(({ base }) => base !== null)
  return isTimed ? null : 'there are too few values to compare any time'
}

const intervalWidth = ({ effect }: ComparedRow): number =>
  effect === null ? Number.POSITIVE_INFINITY : effect.high - effect.low
