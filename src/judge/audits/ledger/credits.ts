import type { Contract } from '../../../contract/contract.ts'
import { absDifference, pico } from '../../../lib/money.ts'
import { failedBeforeSend, type Observation } from '../../../observation/observation.ts'
import { isUndecided, recordedOutcome } from '../../../observation/payments.ts'
import { paymentIn, refusalOf } from '../../../observation/requests/wallets.ts'
import { is2xx, isFromGateway } from '../../../observation/response.ts'
import { clauseOfRefusal, paymentResult } from '../../checks/payments.ts'
import type { ClauseReporter } from '../../findings/findings.ts'
import type { AmountRange } from './prices.ts'

/** What a request adds to the credit of its wallet: a payment. All amounts in pico-USD. */
export type Credit = AmountRange & {
  /** The amount of the payment. */
  readonly paid: bigint
  /** The clause that is violated if another amount is credited. */
  readonly clause: CreditClause
  /** Whether it may arrive only after the response: its settlement failed for the target, and may still reach the chain. */
  readonly isLate: boolean
}

export type CreditClause =
  | 'wallet.top-up.credit'
  | 'wallet.top-up.once'
  | 'wallet.top-up.least'
  | 'wallet.top-up.invalid'

/** Payments of unknown fate are remembered, and the latest of the others. */
const maxPayments = 10_000

type Known = AmountRange & {
  /** The first success of its requests. */
  readonly success: { readonly id: number; readonly endMs: number; readonly paymentId: string | null } | null
}

/**
 * The credits of payments, in the order of sending. Several requests may carry one payment, which counts once: each adds
 * what it tells beyond the earlier ones. A payment without a complete response may or may not be credited.
 */
export function createCredits(
  contract: Contract,
  reporter: ClauseReporter<'ledger'>,
): (observation: Observation) => Credit | null {
  const known = new Map<string, Known>()

  function judgeAgain({ id, sentMs, response }: Observation, success: NonNullable<Known['success']>) {
    if (response === null || sentMs === null || isUndecided(response.status)) return
    const { status } = response
    const { amountCredited, paymentId } = paymentResult(response)
    const isSame = paymentId !== null && paymentId === success.paymentId
    if (!is2xx(status)) {
      reporter.pass('wallet.top-up.once')
      if (sentMs < success.endMs) return
      const expected = contract.wallets.topUp.refusals.replayed.status
      if (status === expected) reporter.pass('wallet.top-up.refusal')
      else
        reporter.fail('wallet.top-up.refusal', `a replayed payment got status ${status}, expected ${expected}`, [
          success.id,
          id,
        ])
    } else if (amountCredited !== null && amountCredited > 0n && !isSame)
      reporter.fail(
        'wallet.top-up.once',
        `a payment that was accepted before got status ${status} and credit again, expected it to be refused`,
        [success.id, id],
      )
  }

  return observation => {
    const { request, sentMs } = observation
    const payment = paymentIn(request)
    if (payment === null || sentMs === null) return null
    const paid = pico(payment.usd)
    const wrong = refusalOf(payment, contract)
    if (wrong !== null) {
      // The service may believe what the payment states.
      const stated = payment.invalid === 'above-signed' ? 2n * paid : paid
      return { min: 0n, max: 0n, paid: stated, clause: clauseOfRefusal(wrong), isLate: false }
    }
    const before = known.get(payment.id) ?? { min: 0n, max: 0n, success: null }
    if (before.success !== null) judgeAgain(observation, before.success)
    if (before.max === 0n && isTried(observation))
      return { min: 0n, max: paid, paid, clause: 'wallet.top-up.credit', isLate: true }
    const own = creditOf(observation, paid)
    const after: Known = {
      min: larger(before.min, own.min),
      max: larger(before.max, own.max),
      success: before.success ?? successOf(observation),
    }
    known.set(payment.id, after)
    if (known.size > maxPayments) known.delete(known.keys().next().value ?? '')
    const clause = before.max > 0n ? 'wallet.top-up.once' : 'wallet.top-up.credit'
    return { min: after.min - before.min, max: after.max - before.max, paid, clause, isLate: false }
  }

  /** What one request tells about the credit of its payment. */
  function creditOf({ outcome, response }: Observation, paid: bigint): AmountRange {
    const [none, open] = [
      { min: 0n, max: 0n },
      { min: 0n, max: paid },
    ]
    if (outcome.kind === 'dropped') return none
    if (outcome.kind === 'failed') return failedBeforeSend.includes(outcome.reason) ? none : open
    if (response === null || isFromGateway(response, contract)) return open
    if (is2xx(response.status)) return { min: paid, max: paid }
    return recordedOutcome(response, contract.wallets) === 'refused' ? none : open
  }

  /** Whether a settlement was tried and failed. */
  function isTried({ response }: Observation): boolean {
    if (response === null || is2xx(response.status) || isUndecided(response.status)) return false
    return recordedOutcome(response, contract.wallets) === 'unknown'
  }
}

const larger = (a: bigint, b: bigint): bigint => (a > b ? a : b)

function successOf({ id, endMs, response }: Observation): Known['success'] {
  if (response === null || endMs === null || !is2xx(response.status)) return null
  return { id, endMs, paymentId: paymentResult(response).paymentId }
}

/** Differences below this share of a payment are about the charges: a thousandth. */
const leastShare = 1_000n

/** The latest payments of a wallet that may explain a difference. */
export const maxSuspects = 10

/** The payments of a wallet since the last certain balance, and some before it. */
export type Suspects = { readonly recent: readonly Credit[]; readonly earlier: readonly Credit[] }

/**
 * The clause that a difference at a balance violates if payments explain it and charges cannot; null: charges can.
 * `amount` is negative if too much was credited. `charges`: the maximum of the requests that may explain it.
 */
export function creditAtFault(
  amount: bigint,
  { recent, earlier }: Suspects,
  charges: bigint,
  resolution: bigint,
): { readonly kind: 'overcredited' | 'undercredited'; readonly clause: CreditClause } | null {
  const size = amount < 0n ? -amount : amount
  const tolerance = charges + resolution
  const isLarge = [...earlier, ...recent].some(({ paid }) => size * leastShare >= paid)
  if (!isLarge || size <= tolerance) return null
  if (amount > 0n) return recent.length === 0 ? null : { kind: 'undercredited', clause: 'wallet.top-up.credit' }
  // A payment that was refused may be credited later.
  const exact = fewestThatSum([...recent.toReversed(), ...earlier.toReversed()], size, tolerance)
  if (exact === null && recent.length === 0) return null
  const forbidden = (exact ?? recent).find(({ clause }) => clause !== 'wallet.top-up.credit')
  return { kind: 'overcredited', clause: forbidden?.clause ?? 'wallet.top-up.credit' }
}

/** The fewest payments whose amounts make a sum, the first of them if there are several; null: none do. */
function fewestThatSum(all: readonly Credit[], sum: bigint, tolerance: bigint): readonly Credit[] | null {
  const credits = all.slice(0, maxSuspects)
  let found: readonly Credit[] | null = null
  for (let subset = 1; subset < 2 ** credits.length; subset++) {
    const chosen = credits.filter((_, index) => (subset >> index) % 2 === 1)
    if (found !== null && found.length <= chosen.length) continue
    const total = chosen.reduce((paid, credit) => paid + credit.paid, 0n)
    if (absDifference(total, sum) <= tolerance) found = chosen
  }
  return found
}
