import { formatRatio, plural } from '../../lib/format.ts'
import type { Plan } from '../../plan/plan.ts'
import type { Slices } from '../metrics/slices.ts'
import type { Status } from '../thresholds.ts'
import type { ChangeVerdict, ComparedRow, ComparedRunInfo, Comparison, Criteria, Effect } from './comparison.ts'
import { type ComparedMeasure, inconclusiveReason, measuresOf, type RunCell } from './measures.ts'
import { benjaminiHochberg, type CompletedTest, type TestResult, testMeasure } from './significance.ts'

/** What is known of a run that is compared. */
export type ComparedRun = {
  readonly info: ComparedRunInfo
  readonly plan: Plan
  readonly slices: Slices
  /** Whether it ended by itself. */
  readonly isComplete: boolean
  readonly verdict: Status
}

/**
 * Compares a run with others of the same plan. A baseline that proves nothing itself is left out, as long as there is one
 * that does.
 */
export function compareRuns(baselines: readonly ComparedRun[], run: ComparedRun, criteria: Criteria): Comparison {
  const fit = baselines.filter(({ isComplete, verdict }) => isComplete && verdict !== 'inconclusive')
  const used = fit.length > 0 ? fit : baselines
  const rows = classifyRows(testRows(used, run, criteria))
  const sets = { used: used.length, skipped: baselines.length - used.length }
  return {
    schema: 1,
    ...compareVerdict(rows, criteria, sets, run.isComplete),
    scenario: run.plan.scenario,
    run: run.info,
    baselines: used.map(({ info }) => info),
    criteria,
    rows,
  }
}

/** Each call in each stage in which it was due anywhere, in the order of the plan. */
function testRows(baselines: readonly ComparedRun[], run: ComparedRun, criteria: Criteria): readonly TestedRow[] {
  const { stages, calls } = run.plan
  return stages.flatMap(({ name: stage }) =>
    Object.entries(calls).flatMap(([call, { kind }]) => {
      const ofRun = cellOf(run, call, stage)
      const ofBaselines = baselines.map(baseline => cellOf(baseline, call, stage))
      const allSlices = ofBaselines.map(({ slices }) => slices)
      return measuresOf(kind === 'probe').flatMap(measure => {
        const doubt = (baseMs: number) =>
          inconclusiveReason(measure, ofRun, ofBaselines, { baseMs, minEffect: criteria.minEffect })
        const tested = testMeasure(measure, ofRun.slices, allSlices, criteria, doubt)
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
 * How often anything at all may be believed to be worse where nothing has changed, and as often for better: 5 % together.
 * Times rise and fall together, so that they support each other; among what has nothing to do with them they would not.
 */
const falseDiscoveryRates = { times: 0.04, others: 0.01 }
/** A row is `unchanged` when a worsening of this many times the minimal effect is excluded. */
const excluded = 2

/** All rows together decide which of them may be believed: among many numbers some look changed by chance alone. */
function classifyRows(rows: readonly TestedRow[]): readonly ComparedRow[] {
  const made = (isTime: boolean): readonly CompletedTest[] =>
    rows
      .filter(({ measure }) => (measure.kind === 'time') === isTime)
      .flatMap(({ tested: { test } }) => (test.kind === 'made' ? [test] : []))
  const [ofTimes, ofOthers] = [made(true), made(false)]
  const believedOf = (chance: (test: CompletedTest) => number): ReadonlySet<CompletedTest> =>
    new Set([
      ...benjaminiHochberg(ofTimes, chance, falseDiscoveryRates.times),
      ...benjaminiHochberg(ofOthers, chance, falseDiscoveryRates.others),
    ])
  const worse = believedOf(({ chanceOfWorse }) => chanceOfWorse)
  const better = believedOf(({ chanceOfBetter }) => chanceOfBetter)

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

/** Sentences of one sort; the rest is in the rows. */
const maxSentences = 10

/**
 * A single row that has regressed is a regression. Nothing is established where of some call no time can be told at all:
 * that one row or another cannot be told, such as a p99 of few values, is in the nature of rows.
 */
function compareVerdict(
  rows: readonly ComparedRow[],
  criteria: Criteria,
  baselines: { readonly used: number; readonly skipped: number },
  isComplete: boolean,
): Pick<Comparison, 'verdict' | 'reasons'> {
  const aside =
    baselines.skipped === 0
      ? []
      : [
          `${plural(baselines.skipped, 'baseline')} proved nothing and ${baselines.skipped === 1 ? 'was' : 'were'} left out.`,
        ]
  const changed = (verdict: ChangeVerdict) =>
    sentences(
      rows.filter(row => row.verdict === verdict),
      verdict,
    )
  const regressions = changed('regressed')
  if (regressions.length > 0) return { verdict: 'regressed', reasons: [...regressions, ...aside] }
  if (!isComplete) return { verdict: 'cannot-tell', reasons: ['The run did not end by itself.', ...aside] }
  const untold = inconclusiveCalls(rows)
  if (untold.length > 0) return { verdict: 'cannot-tell', reasons: [...untold, ...aside] }
  if (rows.length === 0) return { verdict: 'cannot-tell', reasons: ['There is nothing to compare.', ...aside] }
  const improvements = changed('improved')
  if (improvements.length > 0) return { verdict: 'improved', reasons: [...improvements, ...aside] }
  const same = rows.filter(({ verdict }) => verdict === 'unchanged').length
  const max = formatRatio(2 * criteria.minEffect)
  const against = plural(baselines.used, 'baseline')
  return {
    verdict: 'unchanged',
    reasons: [`Against ${against} ${same} of ${plural(rows.length, 'number')} are not worse by ${max}.`, ...aside],
  }
}

function sentences(rows: readonly ComparedRow[], verdict: ChangeVerdict): readonly string[] {
  const cells = new Map<string, ComparedRow[]>()
  for (const row of rows) {
    const cell = `${row.call} in ${row.stage}`
    cells.set(cell, [...(cells.get(cell) ?? []), row])
  }
  const all = [...cells].map(
    ([cell, ofCell]) =>
      `${cell} ${verdict}: ${ofCell.map(row => `${row.measure}${shownEffect(row.effect)}`).join(', ')}.`,
  )
  return all.length <= maxSentences
    ? all
    : [...all.slice(0, maxSentences), `${plural(all.length - maxSentences, 'more call')} ${verdict}.`]
}

const shownEffect = (effect: Effect | null): string =>
  effect === null ? '' : ` ${formatChange(effect.value, effect.kind)}`

/** `+9.8 %`, or `-1.25 points` between ratios. */
export const formatChange = (value: number, kind: Effect['kind']): string =>
  `${formatSigned(value, kind)} ${kind === 'relative' ? '%' : 'points'}`

/** The same without its unit. */
export function formatSigned(value: number, kind: Effect['kind']): string {
  const shown = Number((value * 100).toFixed(kind === 'relative' ? 1 : 2))
  return shown === 0 ? '±0' : `${shown < 0 ? '' : '+'}${shown}`
}

/**
 * Calls of which no time can be told in any stage. One that is too rare for any percentile is not missed, unless it was
 * common before.
 */
function inconclusiveCalls(rows: readonly ComparedRow[]): readonly string[] {
  const times = rows.filter(({ unit }) => unit === 'ms')
  const calls = [...new Set(times.map(({ call }) => call))]
  const untold = calls.flatMap(call => {
    const ofCall = times.filter(row => row.call === call && row.base !== null)
    if (ofCall.some(({ verdict }) => verdict !== 'cannot-tell')) return []
    const [best] = ofCall.toSorted((a, b) => intervalWidth(a) - intervalWidth(b))
    if (best === undefined) return []
    return [`Of ${call} no time can be told. ${best.measure} in ${best.stage}: ${best.reason}.`]
  })
  if (untold.length > 0 || times.length === 0 || times.some(({ base }) => base !== null)) return untold
  return ['There are too few values to compare any time.']
}

const intervalWidth = ({ effect }: ComparedRow): number =>
  effect === null ? Number.POSITIVE_INFINITY : effect.high - effect.low
