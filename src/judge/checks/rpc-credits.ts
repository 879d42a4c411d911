import type { Contract } from '../../contract/contract.ts'
import { plural, quote } from '../../lib/format.ts'
import { type JsonObject, toObject } from '../../lib/json.ts'
import { memoizeLast } from '../../lib/memoize.ts'
import { absDifference, formatPico, maxWholeDigits } from '../../lib/money.ts'
import { isDecimal, isWholeNumber } from '../../lib/numbers.ts'
import type { ObservationOf, ObservedResponse } from '../../observation/observation.ts'
import { requestTraits } from '../../observation/requests/request.ts'
import type { RpcDescriptor, RpcItem } from '../../observation/requests/rpc.ts'
import { is2xx, isReplayed } from '../../observation/response.ts'
import type { ClauseReporter } from '../findings/findings.ts'
import type { Check } from './check.ts'
import { priceListOf, priceOfCredits, statedBase, statedCost, statedTier } from './price-list.ts'
import { isRpcError, matchItems } from './rpc-response.ts'

/** Checks the exact credits and the cost of an RPC response. */
export const checkRpcCredits: Check<'rpc-credits', RpcDescriptor> = (observation, contract, reporter) => {
  const { response, request, id } = observation
  if (response === null || !is2xx(response.status)) return
  const { creditsHeader, costHeader } = priceListOf(contract)
  const { headers } = response

  const credits = claimedCredits(response, contract)
  if (credits !== null) reporter.pass('rpc.credits.header')
  else {
    const said = headers[creditsHeader]
    const expected = isWholeNumber(said ?? '') ? `at most ${maxWholeDigits} digits` : 'an integer'
    const message = `${creditsHeader} is ${quote(said)}, expected ${expected}`
    reporter.fail('rpc.credits.header', message, [id])
  }
  const price = headers[costHeader] ?? ''
  const isPrice = isDecimal(price)
  if (isPrice) reporter.pass('rpc.cost.header')
  else {
    const message = `${costHeader} is ${quote(headers[costHeader])}, expected a decimal string`
    reporter.fail('rpc.cost.header', message, [id])
  }

  // It is open whether a replay shows nothing or the first charge again. The ledger judges that it costs nothing.
  if (isReplayed(observation, contract) || request.replay?.role === 'conflict' || credits === null) return
  if (isPrice) {
    const cost = statedCost(price)
    const { usd, tolerance } = priceOfCredits(credits, contract)
    if (cost !== null && absDifference(cost, usd) <= tolerance) reporter.pass('rpc.cost.amount')
    else {
      const said = cost === null ? `more than ${maxWholeDigits} digits of` : price
      const message = `${credits} credits cost ${said} USD, expected about ${formatPico(usd)}`
      reporter.fail('rpc.cost.amount', message, [id])
    }
  }
  const bill = expectedCredits(observation, contract)
  if (bill !== null) checkAmount(credits, bill, request, contract, reporter, id)
  else if (!hasStatedCredits(request, contract)) reporter.unjudged('rpc.credits.amount', unknownPrice)
}

/** Checks that the rejection of a whole request to the RPC proxy states no charge. */
export const checkRefusedCredits: Check<'rpc-credits'> = ({ response, request, id }, contract, reporter) => {
  if (response === null || response.status < 400 || response.status >= 500) return
  if (requestTraits(request).service(request, contract) !== 'rpc') return
  const credits = claimedCredits(response, contract)
  if (credits === null) return
  if (credits === 0n) return reporter.pass('rpc.refused.free')
  const { creditsHeader } = priceListOf(contract)
  const message = `${creditsHeader} is ${credits} on a ${response.status}, expected no charge`
  reporter.fail('rpc.refused.free', message, [id])
}

const unknownPrice = {
  text: 'the credits of the network or of a method are not stated; the profile may state them',
  clause: null,
}

/** Whether the credits of all items are stated, so that responses need not be compared with each other. */
export const hasStatedCredits = (request: RpcDescriptor, contract: Contract): boolean =>
  creditsInFull(request, contract) !== null

/** The credits of a request of which no item fails; null if they are not stated. */
export function creditsInFull({ network, items }: RpcDescriptor, contract: Contract): number | null {
  const base = statedBase(contract, network)
  if (base === null) return null
  let credits = 0
  for (const { method } of items) {
    const tier = statedTier(contract, network, method)
    if (tier === null) return null
    credits += base * contract.rpc.multipliers[tier]
  }
  return credits
}

/** The credits that a response claims; null if it claims none, or too many for any sum. */
export function claimedCredits(response: ObservedResponse, contract: Contract): bigint | null {
  return creditsIn(response.headers[priceListOf(contract).creditsHeader] ?? '')
}

/** Several judges read the credits of a response, and the next response often claims the same. */
const creditsIn = memoizeLast((said: string) =>
  isWholeNumber(said) && said.length <= maxWholeDigits ? BigInt(said) : null,
)

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
  reporter: ClauseReporter<'rpc-credits'>,
  id: number,
) {
  const { failed, failedInFull, total, accepted } = bill
  const isRight = accepted.includes(credits)
  if (failed > 0 && request.batch) {
    if (!isRight && isErrorPrice(credits - total, failed, failedInFull, rpc.errorItemCredits)) {
      const message = `${credits} credits for a batch with ${plural(failed, 'failed item')}, expected ${total}`
      return reporter.fail('rpc.batch.error-price', message, [id])
    }
    reporter.pass('rpc.batch.error-price')
  }
  if (isRight) return reporter.pass('rpc.credits.amount')
  const message = `${credits} credits for ${describe(request)}, expected ${accepted.join(' or ')}`
  reporter.fail('rpc.credits.amount', message, [id])
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
  ({ response, request }: ObservationOf<RpcDescriptor>, contract: Contract): ExpectedCredits | null =>
    response === null ? null : expectedCreditsOf(response, request, contract),
)

function expectedCreditsOf(
  response: ObservedResponse,
  { network, items, batch }: RpcDescriptor,
  contract: Contract,
): ExpectedCredits | null {
  const { multipliers, errorItemCredits, singleErrorIsDiscounted } = contract.rpc
  const base = statedBase(contract, network)
  const value = response.body.kind === 'json' ? response.body.value : undefined
  if (base === null) return null
  const responses = responsesIn(value, items)
  if (responses === null) return null
  let [succeeded, failed, failedInFull] = [0, 0, 0]
  for (let index = 0; index < items.length; index++) {
    const tier = statedTier(contract, network, items[index]?.method ?? '')
    if (tier === null) return null
    const full = base * multipliers[tier]
    const response = responses[index]
    if (isRpcError(response)) {
      failed++
      failedInFull += full
    } else if (response?.result === undefined) return null
    else succeeded += full
  }
  if (failed === 0) return billWithoutErrors(succeeded)
  const discounted = BigInt(succeeded + failed * errorItemCredits)
  const inFull = BigInt(succeeded + failedInFull)
  const isOpen = !batch && failed > 0 && singleErrorIsDiscounted === null
  const total = batch || isOpen || singleErrorIsDiscounted ? discounted : inFull
  return { total, accepted: isOpen ? [discounted, inFull] : [total], failed, failedInFull }
}

/** Nearly all bills are of this kind, and the next one is often the same. */
const billWithoutErrors = memoizeLast((credits: number): ExpectedCredits => {
  const total = BigInt(credits)
  return { total, accepted: [total], failed: 0, failedInFull: 0 }
})

/** The response to each item, in their order; null if they cannot be matched. A single response needs no search. */
export function responsesIn(value: unknown, items: readonly RpcItem[]): readonly (JsonObject | undefined)[] | null {
  const [item] = items
  if (items.length === 1 && item !== undefined && !Array.isArray(value)) {
    const response = toObject(value)
    return response?.id === item.id ? [response] : null
  }
  const { byId, faults } = matchItems(items, Array.isArray(value) ? value : [value])
  return faults.length > 0 ? null : items.map(({ id }) => byId.get(id))
}

function describe({ network, items, batch }: RpcDescriptor): string {
  return batch ? `a batch of ${items.length} on ${network}` : `${items[0]?.method} on ${network}`
}
