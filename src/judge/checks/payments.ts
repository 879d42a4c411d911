import type { Contract } from '../../contract/contract.ts'
import type { PaymentRefusal, Rail, WalletTerms } from '../../contract/wallets.ts'
import { quote } from '../../lib/format.ts'
import { isPresent, type JsonObject, plainText, toObject } from '../../lib/json.ts'
import { formatPico, nearestPico, pico } from '../../lib/money.ts'
import type { ObservedResponse } from '../../observation/observation.ts'
import { isUndecided, minCutLength, railOf, requirementsIn, settlementIn } from '../../observation/payments.ts'
import type { PaymentRecord, TopUpDescriptor } from '../../observation/requests/wallets.ts'
import { refusalOf } from '../../observation/requests/wallets.ts'
import { is2xx, isFromGateway, jsonObject } from '../../observation/response.ts'
import type { ClauseReporter } from '../findings/findings.ts'
import { type Check, expectFor } from './check.ts'

/** Checks the response to a payment for credit. Only the ledger sees whether the credit arrives. */
export const checkPayments: Check<'payments', TopUpDescriptor> = ({ request, response, id }, contract, reporter) => {
  const { payment } = request
  if (payment === null || response === null || isFromGateway(response, contract)) return
  const { topUp } = contract.wallets
  const { status } = response
  const expect = expectFor(reporter, id)
  const wrong = refusalOf(payment, contract)
  const isRead = !isUnread(response, contract)
  if (wrong !== null) {
    if (isUndecided(status) || !isRead) return
    expect(
      clauseOfRefusal(wrong),
      !is2xx(status),
      () => `${describe(payment)} got status ${status}, expected it to be refused`,
    )
    const expected = topUp.refusals[wrong].status
    if (!is2xx(status))
      expect(
        'wallet.top-up.refusal',
        status === expected,
        () => `${describe(payment)} got status ${status}, expected ${expected}`,
      )
    return
  }
  const { header = topUp.paymentHeader, usd, isAgain } = payment
  const isLegacy = topUp.legacyPaymentHeaders.includes(header)
  if (!isRead) {
    const clause = isLegacy ? 'wallet.top-up.legacy-headers' : 'wallet.top-up.credit'
    return reporter.fail(clause, `a payment in ${header} got status ${status}, expected it to be read`, [id])
  }
  if (!isAgain) judgeSettlement(request, response, contract, reporter, id)
  if (!is2xx(status)) return
  if (isLegacy) reporter.pass('wallet.top-up.legacy-headers')
  const { amountCredited } = paymentResult(response)
  if (isAgain) return
  if (amountCredited === null) return reporter.unjudged('wallet.top-up.credit', unstatedAmount)
  expect(
    'wallet.top-up.credit',
    amountCredited === pico(usd),
    () => `amountCredited is ${formatPico(amountCredited)}, expected ${usd}, the amount paid`,
  )
}

/** In this case, only the ledger can tell the credited amount. */
const unstatedAmount = {
  text: 'responses to payments state no amountCredited, and no two known balances of the wallet are on both sides of a payment',
  clause: null,
}

export const clauseOfRefusal = (refusal: PaymentRefusal) =>
  refusal === 'belowMinimum' ? ('wallet.top-up.least' as const) : ('wallet.top-up.invalid' as const)

/** What a response states about a payment; null: not stated. Amounts in pico-USD. */
export function paymentResult(response: ObservedResponse) {
  const body = jsonObject(response)
  const { amountCredited, newBalance, paymentId } = toObject(body?.data) ?? body ?? {}
  return {
    amountCredited: amountIn(amountCredited),
    newBalance: amountIn(newBalance),
    paymentId: typeof paymentId === 'string' ? paymentId : null,
  }
}

const amountIn = (value: unknown): bigint | null =>
  typeof value === 'number' || typeof value === 'string' ? nearestPico(value) : null

/** Whether a payment was answered as if there were none: with the requirements alone, or as malformed. */
function isUnread(response: ObservedResponse, { wallets }: Contract): boolean {
  const { topUp } = wallets
  const body = jsonObject(response)
  const { status, code } = topUp.refusals.malformed
  const { unverified } = topUp.refusals
  const isMalformed = code !== null && code !== unverified.code && response.status === status
  if (isMalformed && (body?.error === code || body?.code === code)) return true
  if (response.status !== topUp.offerStatus) return false
  const { accepts, error } = requirementsIn({ headers: response.headers, body }, wallets).all
  return Array.isArray(accepts) && (error === undefined || (typeof error === 'string' && /\brequired\b/i.test(error)))
}

const describe = ({ usd, invalid }: PaymentRecord): string =>
  `a payment of ${usd} USD${invalid === undefined ? '' : ` (${quote(invalid)})`}`

/** Checks what the response to a valid payment states about its settlement. */
function judgeSettlement(
  request: TopUpDescriptor,
  response: ObservedResponse,
  { wallets }: Contract,
  reporter: ClauseReporter<'payments'>,
  id: number,
): void {
  const { resultHeader, offerStatus } = wallets.topUp
  const header = response.headers[resultHeader.toLowerCase()]
  const result = settlementIn(response, wallets)
  if (!is2xx(response.status)) {
    // Other statuses may be about what came after the settlement.
    if (response.status !== offerStatus || result === null) return
    expectFor(reporter, id)('wallet.top-up.result', result.success !== true, () => {
      return `${resultHeader} of a response with status ${offerStatus} states a success, expected none`
    })
    return
  }
  if (header !== undefined && result === null && header.length >= minCutLength) {
    reporter.unjudged('wallet.top-up.result', { text: 'the header with the settlement is too long', clause: null })
    return
  }
  const wrong =
    result === null
      ? `is ${header === undefined ? 'missing' : quote(header)}, expected base64 of a JSON object`
      : wrongSettlement(result, request, wallets)
  expectFor(reporter, id)('wallet.top-up.result', wrong === null, () => `${resultHeader} of a settled payment ${wrong}`)
}

/** The hash of a transaction, and the first signature of one in base58. */
const transactions: Readonly<Record<Rail['family'], RegExp>> = {
  evm: /^0x[0-9a-fA-F]{64}$/,
  solana: /^[1-9A-HJ-NP-Za-km-z]{64,88}$/,
}

/** What is wrong about a stated settlement, and what was expected; null: nothing. The payer and the amount are optional. */
function wrongSettlement(
  { success, network, transaction, payer, amount }: JsonObject,
  { chain, address, payment }: TopUpDescriptor,
  terms: WalletTerms,
): string | null {
  if (success !== true) return `has success ${quote(success)}, expected true`
  const rail = chain === null ? undefined : terms.rails[chain]
  if (rail === undefined) return null
  if (railOf(network, terms)?.[1] !== rail) return `has the network ${quote(network)}, expected ${rail.network}`
  if (typeof transaction !== 'string' || !transactions[rail.family].test(transaction))
    return `has the transaction ${quote(transaction)}, expected one of ${chain}`
  const isPayer =
    rail.family === 'evm' && typeof payer === 'string'
      ? payer.toLowerCase() === address?.toLowerCase()
      : payer === address
  if (isPresent(payer) && !isPayer) return `has the payer ${quote(payer)}, expected ${address}`
  if (isPresent(amount) && plainText(amount) !== payment?.amount)
    return `has the amount ${quote(amount)}, expected ${payment?.amount}`
  return null
}
