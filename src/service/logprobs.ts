type Candidate = { readonly token: string; readonly logprob: number; readonly bytes: readonly number[] }

/** A generated token, with the most probable tokens of its position. */
export type Position = Candidate & { readonly top_logprobs: readonly Candidate[] }

/** The first position, and all of them as a list. */
export type Logprobs = Position & { readonly content: readonly Position[] }

/** Made up from the position alone, so that to ask for them changes nothing else. Null where nothing was generated. */
export function logprobsOf(words: readonly string[], top: number): Logprobs | null {
  const content = words.map((word, index) => {
    const token = index === 0 ? word : ` ${word}`
    const first = candidate(token, -(1 + (index % 7)) / 16)
    const others = Array.from({ length: Math.max(0, top - 1) }, (_, rank) => candidate(`~${rank}`, -1 - rank))
    return { ...first, top_logprobs: top === 0 ? [] : [first, ...others] }
  })
  const [first] = content
  return first === undefined ? null : { ...first, content }
}

const candidate = (token: string, logprob: number): Candidate => ({ token, logprob, bytes: [...Buffer.from(token)] })
