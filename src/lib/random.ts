/**
 * Random numbers that depend only on a seed and a name. Streams are independent, so a change of a rate cannot change a
 * prompt. The generator is sfc32 (Chris Doty-Humphrey, PractRand).
 */
export type Random = {
  /** Uniform in [0, 1). */
  readonly next: () => number
  /** Uniform integer in [0, bound). */
  readonly int: (bound: number) => number
  /** Exponential with mean 1. */
  readonly exponential: () => number
  /** One of the values, with a probability in proportion to its weight. Weights are not negative; one is positive. */
  readonly weighted: <T>(choices: readonly (readonly [value: T, weight: number])[]) => T
}

/** The stream called `name` under `seed`. */
export function randomStream(seed: number, name: string): Random {
  const next = sfc32(`${seed}/${name}`)
  return {
    next,
    int: bound => Math.floor(next() * bound),
    exponential: () => -Math.log(1 - next()),
    weighted: choices => {
      let total = 0
      for (const choice of choices) total += choice[1]
      let rest = next() * total
      for (const choice of choices) {
        rest -= choice[1]
        if (rest < 0) return choice[0]
      }
      const last = choices.findLast(([, weight]) => weight > 0)
      if (last === undefined) throw new RangeError('a weighted choice needs a positive weight')
      return last[0]
    },
  }
}

function sfc32(text: string): () => number {
  let a = textHash(text)
  let b = textHash(text, a ^ 0x9e3779b9)
  let c = textHash(text, b ^ 0x85ebca6b)
  let counter = 1
  const next = () => {
    const sum = (a + b + counter) | 0
    counter = (counter + 1) | 0
    a = b ^ (b >>> 9)
    b = (c + (c << 3)) | 0
    c = (((c << 21) | (c >>> 11)) + sum) | 0
    return (sum >>> 0) / 4294967296
  }
  for (let warmUp = 0; warmUp < 15; warmUp++) next()
  return next
}

/** 32-bit FNV-1a over UTF-16 code units (Fowler, Noll, Vo). */
export function textHash(text: string, source = 0x811c9dc5): number {
  let hash = source
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193)
  return hash
}
