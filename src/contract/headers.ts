import { memoizeByObject, memoizeLast } from '../lib/memoize.ts'
import { isDecimal } from '../lib/numbers.ts'
import type { JudgeName } from './clause.ts'
import type { ClausesOf } from './clauses.ts'
import type { Contract } from './contract.ts'

const day = String.raw`\d{4}(-?)(0[1-9]|1[0-2])\1(0[1-9]|[12]\d|3[01])`
const time = String.raw`T([01]\d|2[0-4])(:?[0-5]\d(:?[0-5]\d|:?60)?)?([.,]\d+)?(Z|[+-]\d{2}(:?\d{2})?)?`
const httpDate =
  /^(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d{2} (Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) \d{4} \d{2}:\d{2}:\d{2} GMT$/
/** The number of time digits is open; hours and minutes are the minimum. */
const version = /^\d{4}(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])\.([01]\d|2[0-3])[0-5]\d([0-5]\d+)?$/
const instant = new RegExp(`^${day}${time}$`)
/** Optionally followed by a time. */
const date = new RegExp(`^${day}(${time})?$`)

/** Whether the value of a header has its form, and the form in words. */
export type HeaderForm = { readonly fits: (value: string) => boolean; readonly expected: string }

const filled = (expected: string): HeaderForm => ({ fits: value => value !== '', expected })
/** Consecutive responses have the same values, so the last result is reused. */
const matching = (pattern: RegExp, expected: string): HeaderForm => ({
  fits: memoizeLast((value: string) => pattern.test(value)),
  expected,
})
const boolean = matching(/^(true|false)$/, 'true or false')
const amount: HeaderForm = { fits: value => isDecimal(value.replace(/^-/, '')), expected: 'a decimal string' }
export const isoDate = matching(date, 'a date in ISO 8601')

/**
 * The rule for one header, `name` in lower case. `on` which responses it must be: every one, the successes of inference,
 * or those to a caller with an account; `present`: its form is judged where it is.
 */
export type HeaderRule<Clause> = {
  readonly clause: Clause
  readonly name: string
  readonly on: 'every' | 'inference' | 'account' | 'present'
  readonly form: HeaderForm
}

type Rows<Judge extends JudgeName> = readonly (readonly [
  clause: ClausesOf<Judge>,
  name: string,
  on: HeaderRule<string>['on'],
  form: HeaderForm,
])[]

/** `{prefix}` stands for the prefix of the service's own headers. */
const ofAnswers: Rows<'headers'> = [
  ['header.content-type', 'content-type', 'every', filled('a media type')],
  ['header.date', 'date', 'every', matching(httpDate, 'an HTTP date')],
  ['header.cf-ray', 'cf-ray', 'every', filled('a request id')],
  ['header.version', '{prefix}version', 'every', filled('a revision')],
  ['header.version.format', '{prefix}version', 'present', matching(version, 'YYYYMMDD.HHMMSS')],
  ['header.model-id', '{prefix}model-id', 'inference', filled('the model used')],
  ['header.model-name', '{prefix}model-name', 'inference', filled('a display name')],
  ['header.balance.usd', '{prefix}balance-usd', 'account', amount],
  ['header.balance.diem', '{prefix}balance-diem', 'account', amount],
]
const optional: Rows<'conditional-headers'> = [
  ['header.booleans', '{prefix}is-blurred', 'present', boolean],
  ['header.booleans', '{prefix}is-content-violation', 'present', boolean],
  ['header.booleans', '{prefix}is-adult-model-content-violation', 'present', boolean],
  ['header.booleans', '{prefix}contains-minor', 'present', boolean],
  ['header.booleans', 'x-auth-refreshed', 'present', boolean],
  ['header.timestamp', '{prefix}timestamp', 'present', matching(instant, 'an instant in ISO 8601')],
  ['header.host-name', '{prefix}host-name', 'present', filled('a text')],
  ['header.model-router', '{prefix}model-router', 'present', filled('a text')],
  ['header.control-instance', '{prefix}control-instance', 'present', filled('a text')],
  ['header.retry-count', 'x-retry-count', 'present', matching(/^\d+$/, 'a whole number')],
]

const rulesIn = <Judge extends JudgeName>(rows: Rows<Judge>, prefix: string): readonly HeaderRule<ClausesOf<Judge>>[] =>
  rows.map(([clause, name, on, form]) => ({ clause, name: name.replace('{prefix}', prefix), on, form }))

/** The rules by the judge of their clauses. */
export const headerRulesOf = memoizeByObject(({ headerPrefix }: Contract) => ({
  headers: rulesIn(ofAnswers, headerPrefix),
  'conditional-headers': rulesIn(optional, headerPrefix),
}))
