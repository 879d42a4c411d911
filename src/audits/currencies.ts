import type { Say } from '../checks/docket.ts'
import { formatPico } from '../lib/money.ts'
import { fits } from './anchor.ts'
import { type Balances, nothing, type Parts, plus, since, type Taken } from './currency-parts.ts'
import { createReckoning, type Span, type View } from './reckoning.ts'

/** One request, as the two balances of its account see it. */
export type CurrencyEntry = Span & {
  readonly seq: number
  /** null: a success that does not say what it cost. */
  readonly parts: Parts | null
  /** What the answer said the caller had before the request; null: not both of them. */
  readonly balances: Balances | null
  /** The day, by the clock of the target; null: the one or the other. */
  readonly day: number | null
}

/** A request that was alone, so that all that was sent before it is in the balances that it shows. */
type Anchor = { readonly balances: Balances; readonly taken: Taken; readonly day: number | null }

/**
 * Whether each currency lost what answers say was paid in it. Judged where a request was alone, and only where the sum
 * of both is right: that money is missing, or left twice, is told elsewhere. Without a voice nothing is judged.
 */
export function createCurrencies(resolution: bigint, say: Say<'ledger'> | null) {
  let anchor: Anchor | null = null

  function judge({ seq, balances, day }: CurrencyEntry, { certain, before, possible }: View<Taken>) {
    const isAlone = certain.requests === before.requests && possible.requests === before.requests + 1
    if (say === null || !isAlone || balances === null) return
    const earlier = anchor
    anchor = { balances, taken: before, day }
    // At midnight an account is given the credits of the day.
    if (earlier === null || day === null || earlier.day !== day) return
    const taken = since(earlier.taken, before)
    const spent = { usd: earlier.balances.usd - balances.usd, diem: earlier.balances.diem - balances.diem }
    if (taken.unpriced > 0 || !fits(spent.usd + spent.diem, taken.both, 2n * resolution)) return
    const isRight = fits(spent.usd, taken.usd, resolution) && fits(spent.diem, taken.diem, resolution)
    // Of a call of the RPC proxy nobody says in what it was paid.
    if (isRight && taken.usd.least + taken.diem.least === 0n) return
    if (isRight) return say.kept('billing.currency')
    const left = `${formatPico(spent.usd)} USD and ${formatPico(spent.diem)} DIEM left the balances`
    const said = `${formatPico(taken.usd.least)} USD and ${formatPico(taken.diem.least)} DIEM were said to be paid`
    say.broken('billing.currency', `${left}, but ${said}`, [seq])
  }

  return createReckoning<CurrencyEntry, Taken>(nothing, (sum, { parts }) => plus(sum, parts), judge)
}
