import type { Contract } from '../../contract/contract.ts'
import { plural } from '../../lib/format.ts'
import type { Observation } from '../../observation/observation.ts'
import type { RpcDescriptor } from '../../observation/requests/rpc.ts'
import { isRpc } from '../../observation/requests/rpc.ts'
import { isReplayed } from '../../observation/response.ts'
import { statedBase, statedTier } from '../checks/price-list.ts'
import { claimedCredits, hasStatedCredits, responsesIn } from '../checks/rpc-credits.ts'
import { isRpcError } from '../checks/rpc-response.ts'
import type { ClauseReporter } from '../findings/findings.ts'
import type { Audit, AuditContext } from './audit.ts'

/** A possible price list of a network: its base credits, and the multiplier of each method. */
type Prices = { readonly base: number | null; readonly multipliers: ReadonlyMap<string, number> }

/** What one response bills. */
type Bill = {
  readonly id: number
  readonly credits: number
  readonly succeeded: readonly string[]
  readonly failed: readonly string[]
  readonly batch: boolean
  readonly network: string
}

const whatOf = ({ batch, network, succeeded, failed }: Bill): string =>
  batch ? `a batch of ${succeeded.length + failed.length} on ${network}` : `${succeeded[0] ?? failed[0]} on ${network}`

/** The price lists that all responses of a network allow. */
type Known = {
  prices: readonly Prices[]
  /** The first response that shows a price. */
  first: Bill | null
  /** Bills with failed items, until a response without failures has shown a price. */
  waiting: readonly Bill[]
}

/** What the responses to one worker allow, by network, as plain data. */
export type ImpliedPrices = ReadonlyMap<string, Pick<Known, 'prices' | 'first'>>

/** Beyond, the responses of a network say too little. */
const maxPrices = 5_000
const maxWaiting = 200
/** Totals that a message names. */
const maxNamed = 3

type Reporter = ClauseReporter<'implied-credits'>

/**
 * Judges credits that are stated nowhere by comparing responses with each other. A network has one base, a whole number, and
 * each of its methods one multiplier. Every response rules out the price lists that it contradicts. One that contradicts
 * all that are left is a violation, and rules out nothing.
 */
export function createImpliedCreditsAudit(
  { contract }: AuditContext,
  reporter: Reporter,
): Audit & { readonly prices: () => ImpliedPrices } {
  const networks = new Map<string, Known>()
  const knownOf = (network: string): Known => {
    const known = networks.get(network) ?? { prices: [initialPrices(network)], first: null, waiting: [] }
    networks.set(network, known)
    return known
  }
  const initialPrices = (network: string): Prices => ({ base: statedBase(contract, network), multipliers: new Map() })

  function judgeWaiting(network: string, known: Known) {
    const { waiting } = known
    known.waiting = []
    for (const bill of waiting) judge(network, known, bill)
  }

  function judge(network: string, known: Known, bill: Bill) {
    if (known.prices.every(prices => isExplained(prices, bill, contract))) return pass(known, bill)
    const possible = withMethods(known.prices, network, bill, contract)
    // Beyond the maximum, too many price lists are possible to tell a wrong one.
    if (possible.length > maxPrices) return
    const fitting = possible.flatMap(prices => explaining(prices, bill, contract))
    if (fitting.length === 0) return report(known, possible, bill)
    known.prices = fitting
    pass(known, bill)
  }

  function pass(known: Known, bill: Bill) {
    if (bill.batch && bill.failed.length > 0 && (known.first !== null || bill.succeeded.length === 0))
      reporter.pass('rpc.batch.error-price')
    if (known.first !== null) reporter.pass('rpc.credits.amount')
    else if (bill.succeeded.length > 0) known.first = bill
  }

  function report({ first }: Known, possible: readonly Prices[], bill: Bill) {
    const { id, credits, failed, batch } = bill
    const totals = [...new Set(possible.flatMap(prices => totalsOf(prices, bill, contract)))]
    const named = totals.length > 0 && totals.length <= maxNamed ? totals.join(' or ') : 'the same prices in all'
    const ids = first === null ? [id] : [first.id, id].toSorted((a, b) => a - b)
    const basis = first === null ? '' : `, as after ${first.credits} credits for ${whatOf(first)}`
    if (batch && failed.length > 0 && (first === null || possible.some(prices => isErrorPrice(prices, bill)))) {
      const message = `${credits} credits for ${whatOf(bill)} with ${plural(failed.length, 'failed item')}, expected ${named}${basis}`
      return reporter.fail('rpc.batch.error-price', message, ids, [id])
    }
    const message = `${credits} credits for ${whatOf(bill)}, expected ${named}${basis}: base × 1, 2 or 4 for each method`
    reporter.fail('rpc.credits.amount', message, ids, [id])
  }

  return {
    add: observation => {
      const { request } = observation
      if (!isRpc(request) || hasStatedCredits(request, contract)) return
      const bill = billOf(observation, request, contract)
      if (bill === null) return
      const known = knownOf(request.network)
      const isEarly = known.first === null && bill.failed.length > 0 && bill.succeeded.length > 0
      if (!isEarly) judge(request.network, known, bill)
      else if (known.waiting.length < maxWaiting) known.waiting = [...known.waiting, bill]
      if (known.first !== null && known.waiting.length > 0) judgeWaiting(request.network, known)
    },
    finish: () => {
      for (const [network, known] of networks) judgeWaiting(network, known)
    },
    prices: () => networks,
  }
}

/** Judges the credits of all workers: one price list of each network must explain the responses to all of them. */
export function checkPricesAcrossWorkers(all: readonly ImpliedPrices[], reporter: Reporter): void {
  for (const network of new Set(all.flatMap(prices => [...prices.keys()]))) {
    const known = all.flatMap(prices => prices.get(network) ?? [])
    const inOrder = known
      .flatMap(({ prices, first }) => (first === null ? [] : [{ prices, first }]))
      .toSorted((a, b) => a.first.id - b.first.id)
    const first = inOrder[0]?.first
    if (first === undefined) continue
    let prices = inOrder[0]?.prices ?? []
    for (const each of inOrder.slice(1)) {
      if (prices.length * each.prices.length > maxPairs) continue
      const common: readonly Prices[] = prices.flatMap(one => each.prices.flatMap(other => agreement(one, other)))
      if (common.length > 0) prices = common
      else {
        const message = `${each.first.credits} credits for ${whatOf(each.first)}, expected the same prices as for another caller, after ${first.credits} credits for ${whatOf(first)}: one base for the network, × 1, 2 or 4 for each method`
        reporter.fail('rpc.credits.amount', message, [first.id, each.first.id])
      }
    }
  }
}

/** Beyond, comparing two workers takes too long. */
const maxPairs = 100_000

/** The price list that two workers can both have; none if they contradict each other. */
function agreement(one: Prices, other: Prices): readonly Prices[] {
  if (one.base !== null && other.base !== null && one.base !== other.base) return []
  for (const [method, multiplier] of other.multipliers)
    if ((one.multipliers.get(method) ?? multiplier) !== multiplier) return []
  return [{ base: one.base ?? other.base, multipliers: new Map([...one.multipliers, ...other.multipliers]) }]
}

/** Null if a response does not tell prices. It is open what a failed single call costs, unless the profile says it. */
function billOf(observation: Observation, request: RpcDescriptor, contract: Contract): Bill | null {
  const { response, outcome, id } = observation
  const { items, batch, network, replay } = request
  if (
    response?.status !== 200 ||
    outcome.kind !== 'answered' ||
    isReplayed(observation, contract) ||
    replay?.role === 'conflict'
  )
    return null
  const credits = claimedCredits(response, contract)
  const responses = responsesIn(response.body.kind === 'json' ? response.body.value : undefined, items)
  if (credits === null || credits > BigInt(Number.MAX_SAFE_INTEGER) || responses === null) return null
  const failed: string[] = []
  const succeeded: string[] = []
  for (let index = 0; index < items.length; index++) {
    const method = items[index]?.method ?? ''
    const one = responses[index]
    if (isRpcError(one)) failed.push(method)
    else if (one?.result === undefined) return null
    else succeeded.push(method)
  }
  const bill = { id, credits: Number(credits), batch, network, succeeded, failed }
  const { singleErrorIsDiscounted, errorItemCredits } = contract.rpc
  if (batch || failed.length === 0 || singleErrorIsDiscounted === true) return bill
  const isDiscounted = singleErrorIsDiscounted === null && bill.credits === errorItemCredits
  return isDiscounted ? null : { ...bill, succeeded: failed, failed: [] }
}

/** Each price list with every possible multiplier of the methods that it does not have yet. */
function withMethods(
  all: readonly Prices[],
  network: string,
  { succeeded }: Bill,
  contract: Contract,
): readonly Prices[] {
  const { multipliers } = contract.rpc
  let extended = all
  for (const method of new Set(succeeded)) {
    if (extended[0]?.multipliers.has(method) !== false) continue
    const tier = statedTier(contract, network, method)
    const possible = tier === null ? Object.values(multipliers) : [multipliers[tier]]
    extended = extended.flatMap(prices =>
      possible.map(multiplier => ({ ...prices, multipliers: new Map(prices.multipliers).set(method, multiplier) })),
    )
    if (extended.length > maxPrices) break
  }
  return extended
}

const sumOf = ({ multipliers }: Prices, methods: readonly string[]): number =>
  methods.reduce((sum, method) => sum + (multipliers.get(method) ?? 0), 0)

/** The price list, with its base, if it explains a bill. */
function explaining(prices: Prices, { credits, succeeded, failed }: Bill, { rpc }: Contract): readonly Prices[] {
  const paid = credits - failed.length * rpc.errorItemCredits
  const times = sumOf(prices, succeeded)
  if (times === 0) return paid === 0 ? [prices] : []
  const base = prices.base ?? paid / times
  return Number.isInteger(base) && base >= 0 && base * times === paid ? [{ ...prices, base }] : []
}

/** Whether a price list explains a bill as it is. */
function isExplained(prices: Prices, { credits, succeeded, failed }: Bill, { rpc }: Contract): boolean {
  const { base, multipliers } = prices
  if (base === null || !succeeded.every(method => multipliers.has(method))) return false
  return base * sumOf(prices, succeeded) === credits - failed.length * rpc.errorItemCredits
}

/** The total of a bill by a price list; none if its base is unknown. */
const totalsOf = (prices: Prices, { succeeded, failed }: Bill, { rpc }: Contract): readonly number[] =>
  prices.base === null && succeeded.length > 0
    ? []
    : [(prices.base ?? 0) * sumOf(prices, succeeded) + failed.length * rpc.errorItemCredits]

/** Whether one price for each failed item, at most that of the dearest method, explains a bill. */
function isErrorPrice(prices: Prices, { credits, succeeded, failed }: Bill): boolean {
  const each = (credits - (prices.base ?? 0) * sumOf(prices, succeeded)) / failed.length
  return each >= 0 && each <= (prices.base ?? 0) * Math.max(1, ...prices.multipliers.values())
}
