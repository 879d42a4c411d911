import type { InvalidPayment, WalletTerms } from '../../contract/wallets.ts'
import { pico } from '../../lib/money.ts'
import type { WalletCaller } from './caller.ts'
import { choosePayment } from './payment-maker.ts'
import type { Signer } from './signer.ts'

/** A signed payment, and what may be recorded of it. */
export type SignedPayment = {
  /** The value of the payment header. */
  readonly header: string
  readonly record: {
    readonly id: string
    readonly usd: string
    readonly amount: string
    readonly payTo: string
    readonly isAgain: boolean
    readonly header: string
    readonly invalid?: InvalidPayment | undefined
  }
}

/** What to pay. `invalid`: the deliberate fault of the payment; null: it is valid. */
export type PaymentTerms = { readonly usd: string; readonly invalid: InvalidPayment | null }

/** What became of a payment. `unsent`: no byte of it left this machine. */
export type PaymentFate = 'settled' | 'refused' | 'unsent' | 'unknown'

/** The payments of the wallets of a run: at most one of a wallet at a time. */
export type Payments = {
  /**
   * The payment to send for an offer: the last one while its fate is unknown, otherwise a new one. null: no payment may
   * or can be made. `close` must follow.
   */
  readonly next: (wallet: WalletCaller, offer: unknown, terms: PaymentTerms) => Promise<SignedPayment | null>
  /** Ends what `next` began. */
  readonly close: (wallet: WalletCaller, fate: PaymentFate) => void
  /** Whether the wallet has a valid payment of unknown fate. */
  readonly isUnknown: (wallet: WalletCaller) => boolean
}

export type PaymentsOptions = {
  readonly signer: Signer
  readonly terms: WalletTerms
  /** Counts an amount in pico-USD against what the run may pay; false: that would be too much. */
  readonly reserve: (picoUsd: bigint) => boolean
  readonly release: (picoUsd: bigint) => void
}

type State = { readonly payment: SignedPayment | null; readonly isInFlight: boolean }

/**
 * A payment of unknown fate may have been settled, so a new signature could pay twice. Until the target says that it was
 * settled, the same payment is sent again, and its amount stays reserved. An invalid payment is sent again for the same
 * order only. A refused payment stays counted, because others have its signature. The payments of a wallet use the headers
 * of the contract in turn.
 */
export function createPayments({ signer, terms, reserve, release }: PaymentsOptions): Payments {
  const { minimumUsd, maximumUsd } = terms.topUp
  const states = new Map<string, State>()
  const headers = [terms.topUp.paymentHeader, ...terms.topUp.legacyPaymentHeaders]
  /** By wallet. */
  const made = new Map<string, number>()

  async function make(
    wallet: WalletCaller,
    asked: unknown,
    { usd, invalid }: PaymentTerms,
  ): Promise<SignedPayment | null> {
    const rail = terms.rails[wallet.chain]
    const amount = rail === undefined ? null : amountOf(usd, rail.decimals)
    if (rail === undefined || amount === null) return null
    const chosen = choosePayment(asked, rail, amount, terms.topUp.maxTimeoutSeconds)
    if (chosen === null || !reserve(pico(usd))) return null
    const { offer, accepted, payTo } = chosen
    const value = await signer.payment({ wallet: wallet.name, offer, accepted, usd, invalid })
    if (value === null) {
      release(pico(usd))
      return null
    }
    const number = (made.get(wallet.name) ?? 0) + 1
    made.set(wallet.name, number)
    const header = headers[(number - 1) % headers.length] ?? terms.topUp.paymentHeader
    const record = { id: `${wallet.name}/${number}`, usd, amount, payTo, isAgain: false, header }
    return { header: value, record: invalid === null ? record : { ...record, invalid } }
  }

  /** Whether the target must refuse a payment. */
  const isWrong = ({ usd, invalid }: { readonly usd: string; readonly invalid?: InvalidPayment | null | undefined }) =>
    (invalid ?? null) !== null || pico(usd) < pico(minimumUsd) || (maximumUsd !== null && pico(usd) > pico(maximumUsd))

  /** Whether a payment of unknown fate is the one to send for an order. */
  const isSentAgain = (open: SignedPayment['record'], order: PaymentTerms): boolean =>
    isWrong(open) ? open.usd === order.usd && (open.invalid ?? null) === order.invalid : !isWrong(order)

  return {
    next: async (wallet, offer, order) => {
      const { name } = wallet
      const { isInFlight = false, payment: open = null } = states.get(name) ?? {}
      if (isInFlight) return null
      if (open !== null && isSentAgain(open.record, order)) {
        const { header, record } = open
        const payment = { header, record: { ...record, isAgain: true } }
        states.set(name, { payment, isInFlight: true })
        return payment
      }
      // An invalid payment must not replace a valid one of unknown fate.
      if (open !== null && !isWrong(open.record)) return null
      states.set(name, { payment: null, isInFlight: true })
      const payment = await make(wallet, offer, order)
      if (payment === null) states.delete(name)
      else states.set(name, { payment, isInFlight: true })
      return payment
    },
    close: (wallet, fate) => {
      const payment = states.get(wallet.name)?.payment ?? null
      if (payment === null) return
      // If a second attempt was refused or not sent, the fate of the first is still unknown. But an invalid payment is
      // refused each time.
      const isSettled = fate === 'settled' || (fate === 'refused' && isWrong(payment.record))
      const isOpen = fate === 'unknown' || (payment.record.isAgain && !isSettled)
      if (isOpen) return void states.set(wallet.name, { payment, isInFlight: false })
      states.delete(wallet.name)
      if (fate === 'unsent') release(pico(payment.record.usd))
    },
    isUnknown: ({ name }) => {
      const { isInFlight = true, payment = null } = states.get(name) ?? {}
      return !isInFlight && payment !== null && !isWrong(payment.record)
    },
  }
}

/** An amount in the smallest unit of a token; null if it has more decimals. */
function amountOf(usd: string, decimals: number): string | null {
  const unit = 10n ** BigInt(Math.max(0, 12 - decimals))
  const picoUsd = pico(usd)
  return picoUsd % unit === 0n ? String(picoUsd / unit) : null
}
