import { randomStream } from '../../src/lib/random.ts'
import { decidedSide } from '../../src/lib/statistics/decided-share.ts'

export type Peeked = { readonly side: 'below' | 'above' | null; readonly trials: number }

/** Draws trials with this chance, and looks after each of them, until the bound is decided or all are drawn. */
export function peek(
  seed: number,
  chanceOf: (trial: number) => number,
  bound: number,
  error: number,
  most: number,
): Peeked {
  const random = randomStream(seed, 'peek')
  let hits = 0
  for (let trials = 1; trials <= most; trials++) {
    if (random.next() < chanceOf(trials)) hits++
    const side = decidedSide({ hits, trials, open: 0 }, bound, error)
    if (side !== null) return { side, trials }
  }
  return { side: null, trials: most }
}
