import { z } from 'zod'
import type { Contract } from '../../contract/contract.ts'
import { invalidPaymentNames, invalidPayments, type PaymentRefusal } from '../../contract/wallets.ts'
import type { DeepReadonly } from '../../lib/json.ts'
import { pico } from '../../lib/money.ts'
import { is2xx } from '../../lib/numbers.ts'
import { type RequestTraits, usual } from './traits.ts'

const text = z.string()

/** A signed payment, without its signature. */
const paymentSchema = z.object({
  /** The same for every request that carries the same signed payment: the wallet and a number. */
  id: text,
  /** A decimal in USD. */
  usd: text,
  /** In the smallest unit of the token. */
  amount: text,
  /** Who gets it, as the offer says. */
  payTo: text,
  /** Whether an earlier request carried it, too. It counts once. */
  isAgain: z.boolean(),
  /** The header that carried it. Missing: the first of the contract. */
  header: text.optional(),
  /** What is wrong with it on purpose. Missing: nothing. */
  invalid: z.enum(invalidPaymentNames).optional(),
})
export type PaymentRecord = DeepReadonly<z.output<typeof paymentSchema>>

/** A request for credit of a wallet: it asks how to pay, or it pays. */
export const topUpRequestSchema = z.object({
  kind: z.literal('top-up'),
  step: z.enum(['offer', 'payment']),
  /** null: an offer that a caller with API keys asks for. */
  chain: text.nullable(),
  address: text.nullable(),
  /** null: nothing was signed. */
  payment: paymentSchema.nullable(),
})
export type TopUpDescriptor = DeepReadonly<z.output<typeof topUpRequestSchema>>

export const walletBalanceRequestSchema = z.object({ kind: z.literal('wallet-balance'), address: text.nullable() })

export const isTopUp = (request: { readonly kind: string }): request is TopUpDescriptor => request.kind === 'top-up'

export const isWalletBalance = ({ kind }: { readonly kind: string }): boolean => kind === 'wallet-balance'

/** Whether a request asks how to pay. */
export const isOfferRequest = (request: { readonly kind: string }): boolean =>
  isTopUp(request) && request.step === 'offer'

/** The payment that a request carries; null: none. */
export const paymentIn = (request: { readonly kind: string }): PaymentRecord | null =>
  isTopUp(request) ? request.payment : null

const unlimited = {
  ...usual,
  limiter: null,
  limit: () => null,
  service: () => 'other',
  pricing: () => 'nothing',
} as const satisfies Partial<RequestTraits<unknown>>

export const topUpTraits: RequestTraits<TopUpDescriptor> = {
  ...unlimited,
  endpoint: (_, { wallets }) => ({ method: 'POST', route: wallets.topUp.path }),
  identity: () => 'payment',
  position: ({ step }, firstId) => ({ firstId, step: step === 'payment' ? step : 'only' }),
  address: ({ address }) => address,
  isFirst: isOfferRequest,
  // Of several requests with the same payment, one should succeed, and any of them may be the one.
  hasIntent: ({ payment }, status, { wallets }) => {
    const { replayed, inProgress } = wallets.topUp.refusals
    return payment === null || (status !== inProgress.status && !(payment.isAgain && status === replayed.status))
  },
  isIntended: (request, status, contract) =>
    is2xx(status) ||
    // How to pay comes with a 402.
    (request.step === 'offer' && status === contract.wallets.topUp.offerStatus) ||
    isMeantRefusal(request, status, contract),
}

/** Whether a status refuses a payment that is wrong on purpose, or not new. */
function isMeantRefusal({ payment }: TopUpDescriptor, status: number, contract: Contract): boolean {
  if (payment === null || status < 400 || status >= 500) return false
  return payment.isAgain || refusalOf(payment, contract) !== null
}

/** Why a payment must be refused; null: it is right. */
export function refusalOf({ invalid, usd }: PaymentRecord, { wallets }: Contract): PaymentRefusal | null {
  if (invalid !== undefined) return invalidPayments[invalid]
  if (pico(usd) < pico(wallets.topUp.minimumUsd)) return 'belowMinimum'
  return wallets.topUp.maximumUsd !== null && pico(usd) > pico(wallets.topUp.maximumUsd) ? 'aboveMaximum' : null
}

export const balanceTraits: RequestTraits<z.output<typeof walletBalanceRequestSchema>> = {
  ...unlimited,
  address: ({ address }) => address,
  endpoint: (_, { wallets }) => ({ method: 'GET', route: wallets.balancePath }),
}
