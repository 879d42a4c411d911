import { memoizeByObject, memoizeLast } from '../lib/memoize.ts'
import { isNumber } from '../lib/numbers.ts'
import type { JudgeName } from './clause.ts'
import type { ClausesOf } from './clauses.ts'
import type { Contract } from './contract.ts'

/** Headers that state money, by what they state. The prefix of the service's own headers precedes all but the last. */
export const moneyHeaderNames = {
  usdBalance: 'balance-usd',
  diemBalance: 'balance-diem',
  rpcCredits: 'rpc-credits',
  rpcCostUsd: 'rpc-cost-usd',
} as const

/** The USD balance of a wallet after a request. */
export const balanceRemainingHeader = 'x-balance-remaining'

/** The headers that state money, with the prefix of a contract. */
export const moneyHeadersOf = memoizeByObject(({ headerPrefix }: Pick<Contract, 'headerPrefix'>) => ({
  usdBalance: `${headerPrefix}${moneyHeaderNames.usdBalance}`,
  diemBalance: `${headerPrefix}${moneyHeaderNames.diemBalance}`,
  rpcCredits: `${headerPrefix}${moneyHeaderNames.rpcCredits}`,
  rpcCostUsd: `${headerPrefix}${moneyHeaderNames.rpcCostUsd}`,
}))

const day = String.raw`\d{4}(-?)(0[1-9]|1[0-2])\1(0[1-9]|[12]\d|3[01])`
const time = String.raw`T([01]\d|2[0-4])(:?[0-5]\d(:?[0-5]\d|:?60)?)?([.,]\d+)?(Z|[+-]\d{2}(:?\d{2})?)?`
const httpDate =
  /^(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d{2} (Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) \d{4} \d{2}:\d{2}:\d{2} GMT$/
/** Whether the date has hyphens is open, and so is the number of time digits; hours and minutes are the minimum. */
const version = new RegExp(String.raw`^${day}\.([01]\d|2[0-3])[0-5]\d([0-5]\d+)?$`)
const instant = new RegExp(`^${day}${time}$`)
/** Optionally followed by a time. */
const date = new RegExp(`^${day}(${time})?$`)

/** Whether the value of a header has its form, the form in words, and a value without this form. */
export type HeaderForm = {
  readonly fits: (value: string) => boolean
  readonly expected: string
  readonly wrong: string
}

const filled = (expected: string): HeaderForm => ({ fits: value => value !== '', expected, wrong: '' })
/** Consecutive responses have the same values, so the last result is reused. */
const matching = (pattern: RegExp, expected: string, wrong: string): HeaderForm => ({
  fits: memoizeLast((value: string) => pattern.test(value)),
  expected,
  wrong,
})
const boolean = matching(/^(true|false)$/, 'true or false', '0')
const amount: HeaderForm = {
  fits: value => isNumber(value.replace(/^-/, '')),
  expected: 'a number',
  wrong: '$1.00',
}
export const isoDate = matching(date, 'a date in ISO 8601', 'June 30, 2027')

/**
 * The rule for one header, `name` in lower case. `on` which responses it must be: every one, the successes of inference,
 * or those to a caller with an account; `present`: its form is judged where it is. The check, the reference service and
 * its lies read these rules.
 */
export type HeaderRule<Clause> = {
  readonly clause: Clause
  readonly name: string
  readonly on: 'every' | 'inference' | 'account' | 'present'
  readonly form: HeaderForm
  /** What the reference service sends. null: a value that it computes, or a header that it sends on some replies only. */
  readonly sample: string | null
}

type Row<Clause> = readonly [
  clause: Clause,
  name: string,
  on: HeaderRule<string>['on'],
  form: HeaderForm,
  sample?: string | null,
]

type Rows<Judge extends JudgeName> = readonly Row<ClausesOf<Judge>>[]

/** `{prefix}` stands for the prefix of the service's own headers. */
const ofAnswers = [
  ['header.content-type', 'content-type', 'every', filled('a media type'), 'application/json'],
  ['header.date', 'date', 'every', matching(httpDate, 'an HTTP date', '2026-08-01T12:00:00.000Z')],
  ['header.cf-ray', 'cf-ray', 'every', filled('a request id')],
  ['header.version', '{prefix}version', 'every', filled('a revision'), '20260801.120000'],
  ['header.version.format', '{prefix}version', 'present', matching(version, 'a date, a dot and time digits', '1.42.0')],
  ['header.model-id', '{prefix}model-id', 'inference', filled('the model used')],
  ['header.model-name', '{prefix}model-name', 'inference', filled('a display name')],
  ['header.balance.usd', `{prefix}${moneyHeaderNames.usdBalance}`, 'account', amount],
  ['header.balance.diem', `{prefix}${moneyHeaderNames.diemBalance}`, 'account', amount],
] as const satisfies Rows<'headers'>

const optional = [
  ['header.booleans', '{prefix}is-blurred', 'present', boolean],
  ['header.booleans', '{prefix}is-content-violation', 'present', boolean],
  ['header.booleans', '{prefix}is-adult-model-content-violation', 'present', boolean],
  ['header.booleans', '{prefix}contains-minor', 'present', boolean],
  ['header.booleans', 'x-auth-refreshed', 'present', boolean],
  ['header.timestamp', '{prefix}timestamp', 'present', matching(instant, 'an instant in ISO 8601', '1785585600000')],
  ['header.host-name', '{prefix}host-name', 'present', filled('a text')],
  ['header.model-router', '{prefix}model-router', 'present', filled('a text')],
  ['header.control-instance', '{prefix}control-instance', 'present', filled('a text')],
  ['header.retry-count', 'x-retry-count', 'present', matching(/^\d+$/, 'a whole number', 'once')],
] as const satisfies Rows<'conditional-headers'>

const ruleOf = <Clause>([clause, name, on, form, sample = null]: Row<Clause>): HeaderRule<Clause> => {
  return { clause, name, on, form, sample }
}

/** The clauses about the headers in the tables above. */
export type HeaderClause = (typeof ofAnswers | typeof optional)[number][0]

/** All rules, with `{prefix}` in the names. */
export const headerRules: readonly HeaderRule<HeaderClause>[] = [...ofAnswers, ...optional].map(row =>
  ruleOf<HeaderClause>(row),
)

/** The name of a header in a contract: `{prefix}` stands for the prefix of the service's own headers. */
export const fullHeaderName = (name: string, { headerPrefix }: Pick<Contract, 'headerPrefix'>): string =>
  name.replace('{prefix}', headerPrefix)

const rulesIn = <Clause>(rows: readonly Row<Clause>[], contract: Contract): readonly HeaderRule<Clause>[] =>
  rows.map(row => ruleOf(row)).map(rule => ({ ...rule, name: fullHeaderName(rule.name, contract) }))

/** The rules by the judge of their clauses. */
export const headerRulesOf = memoizeByObject((contract: Contract) => ({
  headers: rulesIn<ClausesOf<'headers'>>(ofAnswers, contract),
  'conditional-headers': rulesIn<ClausesOf<'conditional-headers'>>(optional, contract),
}))
