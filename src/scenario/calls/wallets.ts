import { z } from 'zod'
import type { Contract } from '../../contract/contract.ts'
import type { ArrivalStep } from '../../contract/requests/steps.ts'
import { invalidPaymentNames } from '../../contract/wallets.ts'
import type { DeepReadonly } from '../../lib/json.ts'
import { costOfUnits, pico } from '../../lib/money.ts'
import { decimalText, parseFields, whole } from '../../lib/schemas.ts'
import { oneOf } from '../../lib/usage-error.ts'
import { flagField, integerField, mapping, usdField } from '../fields.ts'
import { type CallContext, type CallKind, kindField, noCost, usualTraits } from './call-kind.ts'

export const topUpSchema = mapping({
  kind: kindField('top-up'),
  pay: flagField
    .default(false)
    .describe('Whether to pay. Otherwise it only asks how to. Elsewhere than on this machine, paying needs --top-up.'),
  usd: usdField.optional().describe('The amount to pay. Default: the smallest of the profile.'),
  duplicates: integerField(0, 20).default(0).describe('Additional requests with the same payment, which counts once.'),
  concurrent: flagField.default(false).describe('Send the duplicates concurrently with the payment.'),
  invalid: z
    .enum(invalidPaymentNames, { error: oneOf(invalidPaymentNames) })
    .optional()
    .describe(
      'What is wrong with the payment, so that it must be refused. Its amount counts as paid. Default: nothing.',
    ),
}).describe('A request for credit of a wallet.')

export const resolvedTopUp = z.object({
  kind: z.literal('top-up'),
  pay: z.boolean(),
  /** The amount to pay, a decimal. */
  usd: decimalText,
  duplicates: whole,
  concurrent: z.boolean(),
  /** What is wrong with the payment on purpose; null: nothing. */
  invalid: z.enum(invalidPaymentNames).nullable(),
})
type TopUpCall = DeepReadonly<z.output<typeof resolvedTopUp>>

export const topUp: CallKind<TopUpCall> = {
  judges: [],
  traits: ({ pay, usd, duplicates }) => ({
    ...usualTraits,
    judges: () => topUp.judges,
    limits: [],
    cost: {
      ...noCost,
      arrivals: count => (pay ? costOfUnits(count, pico(usd)) : 0n),
      maxRequest: () => (pay ? pico(usd) : 0n),
    },
    unfitToSaturate: 'which pays',
    // First it asks how to pay.
    requests: pay ? 2 + duplicates : 1,
    ...(pay && { steps: () => ['offer', ...Array<ArrivalStep>(1 + duplicates).fill('payment')] }),
    requestsAtOnce: 1 + duplicates,
    // The response that says how to pay is a 402.
    samples: () => (pay ? 1 : 0),
    needsWallet: pay,
    pays: pay,
  }),
  unpaid: call => ({ ...call, pay: false }),
  written: ({ pay, usd, duplicates, concurrent, invalid }) => ({
    pay,
    usd,
    duplicates,
    concurrent,
    ...(invalid !== null && { invalid }),
  }),
}

/** A payment that a wallet makes once. */
export const paymentOf = (usd: string): TopUpCall => ({
  kind: 'top-up',
  pay: true,
  usd,
  duplicates: 0,
  concurrent: false,
  invalid: null,
})

export function resolveTopUp(value: unknown, { contract: { wallets }, report }: CallContext): TopUpCall | null {
  const { minimumUsd } = wallets.topUp
  const fields = parseFields(topUpSchema, value)
  const { pay = false, usd = minimumUsd, duplicates = 0, concurrent = false, invalid = null } = fields
  // A smaller amount may be meant: the service must refuse it.
  const problem = amountProblem(usd, wallets)
  if (problem !== null) report(['usd'], { got: usd, expected: problem })
  return problem === null ? { kind: 'top-up', pay, usd, duplicates, concurrent, invalid } : null
}

/** Why an amount cannot be paid; null if it can. */
export function amountProblem(usd: string, { rails, topUp: { maximumUsd } }: Contract['wallets']): string | null {
  const decimals = Math.min(...Object.values(rails).map(rail => rail.decimals))
  const written = usd.split('.')[1]?.length ?? 0
  if (written > decimals) return `at most ${decimals} decimals, as the token has`
  const isAbove = maximumUsd !== null && Number(usd) > 2 * Number(maximumUsd)
  return isAbove ? `at most $${maximumUsd}, the maximum of the profile` : null
}

export const walletBalanceSchema = mapping({ kind: kindField('wallet-balance') }).describe('The credit of the wallet.')

export const resolvedBalance = z.object({ kind: z.literal('wallet-balance') })

export const walletBalance: CallKind<z.output<typeof resolvedBalance>> = {
  judges: [],
  traits: () => ({
    ...usualTraits,
    judges: () => walletBalance.judges,
    limits: [],
    cost: noCost,
    unfitToSaturate: null,
    needsWallet: true,
    sender: 'wallet',
  }),
  written: () => ({}),
}
