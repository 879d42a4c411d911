import { formatPico } from '../../../lib/money.ts'
import type { ClauseReporter } from '../../findings/findings.ts'
import type { SumBounds } from '../overlap-bounds.ts'
import { type Balances, type ChargeBounds, isCharge, isWithin, type PaidByCurrency } from './charge.ts'
import type { AmountRange } from './prices.ts'

const zeroRange: AmountRange = { min: 0n, max: 0n }

/** The total charges of a set of requests. All amounts in pico-USD; a DIEM counts as a USD. */
export type ChargeTotals = {
  readonly requests: number
  readonly min: bigint
  readonly max: bigint
  readonly charged: bigint
  readonly chargedRequests: number
  /** The cost of the replays among them, had they been charged. */
  readonly replayed: bigint
  readonly replays: number
  /** Requests that the RPC proxy rejected. */
  readonly refusals: number
  /** Completions that their client left, what they may cost by the profile, and the maximum that a wrong service may take. */
  readonly left: number
  readonly leftMin: bigint
  readonly leftMax: bigint
  readonly leftMost: bigint
  /** The best guess of what they cost. */
  readonly leftSaid: bigint
  /** Successful requests that do not state their cost. */
  readonly unpriced: number
  /** The claimed payments by currency, and how much of `max` they are. The rest was paid in an unstated currency. */
  readonly usd: AmountRange
  readonly diem: AmountRange
  readonly stated: bigint
  /** The maximum that requests without a response may still charge, long after they were cancelled. */
  readonly late: bigint
  /** What payments of a wallet have added to its credit. */
  readonly credit: AmountRange
  /** What a service may hold of the balance while it runs these requests, in addition to what they then cost. */
  readonly held: bigint
}

export const zeroTotals: ChargeTotals = {
  requests: 0,
  min: 0n,
  max: 0n,
  charged: 0n,
  chargedRequests: 0,
  replayed: 0n,
  replays: 0,
  refusals: 0,
  left: 0,
  leftMin: 0n,
  leftMax: 0n,
  leftMost: 0n,
  leftSaid: 0n,
  unpriced: 0,
  usd: zeroRange,
  diem: zeroRange,
  stated: 0n,
  late: 0n,
  credit: zeroRange,
  held: 0n,
}

/**
 * The charge of one request. `paid` is null if the response does not state the currency, and `credit` unless it paid for
 * credit.
 */
export type ChargedRequest = {
  readonly charge: ChargeBounds | null
  readonly paid: PaidByCurrency | null
  readonly credit: AmountRange | null
  readonly held: bigint
}

/** Most calls have the charge of the one before. It is stored once. */
export function createKeptCharge(): (request: ChargedRequest) => ChargedRequest {
  let last: ChargedRequest = { charge: null, paid: null, credit: null, held: 0n }
  return ({ charge, paid, credit, held }) => {
    const isPlain = paid === null && last.paid === null && credit === null && last.credit === null
    if (!isPlain || held !== last.held || !isSameCharge(charge, last.charge)) last = { charge, paid, credit, held }
    return last
  }
}

const isSameCharge = (a: ChargeBounds | null, b: ChargeBounds | null): boolean =>
  a === b || (a !== null && b !== null && a.kind === b.kind && a.min === b.min && a.max === b.max && a.said === b.said)

export function addToTotals(sum: ChargeTotals, { charge, paid, credit, held }: ChargedRequest): ChargeTotals {
  if (charge === null) return { ...sum, requests: sum.requests + 1, unpriced: sum.unpriced + 1 }
  const { kind, said, min, max } = charge
  const isCharged = isCharge(charge)
  const isReplay = kind === 'replay'
  const isLeft = kind === 'left'
  return {
    requests: sum.requests + 1,
    min: sum.min + min,
    max: sum.max + max,
    charged: isCharged ? sum.charged + said : sum.charged,
    chargedRequests: isCharged ? sum.chargedRequests + 1 : sum.chargedRequests,
    replayed: isReplay ? sum.replayed + said : sum.replayed,
    replays: isReplay ? sum.replays + 1 : sum.replays,
    refusals: kind === 'refused' ? sum.refusals + 1 : sum.refusals,
    left: isLeft ? sum.left + 1 : sum.left,
    leftMin: isLeft ? sum.leftMin + min : sum.leftMin,
    leftMax: isLeft ? sum.leftMax + max : sum.leftMax,
    leftMost: isLeft ? sum.leftMost + (charge.most ?? 0n) : sum.leftMost,
    leftSaid: isLeft ? sum.leftSaid + said : sum.leftSaid,
    unpriced: sum.unpriced,
    usd: paid === null ? sum.usd : addRanges(sum.usd, paid.usd),
    diem: paid === null ? sum.diem : addRanges(sum.diem, paid.diem),
    stated: paid === null ? sum.stated : sum.stated + max,
    late: kind === 'unknown' ? sum.late + max : sum.late,
    credit: credit === null ? sum.credit : addRanges(sum.credit, credit),
    held: sum.held + held,
  }
}

/** The difference of two cumulative totals. The later one includes the earlier one. */
export function totalsBetween(earlier: ChargeTotals, later: ChargeTotals): ChargeTotals {
  return {
    requests: later.requests - earlier.requests,
    min: later.min - earlier.min,
    max: later.max - earlier.max,
    charged: later.charged - earlier.charged,
    chargedRequests: later.chargedRequests - earlier.chargedRequests,
    replayed: later.replayed - earlier.replayed,
    replays: later.replays - earlier.replays,
    refusals: later.refusals - earlier.refusals,
    left: later.left - earlier.left,
    leftMin: later.leftMin - earlier.leftMin,
    leftMax: later.leftMax - earlier.leftMax,
    leftMost: later.leftMost - earlier.leftMost,
    leftSaid: later.leftSaid - earlier.leftSaid,
    unpriced: later.unpriced - earlier.unpriced,
    usd: rangeBetween(earlier.usd, later.usd),
    diem: rangeBetween(earlier.diem, later.diem),
    stated: later.stated - earlier.stated,
    late: later.late - earlier.late,
    credit: rangeBetween(earlier.credit, later.credit),
    held: later.held - earlier.held,
  }
}

/** What may be held for other requests while one is in progress. */
export const heldOfOthers = (
  { held }: Pick<ChargedRequest, 'held'>,
  { certain, possible }: SumBounds<ChargeTotals>,
): bigint => possible.held - certain.held - held

const addRanges = (a: AmountRange, b: AmountRange): AmountRange => ({ min: a.min + b.min, max: a.max + b.max })

const rangeBetween = (earlier: AmountRange, later: AmountRange): AmountRange => ({
  min: later.min - earlier.min,
  max: later.max - earlier.max,
})

/** One request, as the two balances of its account see it. */
export type CurrencyEntry = {
  readonly id: number
  /** The balances before the request, as its response states them; null if one is missing. */
  readonly balances: Balances | null
  /** The day on the target's clock; null if it is uncertain. */
  readonly day: number | null
}

/** A request that did not overlap others, so its displayed balances include all earlier requests. */
type CurrencyCheckpoint = { readonly balances: Balances; readonly taken: ChargeTotals; readonly day: number | null }

/**
 * Checks that each currency decreased by the claimed payments in it. Judged for requests that did not overlap others,
 * and only if the sum of both is correct: other findings report missing or doubly taken money.
 */
export function createCurrencies(
  lastDigit: () => bigint,
  reporter: ClauseReporter<'ledger'>,
): (entry: CurrencyEntry, view: SumBounds<ChargeTotals>) => void {
  let checkpoint: CurrencyCheckpoint | null = null

  return ({ id, balances, day }, { certain, before, possible }) => {
    const resolution = 2n * lastDigit()
    const isAlone = certain.requests === before.requests && possible.requests === before.requests + 1
    if (!isAlone || balances === null) return
    const earlier = checkpoint
    checkpoint = { balances, taken: before, day }
    // At midnight an account receives its daily credits.
    if (earlier === null || day === null || earlier.day !== day) return
    const taken = totalsBetween(earlier.taken, before)
    const { late } = earlier.taken
    const spent = { usd: earlier.balances.usd - balances.usd, diem: earlier.balances.diem - balances.diem }
    const both = { min: taken.min, max: taken.max + late }
    if (taken.unpriced > 0 || !isWithin(spent.usd + spent.diem, both, resolution)) return
    const inEither = taken.max - taken.stated + late
    const [usd, diem] = [widened(taken.usd, inEither), widened(taken.diem, inEither)]
    // What the sum of both may be off, one of them may be off alone.
    const isRight = isWithin(spent.usd, usd, resolution) && isWithin(spent.diem, diem, resolution)
    // RPC calls do not state their currency.
    if (isRight && usd.min + diem.min === 0n) return
    if (isRight) return reporter.pass('billing.currency')
    const left = `${formatPico(spent.usd)} USD and ${formatPico(spent.diem)} DIEM left the balances`
    const said = `${formatPico(usd.min)} USD and ${formatPico(diem.min)} DIEM were claimed`
    reporter.fail('billing.currency', `${left}, but ${said}`, [id])
  }
}

const widened = ({ min, max }: AmountRange, by: bigint): AmountRange => ({ min, max: max + by })
