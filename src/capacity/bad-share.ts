/** A trial that only chances to have so many bad answers is taken for a broken one so often at most. */
const falseAlarm = 0.05

/**
 * The most bad answers among `of` that do not yet show that more than `share` of all are bad: that many or more come by
 * chance more often than one time in twenty, where just that share is bad.
 */
export function mostByChance(of: number, share: number): number {
  if (share <= 0 || of <= 0) return 0
  if (share >= 1) return of
  let below = 0
  let logOfExactly = of * Math.log1p(-share)
  for (let bad = 0; bad < of; bad++) {
    below += Math.exp(logOfExactly)
    // From `bad + 1` on is what is left of all chances.
    if (1 - below < falseAlarm) return bad
    logOfExactly += Math.log((of - bad) / (bad + 1)) + Math.log(share) - Math.log1p(-share)
  }
  return of
}

/** The most bad answers among `of` at which not more than `share` of these very answers are bad. */
export const mostAllowed = (of: number, share: number): number => Math.floor(of * share + 1e-9)
