import type { Say } from '../checks/findings.ts'
import { formatPico } from '../lib/money.ts'
import type { Balances } from './paid.ts'
import { fits, type Range } from './range.ts'
import type { View } from './reckoning.ts'
import { since, type Turnover } from './turnover.ts'

/** One request, as the two balances of its account see it. */
export type CurrencyEntry = {
  readonly seq: number
  /** What the answer said the caller had before the request; null: not both of them. */
  readonly balances: Balances | null
  /** The day, by the clock of the target; null: the one or the other. */
  readonly day: number | null
}

/** A request that was alone, so that all that was sent before it is in the balances that it shows. */
type Anchor = { readonly balances: Balances; readonly taken: Turnover; readonly day: number | null }

/**
 * Whether each currency lost what answers say was paid in it. Judged where a request was alone, and only where the sum
 * of both is right: that money is missing, or left twice, is told elsewhere.
 */
export function createCurrencies(
  resolution: bigint,
  say: Say<'ledger'>,
): (entry: CurrencyEntry, view: View<Turnover>) => void {
  let anchor: Anchor | null = null

  return ({ seq, balances, day }, { certain, before, possible }) => {
    const isAlone = certain.requests === before.requests && possible.requests === before.requests + 1
    if (!isAlone || balances === null) return
    const earlier = anchor
    anchor = { balances, taken: before, day }
    // At midnight an account is given the credits of the day.
    if (earlier === null || day === null || earlier.day !== day) return
    const taken = since(earlier.taken, before)
    const { late } = earlier.taken
    const spent = { usd: earlier.balances.usd - balances.usd, diem: earlier.balances.diem - balances.diem }
    const both = { least: taken.least, most: taken.most + late }
    if (taken.unpriced > 0 || !fits(spent.usd + spent.diem, both, 2n * resolution)) return
    const inEither = taken.either + late
    const [usd, diem] = [widened(taken.usd, inEither), widened(taken.diem, inEither)]
    const isRight = fits(spent.usd, usd, resolution) && fits(spent.diem, diem, resolution)
    // Of a call of the RPC proxy nobody says in what it was paid.
    if (isRight && usd.least + diem.least === 0n) return
    if (isRight) return say.kept('billing.currency')
    const left = `${formatPico(spent.usd)} USD and ${formatPico(spent.diem)} DIEM left the balances`
    const said = `${formatPico(usd.least)} USD and ${formatPico(diem.least)} DIEM were said to be paid`
    say.broken('billing.currency', `${left}, but ${said}`, [seq])
  }
}

const widened = ({ least, most }: Range, by: bigint): Range => ({ least, most: most + by })
