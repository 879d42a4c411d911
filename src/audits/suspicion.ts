import type { Say } from '../checks/findings.ts'
import { formatPico } from '../lib/money.ts'
import type { Discrepancies } from './discrepancies.ts'
import { describeRange, excessOf, fits, type Range } from './range.ts'

/** A balance that was out of bounds, which may be a fault of the money or of what was shown. */
export type Suspicion = {
  readonly seq: number
  /** What had left the balance since the anchor, and what is accounted for. */
  readonly spent: bigint
  readonly range: Range
  /** The last charge, where it is that which is missing. */
  readonly missing: bigint | null
}

/** Whether a later balance fits as well if the suspicion was right: then what is open about its charges hides it. */
export function mayBeMoney(suspicion: Suspicion, spent: bigint, range: Range, resolution: bigint): boolean {
  return fits(spent - excessOf(suspicion.spent, suspicion.range), range, resolution)
}

/** The money is right, so what was shown was not the balance. */
export function accuseDisplay({ seq, spent, range }: Suspicion, evidence: string, say: Say<'ledger'>): void {
  const because = `${formatPico(spent)} USD had left the balance shown, expected ${describeRange(range)}; ${evidence}`
  say.broken('billing.balance-before', because, [seq])
}

/** Out of bounds is out of bounds, though nobody can say by how much in the end. */
export function accuseUndecided({ seq, spent, range }: Suspicion, discrepancies: Discrepancies): void {
  const amount = excessOf(spent, range)
  const because = `${formatPico(spent)} USD left the balance, expected ${describeRange(range)}`
  discrepancies.report(amount < 0n ? 'unbilled' : 'balance-drift', { amount, because, seqs: [seq] })
}
