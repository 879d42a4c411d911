import type { PaymentRefusal, WalletTerms } from '../../contract/wallets.ts'
import { isObject, parseObject } from '../../lib/json.ts'
import { formatPico, pico } from '../../lib/money.ts'
import { messageOf } from '../../lib/usage-error.ts'
import type { Account } from '../account.ts'
import type { drawPaymentFaults } from '../faults.ts'
import { jsonReply, type Reply, type RequestState } from '../message.ts'
import { type Chain, type Facilitator, facilitators, type Payment } from './facilitator.ts'
import { picoPerUnit, requirementOf, resourceUrl } from './offers.ts'

/** The decisions about payments, one function each. A lie replaces some of them. */
export type PaymentRules = {
  /** The last word on a payment before it is settled; null settles it. */
  readonly paymentRefusal: (refusal: PaymentRefusal | null) => PaymentRefusal | null
  /** The credit for a settled payment. */
  readonly creditPicoUsd: (paidPicoUsd: bigint) => bigint
  /** When the credit arrives; all three in Unix milliseconds. */
  readonly creditMs: (settledMs: number, arrivedMs: number) => number
  /** Whether a refused payment is credited all the same, and whether the response then says so. */
  readonly refusedCredit: (refusal: PaymentRefusal, payment: Payment) => 'none' | 'silent' | 'accepted'
  /** The payment header of a request, of those with these names in lower case; null: none. */
  readonly paymentHeader: (headers: RequestState['request']['headers'], names: readonly string[]) => string | null
}

export const defaultPaymentRules: PaymentRules = {
  paymentRefusal: refusal => refusal,
  creditPicoUsd: paid => paid,
  creditMs: settledMs => settledMs,
  refusedCredit: () => 'none',
  paymentHeader: (headers, names) => names.map(name => headers[name]).find(value => value !== undefined) ?? null,
}

type TopUpDeps = {
  readonly terms: WalletTerms
  readonly rules: PaymentRules
  readonly chains: readonly Chain[]
  readonly accountOf: (address: string) => Account
  readonly paymentId: () => string
  readonly drawFault: ReturnType<typeof drawPaymentFaults>
  /** How long a settlement takes, and a slow one, in milliseconds. */
  readonly settlementMs: number
  readonly slowSettlementMs: number
}

export type TopUps = {
  /** Verifies and settles the payment of a request, and credits it. */
  readonly pay: (state: RequestState, header: string) => Promise<Reply>
  /** Applies the credits that are due. */
  readonly applyDueCredits: (nowMs: number) => void
}

type RefusedPayment = {
  readonly payment: Payment
  readonly account: Account
  readonly paidPicoUsd: bigint
  readonly reason: string | undefined
}

/** Those of USDC, for a payment on an unknown chain. */
const usualDecimals = 6

/** Later than any client waits. */
const neverMs = 3_600_000

export function topUps(deps: TopUpDeps): TopUps {
  const { terms, rules, chains, accountOf, drawFault } = deps
  const minimumPicoUsd = pico(terms.topUp.minimumUsd)
  const maximumPicoUsd = terms.topUp.maximumUsd === null ? null : pico(terms.topUp.maximumUsd)
  /** When the settlement of a payment ends, by its identity. Infinite until that is known. */
  const settledMs = new Map<string, number>()
  let credits: readonly { readonly account: Account; readonly picoUsd: bigint; readonly dueMs: number }[] = []
  let facilitator: Facilitator | null = null

  return {
    applyDueCredits: nowMs => {
      if (credits.length === 0) return
      for (const { account, picoUsd, dueMs } of credits) if (dueMs <= nowMs) account.picoUsd += picoUsd
      credits = credits.filter(({ dueMs }) => dueMs > nowMs)
    },
    pay: async (state, header) => {
      const create = await facilitators.load()
      if (create === null) return refuse(state, 'unavailable', { reason: facilitators.missing })
      facilitator ??= create(chains)
      const payment = parsePayment(header)
      const chain = chains.find(({ rail }) => rail.network === payment?.accepted.network)
      const identity = payment === null ? null : facilitator.identityOf(payment)
      if (payment === null || identity === null) return refuse(state, 'malformed')
      const { id, payer } = identity
      const paidPicoUsd = BigInt(payment.accepted.amount) * picoPerUnit(chain?.rail.decimals ?? usualDecimals)
      const refuseIt = (refusal: PaymentRefusal, reason?: string): Reply =>
        refusePayment(state, refusal, { payment, account: accountOf(payer), paidPicoUsd, reason })
      if (chain === undefined) return refuseIt('unverified', 'invalid_network')
      const refusal = rules.paymentRefusal(refusalOf(state, payment, id, paidPicoUsd))
      if (refusal !== null) return refuseIt(refusal)
      const fault = drawFault()
      if (fault === 'down') return refuse(state, 'unavailable')

      // From here on, the same payment on another connection is refused.
      settledMs.set(id, Number.POSITIVE_INFINITY)
      /** A payment that was not settled may be sent again. */
      const release = (refusal: PaymentRefusal, reason: string): Reply => {
        settledMs.delete(id)
        return refuseIt(refusal, reason)
      }
      const requirement = requirementOf(chain, terms, paidPicoUsd)
      const objection = await facilitator.verify(payment, requirement).catch(reasonOf)
      if (objection !== null) return release('unverified', objection)
      if (fault === 'reverted') return release('settlementFailed', 'transaction_failed')
      const settlement = await facilitator
        .settle(payment, requirement)
        .catch((cause: unknown) => ({ kind: 'failed' as const, reason: reasonOf(cause) }))
      if (settlement.kind === 'failed') return release('settlementFailed', settlement.reason)

      const afterMs = fault === 'slow' ? deps.slowSettlementMs : deps.settlementMs
      const endMs = state.arrivedMs + afterMs
      settledMs.set(id, endMs)
      const { network } = chain.rail
      const { transaction } = settlement
      const result = { success: true, network, payer: settlement.payer, transaction }
      state.headers[terms.topUp.resultHeader.toLowerCase()] = Buffer.from(JSON.stringify(result)).toString('base64')
      const account = accountOf(settlement.payer)
      return credit(state, account, rules.creditPicoUsd(paidPicoUsd), endMs, fault === 'lost' ? neverMs : afterMs)
    },
  }

  /** Credits a payment, and says so. */
  function credit(state: RequestState, account: Account, picoUsd: bigint, endMs: number, afterMs: number): Reply {
    credits = [...credits, { account, picoUsd, dueMs: rules.creditMs(endMs, state.arrivedMs) }]
    const data = {
      walletAddress: account.wallet,
      amountCredited: Number(formatPico(picoUsd)),
      newBalance: Number(formatPico(creditedBalance(account, endMs))),
      paymentId: deps.paymentId(),
    }
    return jsonReply(state, { success: true, data }, afterMs)
  }

  function refusalOf(
    state: RequestState,
    { resource }: Payment,
    identity: string,
    paidPicoUsd: bigint,
  ): PaymentRefusal | null {
    const endMs = settledMs.get(identity)
    if (endMs !== undefined) return endMs > state.arrivedMs ? 'inProgress' : 'replayed'
    if (resource !== undefined && resource.url !== resourceUrl(state)) return 'otherResource'
    if (paidPicoUsd < minimumPicoUsd) return 'belowMinimum'
    return maximumPicoUsd !== null && paidPicoUsd > maximumPicoUsd ? 'aboveMaximum' : null
  }

  function refusePayment(state: RequestState, refusal: PaymentRefusal, refused: RefusedPayment): Reply {
    const { payment, account, paidPicoUsd, reason } = refused
    const fate = rules.refusedCredit(refusal, payment)
    if (fate === 'accepted') return credit(state, account, paidPicoUsd, state.arrivedMs, 0)
    if (fate === 'silent') account.picoUsd += paidPicoUsd
    return refuse(state, refusal, reason === undefined ? undefined : { reason })
  }

  function refuse(state: RequestState, refusal: PaymentRefusal, details?: { readonly reason: string }): Reply {
    const { status, code } = terms.topUp.refusals[refusal]
    const body = { error: code ?? messages[refusal], message: messages[refusal], ...(details && { details }) }
    return { status, headers: state.headers, afterMs: 0, body: { kind: 'whole', text: JSON.stringify(body) } }
  }

  function creditedBalance(account: Account, atMs: number): bigint {
    const due = credits.filter(each => each.account === account && each.dueMs <= atMs)
    return due.reduce((sum, { picoUsd }) => sum + picoUsd, account.picoUsd)
  }
}

const messages: Readonly<Record<PaymentRefusal, string>> = {
  malformed: 'The payment is not an x402 payment of version 2 in base64',
  unverified: 'The payment is not valid',
  belowMinimum: 'The amount is below the minimum',
  aboveMaximum: 'The amount is above the maximum',
  otherResource: 'The payment is for another resource',
  replayed: 'The payment was settled before',
  inProgress: 'The payment is being settled',
  settlementFailed: 'The payment could not be settled',
  settlementTimeout: 'The settlement took too long',
  unavailable: 'Payments cannot be checked now',
}

const reasonOf = (cause: unknown): string => messageOf(cause).slice(0, 200)

function parsePayment(header: string): Payment | null {
  const value = parseObject(Buffer.from(header, 'base64').toString('utf8'))
  if (value === null || value.x402Version !== 2) return null
  const { resource, accepted, payload } = value
  if (!isObject(accepted) || !isObject(payload)) return null
  const { network, amount } = accepted
  if (typeof network !== 'string' || typeof amount !== 'string' || !/^\d{1,30}$/.test(amount)) return null
  const url = isObject(resource) ? resource.url : undefined
  return {
    x402Version: 2,
    ...(typeof url === 'string' && { resource: { url } }),
    accepted: { ...accepted, network, amount },
    payload,
  }
}
