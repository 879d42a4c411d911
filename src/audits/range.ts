import { formatPico } from '../lib/money.ts'

/** How much must have left a balance, and how much can have, in pico-USD. */
export type Range = { readonly least: bigint; readonly most: bigint }

export const nothingAtAll: Range = { least: 0n, most: 0n }

export const fits = (spent: bigint, { least, most }: Range, resolution: bigint): boolean =>
  spent >= least - resolution && spent <= most + resolution

/** By how much it is out of range; below zero when too little was spent. */
export const excessOf = (spent: bigint, { least, most }: Range): bigint => (spent > most ? spent - most : spent - least)

export const describeRange = ({ least, most }: Range): string =>
  least === most ? formatPico(most) : `${formatPico(least)} to ${formatPico(most)}`
