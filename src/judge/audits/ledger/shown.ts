import type { Contract } from '../../../contract/contract.ts'
import { balanceRemainingHeader } from '../../../contract/headers.ts'
import { toObject } from '../../../lib/json.ts'
import { formatPico, nearestPico, pico } from '../../../lib/money.ts'
import type { Observation, ObservedResponse } from '../../../observation/observation.ts'
import { isProbeRequest, requestTraits } from '../../../observation/requests/request.ts'
import { isWalletBalance, paymentIn, refusalOf } from '../../../observation/requests/wallets.ts'
import { is2xx, isFromGateway, jsonObject } from '../../../observation/response.ts'
import { paymentResult } from '../../checks/payments.ts'
import type { ClauseReporter } from '../../findings/findings.ts'
import type { Obstacle } from '../../findings/obstacles.ts'
import type { AmountRange } from './prices.ts'

/** A place, other than the balance headers, where a response shows the credit of its wallet. */
export type ShownCredit = {
  readonly clause: 'wallet.balance' | 'wallet.balance-remaining' | 'wallet.top-up.credit'
  readonly name: string
  readonly picoUsd: bigint
  /** The last digit, in pico-USD. */
  readonly lastDigit: bigint
  /** Whether the charge and the payment of the request are deducted and added. A stream begins before its cost is known. */
  readonly when: 'before' | 'after' | 'either'
}

const nothing: readonly ShownCredit[] = []
/** The credit that a response to a wallet shows. Reports what cannot be read, or is missing. */
export function shownCredits(
  observation: Observation,
  contract: Contract,
  reporter: ClauseReporter<'ledger'>,
): readonly ShownCredit[] {
  const { request, response, chain, id, outcome } = observation
  if (chain === undefined || response === null || isFromGateway(response, contract)) return nothing
  if (isWalletBalance(request)) return outcome.kind === 'answered' ? ofBalance(response, id, reporter) : nothing
  const payment = paymentIn(request)
  if (payment !== null) {
    const { newBalance } = paymentResult(response)
    if (payment.isAgain || newBalance === null || !is2xx(response.status)) return nothing
    if (refusalOf(payment, contract) !== null) return nothing
    return [shown('wallet.top-up.credit', 'newBalance', newBalance, 'after')]
  }
  return ofInference(observation, response, contract, reporter)
}

/** Statuses of an address that does not exist, or of a request that is not understood. */
const notFound: readonly number[] = [400, 404, 405, 410, 501]

function ofBalance(response: ObservedResponse, id: number, reporter: ClauseReporter<'ledger'>): readonly ShownCredit[] {
  const { status } = response
  if (notFound.includes(status))
    reporter.fail('wallet.balance', `the balance of the wallet got status ${status}, expected its credit`, [id])
  if (!is2xx(status)) return nothing
  const body = jsonObject(response)
  const members = { ...body, ...toObject(body?.data) }
  const name = balanceNames.find(each => amountOf(members[each]) !== null)
  const picoUsd = name === undefined ? null : amountOf(members[name])
  if (name !== undefined && picoUsd !== null) return [shown('wallet.balance', name, picoUsd, 'before')]
  // The credit may have an unknown name.
  if (Object.keys(members).some(each => likelyName.test(each) && amountOf(members[each]) !== null))
    reporter.unjudged('wallet.balance', unknownLayout)
  else reporter.fail('wallet.balance', 'the balance of the wallet has no amount, expected its credit', [id])
  return nothing
}

const likelyName = /^(?!min|max|suggest).*(balance|credit|amount|fund|remaining|available)/i
const unknownLayout: Obstacle = { text: 'the layout of the balance of a wallet is unknown', clause: null }

/** Names of the amount. The document leaves the layout open. */
const balanceNames: readonly string[] = ['balanceUsd', 'balance_usd', 'balance', 'creditUsd', 'credit', 'usd']

function ofInference(
  { request, id }: Observation,
  response: ObservedResponse,
  contract: Contract,
  reporter: ClauseReporter<'ledger'>,
): readonly ShownCredit[] {
  const part = requestTraits(request).service(request, contract)
  if (isProbeRequest(request) || part === 'other' || !is2xx(response.status)) return nothing
  const written = response.headers[balanceRemainingHeader]
  const picoUsd = written === undefined ? null : nearestPico(written)
  if (picoUsd !== null)
    return [
      shown(
        'wallet.balance-remaining',
        balanceRemainingHeader,
        picoUsd,
        response.body.kind === 'stream' ? 'either' : 'after',
      ),
    ]
  // The RPC proxy is not an inference endpoint, and a stream begins before its cost is known.
  const isDue = part === 'inference' && response.body.kind !== 'stream'
  if ((isDue || written !== undefined) && response.headersCut !== true)
    reporter.fail(
      'wallet.balance-remaining',
      `${balanceRemainingHeader} is ${written === undefined ? 'missing' : JSON.stringify(written)}, expected the credit of the wallet`,
      [id],
    )
  return nothing
}

const amountOf = (value: unknown): bigint | null =>
  typeof value === 'number' || typeof value === 'string' ? nearestPico(value) : null

/** A service may show cents. A coarser amount cannot be compared. */
const coarsest = pico('0.01')

function shown(clause: ShownCredit['clause'], name: string, picoUsd: bigint, when: ShownCredit['when']): ShownCredit {
  const decimals = formatPico(picoUsd).split('.')[1]?.length ?? 0
  const unit = 10n ** BigInt(12 - decimals)
  return { clause, name, picoUsd, lastDigit: unit < coarsest ? unit : coarsest, when }
}

/** Shown credits out of bounds, until it is known whether the charges or the display was wrong. */
export type WrongDisplays = {
  readonly add: (credit: ShownCredit, spent: bigint, range: AmountRange, requestIds: readonly number[]) => void
  /** The charges are right, so the displays were wrong. */
  readonly confirm: () => void
  readonly drop: () => void
}

export function createWrongDisplays(reporter: ClauseReporter<'ledger'>): WrongDisplays {
  let waiting: readonly (() => void)[] = []
  return {
    add: ({ clause, name, picoUsd }, spent, { min, max }, requestIds) => {
      const balance = picoUsd + spent
      const expected =
        min === max ? formatPico(balance - max) : `${formatPico(balance - max)} to ${formatPico(balance - min)}`
      const message = `${name} is ${formatPico(picoUsd)} USD, expected ${expected}, as the other balances show`
      if (waiting.length < maxWaiting) waiting = [...waiting, () => reporter.fail(clause, message, requestIds)]
    },
    confirm: () => {
      for (const report of waiting) report()
      waiting = []
    },
    drop: () => {
      waiting = []
    },
  }
}

const maxWaiting = 100
