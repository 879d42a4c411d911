import { z } from 'zod'
import { memoizeByObject } from '../../lib/memoize.ts'
import { amountText, headerName, milliseconds, path } from '../fields.ts'

/** Where a service states the credits of its callers, if not in the headers of the document. */
const balanceTerms = z.strictObject({
  header: headerName.nullable().describe('the header with the credits of the caller; `null`: none'),
  path: path.nullable().describe('the path of a GET whose JSON body has them; `null`: none'),
  pointer: z
    .string()
    .regex(/^(\/[^\s]*)?$/, 'a JSON pointer such as /data/credits')
    .nullable()
    .describe('where they are in that body, as a JSON pointer such as `/data/credits`; `null`: the body itself'),
  counts: z.enum(['left', 'spent']).describe('`left`: what is left, which falls; `spent`: what was spent, which rises'),
  when: z
    .enum(['before', 'after'])
    .describe('whether the header states them `before` or `after` the charge of its own request'),
  scope: z.enum(['account', 'key']).describe('whether all keys of an account share them, or each `key` has its own'),
})

/** What a client that leaves early is charged. */
const hangUpPolicies = ['delivered', 'generated', 'full', 'nothing', 'open'] as const

export const billingTerms = z
  .strictObject({
    settleMs: milliseconds.describe('after this many milliseconds, every charge is in the balance'),
    balanceResolutionUsd: amountText.describe('the smallest difference that a balance shows, a decimal in quotes'),
    balanceHeaders: z
      .boolean()
      .describe('whether every authenticated response carries both balances; not where `billing.balance` has a place'),
    balanceRemaining: z
      .enum(['wallets', 'anyone'])
      .describe('who may get `X-Balance-Remaining`: `wallets` alone, or `anyone`'),
    balance: balanceTerms,
    costHeader: headerName
      .nullable()
      .describe('the header with the cost of a request; `null`: as in the document, in the body of a completion'),
    usdPerRequest: amountText
      .nullable()
      .describe('the price of each successful completion beside its tokens, a decimal in quotes; `null`: none'),
    hangUp: z
      .enum(hangUpPolicies)
      .describe(
        'what a completion costs that its client leaves: its prompt and the tokens that were `delivered`, or `generated` ' +
          'until the target noticed, as if it were complete (`full`), or `nothing`; `open`: any of these',
      ),
    atOnce: z
      .enum(['serial', 'open'])
      .describe(
        'what requests at once get of a balance: as much as one after the other (`serial`), so that at most one ' +
          'overdraws it and none that it covers is refused; `open`: unknown',
      ),
  })
  .superRefine(({ balance, costHeader }, context) => {
    const report = (path: readonly string[], message: string) =>
      context.addIssue({ code: 'custom', path: [...path], message })
    if (balance.pointer !== null && balance.path === null)
      report(['balance', 'pointer'], 'a path in balance.path, too, since a pointer is into its body')
    if (costHeader !== null && balance.header?.toLowerCase() === costHeader.toLowerCase())
      report(['costHeader'], 'another header than that of the balance')
  })
  .meta({ isOpen: true })
type BillingTerms = z.infer<typeof billingTerms>

/** The own place of balances; null: they are where the document has them. */
export const ownBalance = memoizeByObject(({ balance }: Pick<BillingTerms, 'balance'>) => ({
  place: balance.header === null && balance.path === null ? null : balance,
}))

/** Whether responses must have the balances of the document. */
export const hasDocumentedBalances = (billing: BillingTerms): boolean =>
  billing.balanceHeaders && ownBalance(billing).place === null

/** Whether the balances of callers with keys are shown at all. */
export const showsBalances = (billing: BillingTerms): boolean =>
  billing.balanceHeaders || ownBalance(billing).place !== null

/** The value at a JSON pointer (RFC 6901); undefined if there is none. */
export function pointedValue(value: unknown, pointer: string | null): unknown {
  const steps = (pointer ?? '')
    .split('/')
    .slice(1)
    .map(step => step.replaceAll('~1', '/').replaceAll('~0', '~'))
  return steps.reduce<unknown>(
    (part, step) =>
      typeof part === 'object' && part !== null && Object.hasOwn(part, step) ? Reflect.get(part, step) : undefined,
    value,
  )
}

/** A JSON value that has this value at the pointer. */
export const withPointedValue = (pointer: string | null, value: unknown): unknown =>
  (pointer ?? '')
    .split('/')
    .slice(1)
    .reduceRight<unknown>((inner, step) => ({ [step.replaceAll('~1', '/').replaceAll('~0', '~')]: inner }), value)
