import { nearest, oneOf } from '../lib/usage-error.ts'
import { unknownWord } from './complaint.ts'
import {
  type Aggregate,
  type Count,
  type Measure,
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
  | Extract<Measure, { kind: 'timing' | 'credits' | 'spend' }>
  | { readonly kind: 'count'; readonly count: Count }

const measureWords = ['p(95)', 'mean', 'min', 'max', ...plainCounts, 'status(429)', 'credits', 'spend'] as const
const measureText = 'a measure such as p(95) ttft, mean latency, failed, status(429), credits or spend'

/** The threshold that `expression` states about `calls` and `stages`, or what is wrong with it. */
export function parseThreshold(
  expression: string,
  calls: readonly string[],
  stages: readonly string[],
): ParsedThreshold | readonly Problem[] {
  const tokens = [...expression.matchAll(/[<>=!]+|[^\s<>=!]+/g)].map(({ 0: text, index }) => ({ text, at: index }))
  const problems: Problem[] = []
  const next = (): Token => tokens.shift() ?? { text: '', at: expression.trimEnd().length }
  const fail = ({ text, at }: Token, expected: string, hint: { readonly hint?: string } = {}) => {
    problems.push({ at, got: text === '' ? 'the end of the expression' : JSON.stringify(text), expected, ...hint })
    return problems
  }

  const measureAt = tokens[0]
  const measure = readMeasure(next, fail)
  if (measure === null || measureAt === undefined) return problems

  const names = { of: calls, in: stages } as const
  const named: { of: string | null; in: string | null } = { of: null, in: null }
  for (const word of ['of', 'in'] as const) {
    if (tokens[0]?.text !== word) continue
    next()
    const name = next()
    named[word] = name.text
    const what = word === 'of' ? 'the name of a call' : 'the name of a stage'
    if (name.text === '') return fail(name, what)
    if (!names[word].includes(name.text)) problems.push({ at: name.at, ...unknownWord(name.text, names[word], what) })
  }

  const operator = next()
  const known = operators.find(each => each === operator.text)
  if (known === undefined) {
    const before = named.of === null && named.in === null ? '"of", "in" or ' : named.in === null ? '"in" or ' : ''
    return fail(
      operator,
      `${before}one of ${oneOf(operators)}`,
      operator.text === '=' ? { hint: 'did you mean "=="?' } : {},
    )
  }
  const bound = next()
  const read = readBound(measure, bound.text)
  if (read === null) fail(bound, boundText(measure))
  const rest = tokens[0]
  if (rest !== undefined) fail(rest, 'the end of the expression')
  if (read === null || problems.length > 0) return problems
  return { ...read, call: named.of, stage: named.in, operator: known }
}

type Fail = (token: Token, expected: string, hint?: { readonly hint?: string }) => unknown

function readMeasure(next: () => Token, fail: Fail): MeasureDraft | null {
  const token = next()
  const aggregate = readAggregate(token.text)
  if (aggregate === 'no percentile') {
    fail(token, 'a percentile above 0 and below 100, such as p(95)')
    return null
  }
  if (aggregate !== null) {
    const word = next()
    const timing = timings.find(each => each === word.text)
    if (timing !== undefined) return { kind: 'timing', timing, of: aggregate }
    fail(word, `a time: ${oneOf(timings)}`, nearest(word.text, timings))
    return null
  }
  if (token.text === 'credits' || token.text === 'spend') return { kind: token.text }
  const count = readCount(token.text)
  if (count !== null) return { kind: 'count', count }
  const timing = timings.find(each => each === token.text)
  const hint = timing === undefined ? nearest(token.text, measureWords) : { hint: `did you mean "p(95) ${timing}"?` }
  fail(token, measureText, hint)
  return null
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
    case 'spend': {
      const amount = text.startsWith('$') ? parseUsd(text) : null
      return bounded(amount === null ? null : Number(amount))
    }
    case 'count': {
      const rate = parseRate(text)
      const perSecond = rate?.kind === 'absolute' ? rate.perSecond : null
      return (
        bounded(readWhole(text)) ??
        bounded(parsePercent(text), { kind: 'ratio', count: measure.count }) ??
        bounded(perSecond, { kind: 'per-second', count: measure.count })
      )
    }
  }
}

const readWhole = (text: string): number | null =>
  /^\d+$/.test(text) && Number.isSafeInteger(Number(text)) ? Number(text) : null

function boundText(measure: MeasureDraft): string {
  const texts = {
    timing: 'a duration such as 400ms',
    count: 'a count such as 0, 1% or 5/s',
    credits: 'a whole number of credits',
    spend: 'an amount such as $0.25',
  }
  return texts[measure.kind]
}
