import { formatPico } from '../../../lib/money.ts'
import type { Say } from '../../checks/findings.ts'
import type { SumBounds } from '../overlap-bounds.ts'
import { type AmountRange, type Balances, type ChargeTotals, isWithin, totalsBetween } from './charge.ts'

/** One request, as the two balances of its account see it. */
export type CurrencyEntry = {
  readonly seq: number
  /** What the answer said the caller had before the request; null: not both of them. */
  readonly balances: Balances | null
  /** The day, by the clock of the target; null: the one or the other. */
  readonly day: number | null
}

/** A request that was alone, so that all that was sent before it is in the balances that it shows. */
type CurrencyCheckpoint = { readonly balances: Balances; readonly taken: ChargeTotals; readonly day: number | null }

/**
 * Whether each currency lost what answers say was paid in it. Judged where a request was alone, and only where the sum
 * of both is right: that money is missing, or left twice, is told elsewhere.
 */
export function createCurrencies(
  resolution: bigint,
  say: Say<'ledger'>,
): (entry: CurrencyEntry, view: SumBounds<ChargeTotals>) => void {
  let checkpoint: CurrencyCheckpoint | null = null

  return ({ seq, balances, day }, { certain, before, possible }) => {
    const isAlone = certain.requests === before.requests && possible.requests === before.requests + 1
    if (!isAlone || balances === null) return
    const earlier = checkpoint
    checkpoint = { balances, taken: before, day }
    // At midnight an account is given the credits of the day.
    if (earlier === null || day === null || earlier.day !== day) return
    const taken = totalsBetween(earlier.taken, before)
    const { late } = earlier.taken
    const spent = { usd: earlier.balances.usd - balances.usd, diem: earlier.balances.diem - balances.diem }
    const both = { min: taken.min, max: taken.max + late }
    if (taken.unpriced > 0 || !isWithin(spent.usd + spent.diem, both, 2n * resolution)) return
    const inEither = taken.either + late
    const [usd, diem] = [widened(taken.usd, inEither), widened(taken.diem, inEither)]
    const isRight = isWithin(spent.usd, usd, resolution) && isWithin(spent.diem, diem, resolution)
    // Of a call of the RPC proxy nobody says in what it was paid.
    if (isRight && usd.min + diem.min === 0n) return
    if (isRight) return say.kept('billing.currency')
    const left = `${formatPico(spent.usd)} USD and ${formatPico(spent.diem)} DIEM left the balances`
    const said = `${formatPico(usd.min)} USD and ${formatPico(diem.min)} DIEM were said to be paid`
    say.broken('billing.currency', `${left}, but ${said}`, [seq])
  }
}

const widened = ({ min, max }: AmountRange, by: bigint): AmountRange => ({ min, max: max + by })
