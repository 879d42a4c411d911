import { type Contract, methodTier } from '../../contract/contract.ts'
import { plural, quote } from '../../lib/format.ts'
import { memoizeLast } from '../../lib/memoize-last.ts'

import { absDifference, formatPico, parsePico } from '../../lib/money.ts'
import { isDecimal, isWholeNumber } from '../../lib/numbers.ts'
import type { Observation, ObservedResponse, RpcDescriptor } from '../../observation/observation.ts'
import { isReplayed } from '../../observation/response.ts'
import { type Check, type Expect, expectFor } from './check.ts'
import { priceListOf, rpcTolerance } from './price-list.ts'
import { isRpcError, matchItems } from './rpc-response.ts'

/** Checks the exact credits and the cost of an RPC response. */
export const checkRpcCredits: Check<'rpc-credits'> = (observation, contract, reporter) => {
  const { response, request, id, outcome } = observation
  if (request.kind !== 'rpc' || response?.status !== 200 || outcome.kind !== 'answered') return
  const expect = expectFor(reporter, id)
  const priceList = priceListOf(contract)

  const said = response.headers[priceList.creditsHeader]
  const credits = claimedCredits(response, contract)
  expect(
    'rpc.credits.header',
    credits !== null,
    () => `${priceList.creditsHeader} is ${quote(said)}, expected an integer`,
  )
  const price = response.headers[priceList.costHeader] ?? ''
  const cost = isDecimal(price) ? parsePico(price) : null
  expect(
    'rpc.cost.header',
    cost !== null,
    () => `${priceList.costHeader} is ${quote(response.headers[priceList.costHeader])}, expected a decimal string`,
  )

  // It is open whether a replay shows nothing or the first charge again. The ledger judges that it costs nothing.
  if (isReplayed(response) || request.replay?.role === 'conflict' || credits === null) return
  if (cost !== null) {
    const expected = credits * priceList.picoUsdPerCredit
    expect(
      'rpc.cost.amount',
      absDifference(cost, expected) <= rpcTolerance(expected, contract),
      () => `${credits} credits cost ${price} USD, expected about ${formatPico(expected)}`,
    )
  }
  const bill = expectedCredits(observation, contract)
  if (bill !== null) checkAmount(credits, bill, request, contract, expect)
  else if (!hasPrices(request, contract)) reporter.unjudged('rpc.credits.amount', unknownPrice)
}

const unknownPrice = { text: 'nobody states the credits of the network or of a method; the profile may', clause: null }

const hasPrices = ({ network, items }: RpcDescriptor, contract: Contract): boolean =>
  typeof contract.rpc.networks[network]?.baseCredits === 'number' &&
  items.every(({ method }) => methodTier(contract, network, method) !== null)

/** The credits that a response claims; null if it claims none. */
export function claimedCredits(response: ObservedResponse, contract: Contract): bigint | null {
  const said = response.headers[priceListOf(contract).creditsHeader] ?? ''
  return isWholeNumber(said) ? BigInt(said) : null
}

type ExpectedCredits = {
  readonly total: bigint
  /** The valid totals. There are several if the contract leaves a price open. */
  readonly accepted: readonly bigint[]
  readonly failed: number
  /** The cost of the failed items if they had succeeded. */
  readonly failedInFull: number
}

function checkAmount(
  credits: bigint,
  bill: ExpectedCredits,
  request: RpcDescriptor,
  { rpc }: Contract,
  expect: Expect<'rpc.credits.amount' | 'rpc.batch.error-price'>,
): void {
  const { failed, failedInFull, total, accepted } = bill
  const isRight = accepted.includes(credits)
  if (failed > 0 && request.batch) {
    const isOtherPrice = !isRight && isErrorPrice(credits - total, failed, failedInFull, rpc.errorItemCredits)
    expect(
      'rpc.batch.error-price',
      !isOtherPrice,
      () => `${credits} credits for a batch with ${plural(failed, 'failed item')}, expected ${total}`,
    )
    if (isOtherPrice) return
  }
  expect(
    'rpc.credits.amount',
    isRight,
    () => `${credits} credits for ${describe(request)}, expected ${accepted.join(' or ')}`,
  )
}

/**
 * Whether a wrong price of the failed items explains a difference: the same price for each of them, between 0 and the
 * price of a success. Otherwise the price of other items is wrong.
 */
function isErrorPrice(difference: bigint, failed: number, failedInFull: number, errorItemCredits: number): boolean {
  const inFull = BigInt(failedInFull - failed * errorItemCredits)
  const each = Number(difference) / failed + errorItemCredits
  return difference === inFull || (Number.isInteger(each) && each >= 0 && each <= failedInFull / failed)
}

/** The cost of a request by the price list; null if a tier is unknown or the responses cannot be matched with items. */
export const expectedCredits = memoizeLast(
  ({ response, request }: Observation, contract: Contract): ExpectedCredits | null =>
    request.kind !== 'rpc' || response === null ? null : expectedCreditsOf(response, request, contract),
)

function expectedCreditsOf(
  response: ObservedResponse,
  { network, items, batch }: RpcDescriptor,
  contract: Contract,
): ExpectedCredits | null {
  const { multipliers, networks, errorItemCredits, singleErrorIsDiscounted } = contract.rpc
  const base = networks[network]?.baseCredits
  const value = response.body.kind === 'json' ? response.body.value : undefined
  const { byId, faults } = matchItems(items, Array.isArray(value) ? value : [value])
  if (base === undefined || base === null || faults.length > 0) return null
  let [succeeded, failed, failedInFull] = [0, 0, 0]
  for (const item of items) {
    const tier = methodTier(contract, network, item.method)
    if (tier === null) return null
    const full = base * multipliers[tier]
    const response = byId.get(item.id)
    if (isRpcError(response)) {
      failed++
      failedInFull += full
    } else if (response?.result === undefined) return null
    else succeeded += full
  }
  const discounted = BigInt(succeeded + failed * errorItemCredits)
  const inFull = BigInt(succeeded + failedInFull)
  const isOpen = !batch && failed > 0 && singleErrorIsDiscounted === null
  const total = batch || isOpen || singleErrorIsDiscounted ? discounted : inFull
  return { total, accepted: isOpen ? [discounted, inFull] : [total], failed, failedInFull }
}

function describe({ network, items, batch }: RpcDescriptor): string {
  return batch ? `a batch of ${items.length} on ${network}` : `${items[0]?.method} on ${network}`
}
