import { type AmountRange, isWithin } from './charge.ts'

/**
 * The meaning of a balance shown to a request that did not overlap others. fits: it is fully explained · own-charge:
 * the request's own charge is already deducted · either: the same, or an earlier equal charge was taken twice · stale:
 * the last charge is missing, because it was lost or because the balance is old · fault: anything else
 */
type BalanceDiagnosis = 'fits' | 'own-charge' | 'either' | 'stale' | 'fault'

type SettledBalance = {
  /** The decrease since the checkpoint, and the explained part of it. */
  readonly spent: bigint
  readonly range: AmountRange
  readonly resolution: bigint
  readonly own: bigint
  /** The charges since the checkpoint, at least the last few, in order; and whether the list is complete. */
  readonly charges: readonly bigint[]
  readonly areAllKnown: boolean
}

export function diagnoseBalance({
  spent,
  range,
  resolution,
  own,
  charges,
  areAllKnown,
}: SettledBalance): BalanceDiagnosis {
  if (isWithin(spent, range, resolution)) return 'fits'
  const last = charges.at(-1) ?? 0n
  if (last > 0n && isWithin(spent + last, range, resolution)) return 'stale'
  if (own === 0n || !isWithin(spent - own, range, resolution)) return 'fault'
  return areAllKnown && !charges.includes(own) ? 'own-charge' : 'either'
}
