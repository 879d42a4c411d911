import { z } from 'zod'
import { memoizeByObject } from '../../lib/memoize.ts'
import { isDecimal } from '../../lib/numbers.ts'
import { headerName, keyed, open } from '../fields.ts'
import { type LimitForm, type LimitFormName, limitFormNames, limitForms } from './forms.ts'

const counted = ['requests', 'tokens'] as const
export const limitParts = ['limit', 'remaining', 'reset'] as const
export type LimitPart = (typeof limitParts)[number]

/** The forms that a part of a statement may have: a count, or for a reset a time. */
export const formsThatState = (part: LimitPart): readonly LimitFormName[] =>
  limitFormNames.filter(name => (limitForms[name].states === 'count') === (part !== 'reset'))

/** What is stated of one limit, and of what it counts. */
type StatementName = `${(typeof counted)[number]}-${LimitPart}`

/** Each number that limits may state: of what it counts, and which. */
export const limitStatements = counted.flatMap(unit =>
  limitParts.map(part => ({ name: `${unit}-${part}` as const, unit, part })),
)
const statementNames = limitStatements.map(({ name }) => name)

/**
 * Where and how a limit states one number. `member`: of a structured field. `policy`: the name of its policy, if a header
 * has several; missing: that of the window of the profile.
 */
export type LimitStatement = {
  readonly header: string
  readonly form: LimitFormName
  readonly member: string | null
  readonly policy?: string
}

export const retryAfterForms = ['seconds', 'http-date', 'ms', 'none'] as const
export type RetryAfterForm = (typeof retryAfterForms)[number]

type Row = readonly [header: string, form: LimitFormName, key?: string]
type Dialect = { readonly [name in StatementName]?: Row } & { readonly retryAfter: RetryAfterForm }

const ofUnit = (name: (unit: string, part: LimitPart) => string, reset: LimitFormName): Omit<Dialect, 'retryAfter'> =>
  Object.fromEntries(
    counted.flatMap(unit =>
      limitParts.map(part => [`${unit}-${part}`, [name(unit, part), part === 'reset' ? reset : 'number']]),
    ),
  )

const ofRequests = (
  prefix: string,
  reset: LimitFormName,
  limit: LimitFormName = 'number',
): Omit<Dialect, 'retryAfter'> => ({
  'requests-limit': [`${prefix}-limit`, limit],
  'requests-remaining': [`${prefix}-remaining`, 'number'],
  'requests-reset': [`${prefix}-reset`, reset],
})

/** The headers of limits that well-known gateways send, each by its own documentation. */
const dialects = {
  openai: { ...ofUnit((unit, part) => `x-ratelimit-${part}-${unit}`, 'duration'), retryAfter: 'seconds' },
  anthropic: { ...ofUnit((unit, part) => `anthropic-ratelimit-${unit}-${part}`, 'date-time'), retryAfter: 'seconds' },
  ietf: {
    'requests-limit': ['ratelimit-policy', 'field-number', 'q'],
    'requests-remaining': ['ratelimit', 'field-number', 'r'],
    'requests-reset': ['ratelimit', 'field-seconds', 't'],
    retryAfter: 'seconds',
  },
  draft7: {
    'requests-limit': ['ratelimit', 'field-number', 'limit'],
    'requests-remaining': ['ratelimit', 'field-number', 'remaining'],
    'requests-reset': ['ratelimit', 'field-seconds', 'reset'],
    retryAfter: 'seconds',
  },
  envoy: { ...ofRequests('x-ratelimit', 'seconds', 'list'), retryAfter: 'none' },
  kong: { ...ofRequests('ratelimit', 'seconds'), retryAfter: 'seconds' },
  litellm: {
    'requests-limit': ['x-ratelimit-api_key-limit-requests', 'number'],
    'requests-remaining': ['x-ratelimit-api_key-remaining-requests', 'number'],
    'tokens-limit': ['x-ratelimit-api_key-limit-tokens', 'number'],
    'tokens-remaining': ['x-ratelimit-api_key-remaining-tokens', 'number'],
    retryAfter: 'seconds',
  },
  github: { ...ofRequests('x-ratelimit', 'unix-seconds'), retryAfter: 'none' },
  openrouter: { ...ofRequests('x-ratelimit', 'unix-milliseconds'), retryAfter: 'none' },
  azure: {
    'requests-remaining': ['x-ratelimit-remaining-requests', 'number'],
    'tokens-remaining': ['x-ratelimit-remaining-tokens', 'number'],
    retryAfter: 'ms',
  },
  none: { retryAfter: 'none' },
} as const satisfies Readonly<Record<string, Dialect>>

export type DialectName = keyof typeof dialects
export const dialectNames = Object.keys(dialects) as [DialectName, ...DialectName[]]

export const limitStatementTerms = z.strictObject({
  header: headerName.describe('the header that states it, in any case'),
  form: z
    .enum(limitFormNames)
    .describe(
      '`number`, `list` (the first number of `10, 10;w=60`) or `field-number` (a structured field) for a count; `seconds`, `field-seconds`, `duration` (`6m0s`), `unix-seconds`, `unix-milliseconds` or `date-time` (RFC 3339) for a reset',
    ),
  member: z
    .string()
    .regex(/^[a-z*][a-z0-9_.*-]{0,63}$/, 'the key of a member of a structured field')
    .nullable()
    .default(null)
    .describe('the member of a structured field that has the number: `r` in `"default";r=50;t=30`'),
})

/** The keys of a profile about the headers of limits. */
export const limitHeaderTerms = {
  dialect: z
    .enum(dialectNames)
    .nullable()
    .meta(
      open(
        `the headers of limits, by who sends them: ${dialectNames.map(name => `\`${name}\``).join(', ')}; \`null\`: those of the document. [What each stands for](other-gateways.md)`,
      ),
    ),
  headers: z
    .partialRecord(z.enum(statementNames), limitStatementTerms.nullable())
    .meta({ ...keyed('statement'), isOpen: true }),
  retryAfter: z
    .enum(retryAfterForms)
    .nullable()
    .meta(
      open(
        'how a 429 states the wait: `seconds` or `http-date` in `Retry-After`, `ms` in `retry-after-ms`, or `none`; `null`: as the dialect has it. The document promises none',
      ),
    ),
}

export type LimitHeaderTerms = z.infer<z.ZodObject<typeof limitHeaderTerms>>
type OwnResets = { readonly requestsReset: LimitFormName; readonly tokensReset: LimitFormName }

/** Where one limit states its numbers; null: it does not state this one. */
export type LimitStatements = Readonly<Record<LimitPart, LimitStatement | null>>

const statementOf = (row: Row | undefined): LimitStatement | null =>
  row === undefined ? null : { header: row[0], form: row[1], member: row[2] ?? null }

/** The headers of limits in a contract: those of its dialect, or of the document, with those of the profile over them. */
export const limitHeadersOf = memoizeByObject((terms: LimitHeaderTerms & OwnResets) => {
  const { dialect, headers, retryAfter, requestsReset, tokensReset } = terms
  const documented: Dialect = {
    ...ofUnit((unit, part) => `x-ratelimit-${part}-${unit}`, requestsReset),
    'tokens-reset': ['x-ratelimit-reset-tokens', tokensReset],
    retryAfter: 'none',
  }
  const base: Dialect = dialect === null ? documented : dialects[dialect]
  const find = (name: StatementName): LimitStatement | null => {
    const own = headers[name]
    if (own === undefined) return statementOf(base[name])
    return own === null ? null : { ...own, header: own.header.toLowerCase() }
  }
  const of = (unit: (typeof counted)[number]): LimitStatements => ({
    limit: find(`${unit}-limit`),
    remaining: find(`${unit}-remaining`),
    reset: find(`${unit}-reset`),
  })
  return {
    /** Whether they are those of the document, which every response to a caller has. */
    isDocumented: dialect === null && retryAfter === null && Object.keys(headers).length === 0,
    requests: of('requests'),
    tokens: of('tokens'),
    retryAfter: retryAfter ?? base.retryAfter,
  }
})

export type LimitHeaders = ReturnType<typeof limitHeadersOf>

type Further = {
  readonly name: string
  readonly counts: string
  readonly headers: { readonly [part in LimitPart]?: z.infer<typeof limitStatementTerms> | null }
}

/**
 * Where a further limit states its numbers: Anthropic's dialect has headers for each kind of tokens, and in a structured
 * field its name is that of its policy.
 */
export function furtherStatements({ dialect }: LimitHeaderTerms, { name, counts, headers }: Further): LimitStatements {
  const find = (part: LimitPart): LimitStatement | null => {
    const own = headers[part]
    if (own === null) return null
    const at = own ?? ofFurther(dialect, counts, part)
    if (at === null) return null
    const isField = at.form === 'field-number' || at.form === 'field-seconds'
    return { ...at, header: at.header.toLowerCase(), ...(isField && { policy: name }) }
  }
  return { limit: find('limit'), remaining: find('remaining'), reset: find('reset') }
}

function ofFurther(dialect: DialectName | null, counts: string, part: LimitPart): LimitStatement | null {
  if (dialect === 'ietf') return statementOf(dialects.ietf[`requests-${part}`])
  if (dialect !== 'anthropic' || !/^(?:input|output)-tokens$/.test(counts)) return null
  return statementOf([`anthropic-ratelimit-${counts}-${part}`, part === 'reset' ? 'date-time' : 'number'])
}

type Headers = Readonly<Record<string, string>>

/** The number that a statement has in these headers, a time in milliseconds; null: none of its form. */
export function readStatement(at: LimitStatement | null, headers: Headers): number | null {
  const text = at === null ? undefined : headers[at.header]
  return at === null || text === undefined ? null : readHeaderText(at, text)
}

/** The number that a statement has in the text of its header. */
export const readHeaderText = ({ form, member }: LimitStatement, text: string): number | null =>
  (limitForms[form] as LimitForm).read(text, member ?? '')

/** What a statement must look like. */
export const expectedForm = ({ form, member }: LimitStatement): string =>
  member === null ? limitForms[form].expected : `${limitForms[form].expected} ${member}`

/** Whether a limit states how long until its reset, and not when that is. Then no clock but our own matters. */
export const statesWait = ({ reset }: LimitStatements): boolean =>
  reset !== null && limitForms[reset.form].states === 'wait'

/** The header that states the wait of a 429; null: none does. */
export const retryAfterHeader = ({ retryAfter }: Pick<LimitHeaders, 'retryAfter'>): string | null =>
  retryAfter === 'none' ? null : retryAfter === 'ms' ? 'retry-after-ms' : 'retry-after'

/** The wait that a 429 states, in milliseconds; null: it states none of the form. A date counts from the `Date`. */
export function statedWait(limits: Pick<LimitHeaders, 'retryAfter'>, headers: Headers): number | null {
  const text = headers[retryAfterHeader(limits) ?? '']?.trim()
  if (text === undefined) return null
  if (limits.retryAfter !== 'http-date')
    return isDecimal(text) ? Number(text) * (limits.retryAfter === 'ms' ? 1 : 1_000) : null
  const waitMs = / GMT$/.test(text) ? Date.parse(text) - Date.parse(headers.date ?? '') : Number.NaN
  return Number.isNaN(waitMs) ? null : waitMs
}

/** Reports statements whose form they cannot have, and headers that two statements share. */
export function refineLimitHeaders(terms: LimitHeaderTerms & OwnResets, context: z.RefinementCtx): void {
  const report = (path: readonly string[], message: string) =>
    context.addIssue({ code: 'custom', path: ['headers', ...path], message })
  for (const [name, own] of Object.entries(terms.headers)) {
    if (!own) continue
    const part = limitParts.find(each => name.endsWith(each)) ?? 'limit'
    const allowed = formsThatState(part)
    if (!allowed.includes(own.form)) report([name, 'form'], `a form of the statement ${name}: ${allowed.join(', ')}`)
    const isField = own.form.startsWith('field-')
    if (isField && own.member === null) report([name], `a member, because the form is ${own.form}`)
    if (!isField && own.member !== null) report([name, 'member'], `no member, because the form is ${own.form}`)
  }
  const all = limitHeadersOf({ ...terms })
  const seen = new Map<string, string>()
  for (const { name, unit, part } of limitStatements) {
    const at = all[unit][part]
    if (at === null) continue
    const place = JSON.stringify([at.header, at.member])
    const other = seen.get(place)
    const mine = terms.headers[name] ? name : other
    if (other !== undefined && mine !== undefined)
      report([mine, 'header'], `a header of its own: ${other} and ${name} are both in ${at.header}`)
    seen.set(place, name)
  }
}
