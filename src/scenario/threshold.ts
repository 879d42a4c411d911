import { z } from 'zod'
import { type DeepReadonly, ownMember } from '../lib/json.ts'
import { whole } from '../lib/schemas.ts'
import { nearest, oneOf, unknownWord } from '../lib/usage-error.ts'
import { durationHint, parseDuration, parsePercent, parseRate, parseUsd } from './units.ts'

export const timings = ['latency', 'service-time', 'ttft', 'ttfct', 'tpot', 'itl', 'icl', 'lateness'] as const
export type Timing = (typeof timings)[number]

/** What each timing measures. docs/measurement.md has the formulas. */
export const timingMeanings: Readonly<Record<Timing, string>> = {
  latency: 'Time from the instant at which the request was due to the last byte of its response.',
  'service-time': 'Time from the send to the last byte of the response.',
  ttft: 'Time to first token: from the send to the first token of a stream.',
  ttfct: 'Time to first content token: from the send to the first token that is not reasoning.',
  tpot: 'Time per output token after the first one.',
  itl: 'Inter-token latency: gaps between tokens, of streams with one token per chunk.',
  icl: 'Inter-chunk latency: gaps between chunks that hold tokens.',
  lateness: 'Delay of the send, which Turnpike itself causes.',
}

/**
 * What holds of a count: `of-due`: it is a part of the requests that were due, sent or not · `of-run`: it is known for the
 * whole run only · `of-responses`: it says how many requests were answered as they should · `judged`: judges decide it, and
 * may leave some open · `harm`: it should be 0 · `grows-with-load`: a higher rate has more of it · `held-back`: requests
 * that Turnpike holds back may have been some · `only-grows`: it never becomes less during a run, beside other counts.
 */
export type CountTrait =
  | 'of-due'
  | 'of-run'
  | 'of-responses'
  | 'judged'
  | 'harm'
  | 'grows-with-load'
  | 'held-back'
  | 'only-grows'

const countTraits = {
  sent: ['of-due', 'grows-with-load', 'held-back'],
  answered: ['of-responses', 'grows-with-load', 'held-back'],
  good: ['of-due', 'of-responses', 'grows-with-load', 'held-back'],
  failed: ['of-responses', 'harm'],
  incomplete: ['harm'],
  dropped: ['of-due', 'harm'],
  blocked: ['judged', 'harm', 'held-back', 'only-grows'],
  violations: ['of-run', 'judged', 'harm', 'only-grows'],
  discrepancies: ['of-run', 'judged', 'harm', 'only-grows'],
  'unexpected-429': ['of-run', 'judged', 'harm', 'only-grows'],
  status: ['of-responses', 'grows-with-load', 'held-back', 'only-grows'],
} as const satisfies Readonly<Record<string, readonly CountTrait[]>>
type CountName = keyof typeof countTraits

export type CountWith<Trait extends CountTrait> = {
  [Name in CountName]: Trait extends (typeof countTraits)[Name][number] ? Name : never
}[CountName]

export function hasTrait<Trait extends CountTrait>(count: CountName, trait: Trait): count is CountWith<Trait> {
  const traits: readonly CountTrait[] = countTraits[count]
  return traits.includes(trait)
}

const isPlain = (name: CountName): name is Exclude<CountName, 'status'> => name !== 'status'
export const plainCounts = (Object.keys(countTraits) as readonly CountName[]).filter(isPlain)

export const operators = ['<', '<=', '>', '>=', '==', '!='] as const
export type Operator = (typeof operators)[number]

const aggregateSchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('percentile'), percent: z.number().positive().lt(100) }),
  z.object({ kind: z.enum(['mean', 'min', 'max']) }),
])
export type Aggregate = DeepReadonly<z.output<typeof aggregateSchema>>

const countSchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.enum(plainCounts) }),
  /** Responses with this HTTP status. */
  z.object({ kind: z.literal('status'), status: whole }),
])
export type Count = DeepReadonly<z.output<typeof countSchema>>

const measureSchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('timing'), timing: z.enum(timings), of: aggregateSchema }),
  z.object({ kind: z.enum(['count', 'ratio', 'per-second']), count: countSchema }),
  z.object({ kind: z.literal('capacity') }),
  z.object({ kind: z.literal('credits') }),
  z.object({ kind: z.literal('spend') }),
])
export type Measure = DeepReadonly<z.output<typeof measureSchema>>

/**
 * A condition on the summary of a run. As a person writes it:
 *
 *   threshold := measure [ "of" call ] [ "in" stage ] operator bound
 *   measure   := ( "p(" number ")" | "mean" | "min" | "max" ) timing     bound: a duration, `400ms`
 *              | count                                                  bound: `0`, `1%` (of the requests sent) or `5/s`
 *              | "credits"                                              bound: a whole number
 *              | "capacity"                                             bound: a rate, `50/s`
 *              | "spend"                                                bound: dollars, `$0.25`
 *   timing    := "latency" | "service-time" | "ttft" | "ttfct" | "tpot" | "itl" | "icl" | "lateness"
 *   count     := "sent" | "answered" | "good" | "failed" | "incomplete" | "dropped" | "blocked" | "status(" number ")"
 *              | "violations" | "discrepancies" | "unexpected-429"
 *   operator  := "<" | "<=" | ">" | ">=" | "==" | "!="
 *
 * Violations, discrepancies, unexpected-429, credits and spend are known only for the whole run, so they take no "of" and
 * no "in". Blocked counts the responses of the abuse block with any status; it takes only "in". A capacity belongs to a
 * capacity stage; with "of", it is the part of one call.
 */
export const thresholdSchema = z.object({
  /** The text in the scenario. */
  expression: z.string(),
  why: z.string(),
  measure: measureSchema,
  /** The call that it selects; null for all of them. */
  call: z.string().nullable(),
  /** The stage that it selects; null for the whole run. */
  stage: z.string().nullable(),
  operator: z.enum(operators),
  /** In the unit of the measure: milliseconds, a count, a ratio (1 is 100 %), a count per second, credits or USD. */
  bound: z.number(),
})
export type Threshold = DeepReadonly<z.output<typeof thresholdSchema>>

export type ParsedThreshold = Omit<Threshold, 'expression' | 'why'>

/** A mistake in an expression; `at` is its index in the text. */
type ThresholdMistake = {
  readonly at: number
  readonly got: string
  readonly expected: string
  readonly hint?: string
}

type Token = { readonly text: string; readonly at: number }

/** A measure before its bound, which decides whether a count is a number, a ratio or a rate. */
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

/** Parses `expression`, given the names of all calls and stages: the threshold or its mistakes. */
export function parseThreshold(
  expression: string,
  calls: readonly string[],
  stages: readonly string[],
): ParsedThreshold | readonly ThresholdMistake[] {
  const tokens = [...expression.matchAll(/[<>=!]+|[^\s<>=!]+/g)].map(({ 0: text, index }) => ({ text, at: index }))
  const mistakes: ThresholdMistake[] = []
  const cursor: Cursor = {
    peek: () => tokens[0]?.text ?? '',
    next: () => tokens.shift() ?? { text: '', at: expression.trimEnd().length },
    fail: ({ text, at }, expected, hint = {}) => {
      mistakes.push({ at, got: text === '' ? 'the end of the expression' : JSON.stringify(text), expected, ...hint })
      return null
    },
  }
  const measure = readMeasure(cursor)
  if (measure === null) return mistakes
  const selection = isOfWholeRun(measure) ? { of: null, in: null } : readSelection(cursor, { of: calls, in: stages })
  if (selection === null) return mistakes
  if (selection.of !== null && measure.kind === 'count' && measure.count.kind === 'blocked') {
    const at = expression.indexOf(' of ') + 1
    mistakes.push({ at, got: '"of"', expected: '"in" or an operator', hint: 'blocked is known by stage, not by call' })
    return mistakes
  }
  const operator = readOperator(cursor, measure, selection)
  if (operator === null) return mistakes

  const bound = cursor.next()
  const read = readBound(measure, bound.text)
  if (read === null) cursor.fail(bound, boundText(measure), measure.kind === 'timing' ? durationHint(bound.text) : {})
  else if (read.measure.kind === 'ratio' && read.bound > 1) cursor.fail(bound, 'at most 100%')
  if (cursor.peek() !== '') cursor.fail(cursor.next(), 'the end of the expression')
  if (read === null || mistakes.length > 0) return mistakes
  return { ...read, call: selection.of, stage: selection.in, operator }
}

type Cursor = {
  /** The next word; empty at the end. */
  readonly peek: () => string
  readonly next: () => Token
  /** Records a mistake and returns null. */
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
    return fail(word, `a timing: ${oneOf(timings)}`, nearest(word.text, timings))
  }
  if (token.text === 'credits' || token.text === 'spend' || token.text === 'capacity') return { kind: token.text }
  const count = readCount(token.text)
  if (count !== null) return { kind: 'count', count }
  const timing = timings.find(each => each === token.text)
  const usual = usualWord(token.text) ?? (timing === undefined ? undefined : `p(95) ${timing}`)
  return fail(token, measureText, usual === undefined ? nearest(token.text, measureWords) : { hint: didYouMean(usual) })
}

const didYouMean = (words: string): string => `did you mean "${words}"?`

/** The word of this grammar for a word of other tools. */
function usualWord(text: string): string | null {
  const percent = /^p(\d+(?:\.\d+)?)$/i.exec(text)?.[1]
  if (percent !== undefined) return `p(${percent})`
  return ownMember(wordsOfOthers, text.toLowerCase())
}

const wordsOfOthers: Readonly<Record<string, string>> = {
  ...{ error: 'failed', errors: 'failed', error_rate: 'failed', http_req_failed: 'failed', failures: 'failed' },
  ...{ avg: 'mean', average: 'mean', med: 'p(50)', median: 'p(50)', cost: 'spend', http_req_duration: 'p(95) latency' },
}

type Selection = { of: string | null; in: string | null }

/** Reads an optional `of` with a call, then an optional `in` with a stage. Goes on after an unknown name. */
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
    const whole = isSelection ? { hint: 'this measure applies to the whole run only' } : {}
    return fail(token, `one of ${oneOf(operators)}`, { ...whole, ...operatorHint(token.text) })
  }
  const before = selection.in !== null ? '' : selection.of !== null ? '"in" or ' : '"of", "in" or '
  const hint = operatorHint(token.text)
  return fail(token, `${before}one of ${oneOf(operators)}`, hint)
}

function operatorHint(text: string): { readonly hint?: string } {
  const meant = { '=': '==', '===': '==', '=<': '<=', '=>': '>=', '<>': '!=' }[text]
  return meant === undefined ? {} : { hint: didYouMean(meant) }
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

/** Some measures are not known by call or by stage. */
const isOfWholeRun = (measure: MeasureDraft): boolean =>
  measure.kind === 'credits' ||
  measure.kind === 'spend' ||
  (measure.kind === 'count' && hasTrait(measure.count.kind, 'of-run'))

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
