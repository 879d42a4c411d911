/** One of the cases that a finding rests on: what was wrong, and the requests that show it. */
export type Example = { readonly because: string; readonly seqs: readonly number[] }

export const maxExamples = 5
/** A target can make a sentence, or a list of requests, as long as it likes. */
const longestBecause = 600
const mostSeqs = 24

/** An example that stays small whatever a target says. */
export const shorten = ({ because, seqs }: Example): Example => ({
  because: because.length > longestBecause ? `${because.slice(0, longestBecause)}...` : because,
  seqs: seqs.slice(0, mostSeqs),
})

/**
 * The earliest of them, as callers count their requests: by the last request that each names. So it does not matter in
 * which order they were found, nor by how many.
 */
export const firstExamples = (examples: readonly Example[]): readonly Example[] =>
  examples.length < 2 ? examples : examples.toSorted(byRequest).slice(0, maxExamples)

function byRequest(a: Example, b: Example): number {
  const last = (a.seqs.at(-1) ?? -1) - (b.seqs.at(-1) ?? -1)
  if (last !== 0) return last
  const [ofA, ofB] = [a, b].map(({ seqs, because }) => `${seqs.join()} ${because}`)
  return ofA === ofB ? 0 : (ofA ?? '') < (ofB ?? '') ? -1 : 1
}
