import { fits, type Range } from './range.ts'

/**
 * What the balance of a request that was alone means. fits: it accounts for everything · own-charge: the request's own
 * charge was already taken off · either: so, or an earlier charge at the same price was taken twice · stale: the last
 * charge is missing, because it was lost or because the balance is an old one · fault: anything else
 */
export type Reading = 'fits' | 'own-charge' | 'either' | 'stale' | 'fault'

export type Quiet = {
  /** What left the balance since the anchor, and how much of it is accounted for. */
  readonly spent: bigint
  readonly range: Range
  readonly resolution: bigint
  readonly own: bigint
  /** The charges since the anchor, at least the last few, in order; whether these are all. */
  readonly charges: readonly bigint[]
  readonly areAllKnown: boolean
}

export function readQuiet({ spent, range, resolution, own, charges, areAllKnown }: Quiet): Reading {
  if (fits(spent, range, resolution)) return 'fits'
  const last = charges.at(-1) ?? 0n
  if (last > 0n && fits(spent + last, range, resolution)) return 'stale'
  if (own === 0n || !fits(spent - own, range, resolution)) return 'fault'
  return areAllKnown && !charges.includes(own) ? 'own-charge' : 'either'
}
