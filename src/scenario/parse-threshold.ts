import { nearest, oneOf, unknownWord } from '../lib/usage-error.ts'
import {
  type Aggregate,
  type Count,
  type Measure,
  type Operator,
  operators,
  plainCounts,
  type Threshold,
  timings,
} from './threshold.ts'
import { parseDuration, parsePercent, parseRate, parseUsd } from './units.ts'

/** The grammar is in `threshold.ts`. A problem says at which character of the expression it is, from 0. */
export type ParsedThreshold = Omit<Threshold, 'expression' | 'why'>
export type Problem = { readonly at: number; readonly got: string; readonly expected: string; readonly hint?: string }

type Token = { readonly text: string; readonly at: number }
/** The bound decides whether a count is meant as a number, a ratio or a rate. */
type MeasureDraft =
  | Extract<Measure, { kind: 'timing' | 'capacity' | 'credits' | 'spend' }>
  | { readonly kind: 'count'; readonly count: Count }

const measureWords = [
  'p(95)',
  'mean',
  'min',
  'max',
  ...plainCounts,
  'status(429)',
  'capacity',
  'credits',
  'spend',
] as const
const measureText = 'a measure such as p(95) ttft, mean latency, failed, status(429), capacity, credits or spend'

/** The threshold that `expression` states about `calls` and `stages`, or what is wrong with it. */
export function parseThreshold(
  expression: string,
  calls: readonly string[],
  stages: readonly string[],
): ParsedThreshold | readonly Problem[] {
  const tokens = [...expression.matchAll(/[<>=!]+|[^\s<>=!]+/g)].map(({ 0: text, index }) => ({ text, at: index }))
  const problems: Problem[] = []
  const cursor: Cursor = {
    peek: () => tokens[0]?.text ?? '',
    next: () => tokens.shift() ?? { text: '', at: expression.trimEnd().length },
    fail: ({ text, at }, expected, hint = {}) => {
      problems.push({ at, got: text === '' ? 'the end of the expression' : JSON.stringify(text), expected, ...hint })
      return null
    },
  }
  const measure = readMeasure(cursor)
  if (measure === null) return problems
  const selection = isOfWholeRun(measure) ? { of: null, in: null } : readSelection(cursor, { of: calls, in: stages })
  if (selection === null) return problems
  const operator = readOperator(cursor, measure, selection)
  if (operator === null) return problems

  const bound = cursor.next()
  const read = readBound(measure, bound.text)
  if (read === null) cursor.fail(bound, boundText(measure))
  if (cursor.peek() !== '') cursor.fail(cursor.next(), 'the end of the expression')
  if (read === null || problems.length > 0) return problems
  return { ...read, call: selection.of, stage: selection.in, operator }
}

type Cursor = {
  /** The next word; empty at the end. */
  readonly peek: () => string
  readonly next: () => Token
  /** Notes a problem and gives null, for the reader to return. */
  readonly fail: (token: Token, expected: string, hint?: { readonly hint?: string }) => null
}

function readMeasure({ next, fail }: Cursor): MeasureDraft | null {
  const token = next()
  const aggregate = readAggregate(token.text)
  if (aggregate === 'no percentile') return fail(token, 'a percentile above 0 and below 100, such as p(95)')
  if (aggregate !== null) {
    const word = next()
    const timing = timings.find(each => each === word.text)
    if (timing !== undefined) return { kind: 'timing', timing, of: aggregate }
    return fail(word, `a time: ${oneOf(timings)}`, nearest(word.text, timings))
  }
  if (token.text === 'credits' || token.text === 'spend' || token.text === 'capacity') return { kind: token.text }
  const count = readCount(token.text)
  if (count !== null) return { kind: 'count', count }
  const timing = timings.find(each => each === token.text)
  const hint = timing === undefined ? nearest(token.text, measureWords) : { hint: `did you mean "p(95) ${timing}"?` }
  return fail(token, measureText, hint)
}

type Selection = { of: string | null; in: string | null }

/** `of` a call, then `in` a stage, each if it is there. A name that is none is noted, and the reading goes on. */
function readSelection(cursor: Cursor, names: Readonly<Record<'of' | 'in', readonly string[]>>): Selection | null {
  const selection: Selection = { of: null, in: null }
  for (const word of ['of', 'in'] as const) {
    if (cursor.peek() !== word) continue
    cursor.next()
    const name = cursor.next()
    const what = word === 'of' ? 'the name of a call' : 'the name of a stage'
    if (names[word].includes(name.text)) selection[word] = name.text
    else if (['', 'in', ...operators].includes(name.text)) return cursor.fail(name, what)
    else cursor.fail(name, unknownWord(name.text, names[word], what).expected, nearest(name.text, names[word]))
  }
  return selection
}

function readOperator({ next, fail }: Cursor, measure: MeasureDraft, selection: Selection): Operator | null {
  const token = next()
  const operator = operators.find(each => each === token.text)
  if (operator !== undefined) return operator
  if (isOfWholeRun(measure)) {
    const isSelection = token.text === 'of' || token.text === 'in'
    const hint = isSelection ? { hint: 'this measure is known for the whole run only' } : {}
    return fail(token, `one of ${oneOf(operators)}`, hint)
  }
  const before = selection.in !== null ? '' : selection.of !== null ? '"in" or ' : '"of", "in" or '
  const hint = token.text === '=' ? { hint: 'did you mean "=="?' } : {}
  return fail(token, `${before}one of ${oneOf(operators)}`, hint)
}

function readAggregate(text: string): Aggregate | 'no percentile' | null {
  if (text === 'mean' || text === 'min' || text === 'max') return { kind: text }
  const percent = /^p\((.*)\)$/.exec(text)?.[1]
  if (percent === undefined) return null
  const value = /^\d+(\.\d+)?$/.test(percent) ? Number(percent) : 0
  return value > 0 && value < 100 ? { kind: 'percentile', percent: value } : 'no percentile'
}

function readCount(text: string): Count | null {
  const status = /^status\(([1-5]\d\d)\)$/.exec(text)?.[1]
  if (status !== undefined) return { kind: 'status', status: Number(status) }
  const kind = plainCounts.find(each => each === text)
  return kind === undefined ? null : { kind }
}

type Bounded = { readonly measure: Measure; readonly bound: number }

function readBound(measure: MeasureDraft, text: string): Bounded | null {
  const bounded = (bound: number | null, of: Measure = measure) => (bound === null ? null : { measure: of, bound })
  switch (measure.kind) {
    case 'timing':
      return bounded(parseDuration(text))
    case 'credits':
      return bounded(readWhole(text))
    case 'capacity':
      return bounded(perSecondOf(text))
    case 'spend': {
      const amount = text.startsWith('$') ? parseUsd(text) : null
      return bounded(amount === null ? null : Number(amount))
    }
    case 'count': {
      const perSecond = perSecondOf(text)
      return (
        bounded(readWhole(text)) ??
        bounded(parsePercent(text), { kind: 'ratio', count: measure.count }) ??
        bounded(perSecond, { kind: 'per-second', count: measure.count })
      )
    }
  }
}

/** What judges and bills add up is not told apart by call or by stage. */
const isOfWholeRun = (measure: MeasureDraft): boolean =>
  measure.kind === 'credits' || measure.kind === 'spend' || (measure.kind === 'count' && totals.has(measure.count.kind))
const totals: ReadonlySet<string> = new Set(['violations', 'discrepancies', 'unexpected-429'])

function perSecondOf(text: string): number | null {
  const rate = parseRate(text)
  return rate?.kind === 'absolute' ? rate.perSecond : null
}

const readWhole = (text: string): number | null =>
  /^\d+$/.test(text) && Number.isSafeInteger(Number(text)) ? Number(text) : null

function boundText(measure: MeasureDraft): string {
  const texts = {
    timing: 'a duration such as 400ms',
    count: 'a count such as 0, 1% or 5/s',
    capacity: 'a rate such as 50/s',
    credits: 'a whole number of credits',
    spend: 'an amount such as $0.25',
  }
  return texts[measure.kind]
}
