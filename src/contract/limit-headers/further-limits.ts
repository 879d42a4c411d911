import { z } from 'zod'
import { ownMember } from '../../lib/json.ts'
import { memoizeByObject } from '../../lib/memoize.ts'
import { keyed, milliseconds, positiveInt } from '../fields.ts'
import {
  formsThatState,
  furtherStatements,
  type LimitHeaderTerms,
  type LimitStatement,
  type LimitStatements,
  limitParts,
  limitStatementTerms,
} from './limit-headers.ts'

/** A fixed window begins with its first request, an aligned one at a multiple of its length. */
export const limiterAlgorithms = [
  'fixed-window',
  'aligned-window',
  'sliding-log',
  'sliding-counter',
  'token-bucket',
  'gcra',
] as const
export type LimiterAlgorithm = (typeof limiterAlgorithms)[number]

/** What a further limit may count. */
export const furtherUnits = ['requests', 'tokens', 'input-tokens', 'output-tokens'] as const
export type FurtherUnit = (typeof furtherUnits)[number]

const furtherLimit = z.strictObject({
  counts: z
    .enum(furtherUnits)
    .describe(
      'what a limit beside those of requests and tokens counts: `requests`, `tokens`, `input-tokens` or `output-tokens`',
    ),
  amount: positiveInt.describe('how many of them, or of their units, a window has'),
  units: z
    .record(
      z.string(),
      positiveInt.describe(
        'how many units an RPC call of this method counts, alone and in a batch; `default`: of every other method; without `units`, each request counts as one',
      ),
    )
    .refine(units => Object.hasOwn(units, 'default'), 'also the units of default, for every other method')
    .meta(keyed('method'))
    .nullable()
    .default(null),
  windowMs: milliseconds.default(60_000).describe('the length of its window in milliseconds'),
  algorithm: z
    .enum(limiterAlgorithms)
    .nullable()
    .default(null)
    .describe('its algorithm, as `limits.algorithm`; `null`: only what every algorithm breaks is judged'),
  headers: z.partialRecord(z.enum(limitParts), limitStatementTerms.nullable()).default({}).meta(keyed('part')),
  unused: z
    .enum(['returned'])
    .nullable()
    .default(null)
    .describe('`returned`: tokens that a completion reserves and does not use come back; `null`: open'),
})
type FurtherTerms = z.infer<typeof furtherLimit>

/** The key of a profile with the limits beside those of requests and of all tokens. */
export const furtherLimitTerms = {
  further: z
    .record(
      z.string().regex(/^[A-Za-z][A-Za-z0-9_.-]{0,63}$/, 'the name of a limit, such as input-tokens'),
      furtherLimit,
    )
    .meta({ ...keyed('name'), isOpen: true }),
}

/** A limit that the profile promises beside those of requests and of all tokens. */
export type FurtherLimit = Omit<FurtherTerms, 'headers'> & { readonly name: string; readonly at: LimitStatements }

type Terms = LimitHeaderTerms & { readonly further: Readonly<Record<string, FurtherTerms>> }

export const furtherLimitsOf = memoizeByObject((terms: Terms): readonly FurtherLimit[] =>
  Object.entries(terms.further).map(([name, { headers, ...limit }]) => ({
    ...limit,
    name,
    at: furtherStatements(terms, { name, counts: limit.counts, headers }),
  })),
)

/** What an RPC call counts of a limit of units. */
export const unitsOf = (units: NonNullable<FurtherTerms['units']>, method: string): number =>
  ownMember(units, method) ?? units.default ?? 0

/** Whether the windows of a limit end as a whole. */
export const endsAsAWhole = ({ algorithm }: Pick<FurtherLimit, 'algorithm'>): boolean =>
  algorithm === 'fixed-window' || algorithm === 'aligned-window'

/** How far back requests may count, in windows. */
export const windowsOf = ({ algorithm }: Pick<FurtherLimit, 'algorithm'>): number =>
  algorithm === null || algorithm === 'sliding-counter' ? 2 : 1

/** Reports statements whose form they cannot have, headers that two limits share, and units of tokens. */
export function refineFurtherLimits(terms: Terms, taken: readonly LimitStatements[], context: z.RefinementCtx): void {
  const placeOf = ({ header, member, policy = '' }: LimitStatement) => JSON.stringify([header, member, policy])
  const seen = new Map<string, string>(
    taken.flatMap(at => limitParts.flatMap(part => (at[part] ? [[placeOf(at[part]), 'another limit'] as const] : []))),
  )
  for (const { name, at, counts, units } of furtherLimitsOf({ ...terms })) {
    if (units !== null && counts !== 'requests')
      context.addIssue({ code: 'custom', path: ['further', name, 'units'], message: `no units where ${counts} count` })
    for (const part of limitParts) {
      const statement = at[part]
      if (statement === null) continue
      const report = (key: string, message: string) =>
        context.addIssue({ code: 'custom', path: ['further', name, 'headers', part, key], message })
      const allowed = formsThatState(part)
      if (!allowed.includes(statement.form)) report('form', `a form of the statement ${part}: ${allowed.join(', ')}`)
      const isField = statement.form.startsWith('field-')
      if (isField !== (statement.member !== null))
        report('member', `${isField ? 'a' : 'no'} member, because the form is ${statement.form}`)
      const place = placeOf(statement)
      const other = seen.get(place)
      if (other !== undefined) report('header', `a header of its own: ${other} is in ${statement.header}, too`)
      seen.set(place, name)
    }
  }
}
