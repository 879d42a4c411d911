import type { ComparedRow, Outcome } from './comparison.ts'
import { believable } from './false-discoveries.ts'
import type { ComparedMeasure } from './measures.ts'
import type { Tested, TestMade } from './test-measure.ts'

export type TestedRow = {
  readonly call: string
  readonly stage: string
  readonly measure: ComparedMeasure
  readonly tested: Tested
}

/**
 * How often anything at all may be believed to be worse where nothing has changed, and as often for better: 5 % together.
 * Times rise and fall together, so that they support each other; among what has nothing to do with them they would not.
 */
const falseAlarms = { times: 0.04, others: 0.01 }
/** A row says `unchanged` when no worsening of so many times the minimal effect can be in it. */
const excluded = 2

/** All rows together decide which of them may be believed: among many numbers some look changed by chance alone. */
export function judgeRows(rows: readonly TestedRow[]): readonly ComparedRow[] {
  const made = (isTime: boolean): readonly TestMade[] =>
    rows
      .filter(({ measure }) => (measure.kind === 'time') === isTime)
      .flatMap(({ tested: { test } }) => (test.kind === 'made' ? [test] : []))
  const [ofTimes, ofOthers] = [made(true), made(false)]
  const believedOf = (chance: (test: TestMade) => number): ReadonlySet<TestMade> =>
    new Set([...believable(ofTimes, chance, falseAlarms.times), ...believable(ofOthers, chance, falseAlarms.others)])
  const worse = believedOf(({ chanceOfWorse }) => chanceOfWorse)
  const better = believedOf(({ chanceOfBetter }) => chanceOfBetter)

  const verdictOf = (test: TestMade): Outcome => {
    if (worse.has(test) && test.worse >= 1) return 'regressed'
    if (better.has(test) && test.worse <= -1) return 'improved'
    return test.atMostWorse < excluded ? 'unchanged' : 'cannot-tell'
  }

  return rows.map(({ call, stage, measure, tested: { base, run, effect, test } }) => {
    const { name, unit, better: direction } = measure
    return { call, stage, measure: name, unit, better: direction, base, run, effect, ...judged(test) }
  })

  function judged(test: Tested['test']): Pick<ComparedRow, 'verdict' | 'confidence' | 'because'> {
    if (test.kind === 'none') return { verdict: 'cannot-tell', confidence: null, because: test.because }
    if (test.kind === 'plain') return { verdict: test.verdict, confidence: null, because: '' }
    const verdict = verdictOf(test)
    const because = verdict === 'cannot-tell' ? 'it varies too much' : ''
    return { verdict, confidence: 1 - Math.min(test.chanceOfWorse, test.chanceOfBetter), because }
  }
}
