import { type Contract, methodTier } from '../contract/contract.ts'
import { distance, formatPico, parsePico, pico } from '../lib/money.ts'
import type { Observation, RpcAsked } from '../observation/observation.ts'
import { isReplayed } from '../observation/scope.ts'
import { type Check, quote } from './check.ts'
import { correlate, isError } from './correlate.ts'

/** Credits and cost of an answer of the RPC proxy, to the credit. */
export const checkRpcCredits: Check<'rpc-credits'> = (observation, contract, say) => {
  const { answer, asked, seq, outcome } = observation
  if (asked.kind !== 'rpc' || answer?.status !== 200 || outcome.kind !== 'answered') return
  const expect = (clause: Parameters<typeof say.kept>[0], kept: boolean, because: () => string) =>
    kept ? say.kept(clause) : say.broken(clause, because(), [seq])

  const said = answer.headers[`${contract.headerPrefix}rpc-credits`]
  const credits = /^\d+$/.test(said ?? '') ? BigInt(said ?? '') : null
  expect('rpc.credits.header', credits !== null, () => `rpc-credits is ${quote(said)}, expected an integer`)
  const price = answer.headers[`${contract.headerPrefix}rpc-cost-usd`]
  const cost = price === undefined ? null : parsePico(price)
  expect(
    'rpc.cost.header',
    cost !== null && /^\d+(\.\d+)?$/.test(price ?? ''),
    () => `rpc-cost-usd is ${quote(price)}, expected a decimal string`,
  )

  // What a replay shows here (nothing, or the first charge again) is open; that it costs nothing is the ledger's.
  if (isReplayed(answer) || asked.replay?.role === 'conflict' || credits === null) return
  if (cost !== null) {
    const expected = credits * pico(contract.rpc.usdPerCredit)
    const rounding = 10n ** BigInt(12 - contract.rpc.costDecimals)
    const about = (expected * BigInt(Math.round(contract.rpc.priceTolerance * 1e9))) / 1_000_000_000n
    expect(
      'rpc.cost.amount',
      distance(cost, expected) <= rounding + about,
      () => `${credits} credits cost ${price} USD, expected about ${formatPico(expected)}`,
    )
  }

  const bill = expectedCredits(observation, asked, contract)
  if (bill === null) return
  const { failed, failedInFull, total } = bill
  const fits = bill.accepts.includes(credits)
  if (failed > 0 && asked.batch) {
    const misread = !fits && isErrorPrice(credits - total, failed, failedInFull, contract.rpc.errorItemCredits)
    expect(
      'rpc.batch.error-price',
      !misread,
      () => `${credits} credits for a batch with ${failed} failed items, expected ${total}`,
    )
    if (misread) return
  }
  expect('rpc.credits.amount', fits, () => `${credits} credits for ${describe(asked)}, expected ${total}`)
}

/**
 * Whether a difference is what another price of the failed items would make: the same for each of them, and between
 * nothing and the price of a success. Any other difference lies with the other items.
 */
function isErrorPrice(difference: bigint, failed: number, failedInFull: number, errorItemCredits: number): boolean {
  const each = Number(difference) / failed
  const inFull = BigInt(failedInFull - failed * errorItemCredits)
  return (
    difference === inFull ||
    (Number.isInteger(each) && each >= -errorItemCredits && each + errorItemCredits <= failedInFull / failed)
  )
}

/** What the request costs by the tariff; null where a tier is not known or the responses cannot be paired. */
export function expectedCredits(
  { answer }: Observation,
  { network, items, batch }: RpcAsked,
  contract: Contract,
): {
  readonly total: bigint
  readonly failed: number
  readonly failedInFull: number
  readonly accepts: readonly bigint[]
} | null {
  const { multipliers, networks, errorItemCredits, singleErrorIsDiscounted } = contract.rpc
  const base = networks[network]?.baseCredits
  const value = answer?.body.kind === 'json' ? answer.body.value : undefined
  const { byId, faults } = correlate(items, Array.isArray(value) ? value : [value])
  if (base === undefined || faults.length > 0) return null
  let [total, whole, failed, failedInFull] = [0, 0, 0, 0]
  for (const item of items) {
    const tier = methodTier(contract, network, item.method)
    if (tier === null) return null
    const full = base * multipliers[tier]
    const response = byId.get(item.id)
    const errs = isError(response)
    if (!errs && response?.result === undefined) return null
    whole += full
    total += errs ? errorItemCredits : full
    if (errs) {
      failed++
      failedInFull += full
    }
  }
  const accepts =
    batch || failed === 0
      ? [total]
      : singleErrorIsDiscounted === null
        ? [total, whole]
        : [singleErrorIsDiscounted ? total : whole]
  return {
    total: accepts[0] === undefined ? BigInt(total) : BigInt(accepts[0]),
    failedInFull,
    failed,
    accepts: accepts.map(BigInt),
  }
}

function describe({ network, items, batch }: RpcAsked): string {
  return batch ? `a batch of ${items.length} on ${network}` : `${items[0]?.method} on ${network}`
}
