/** A pattern, by its position in the list, at a place of the text. */
type Found = { readonly pattern: number; readonly start: number; readonly end: number }

export type PatternSearch = {
  /** Every pattern at every place of the text; in any letter case, and with `-_` for `+/`. */
  readonly all: (text: string) => readonly Found[]
  /**
   * Where a pattern starts that the end of the text cuts off, if at least `minPartial` of its characters are there;
   * -1 for none.
   */
  readonly partialAtEnd: (text: string) => number
}

const blockLength = 4
/** A shorter beginning of a secret at a cut is not recognized. */
export const minPartial = 8
const maxShift = 255

/**
 * Searches many patterns at once, each of at least four characters (Wu and Manber, "A fast algorithm for multi-pattern
 * searching", 1994). Reads a block of four characters, and skips as many characters as no pattern allows a match in.
 */
export function createSearch(patterns: readonly string[]): PatternSearch {
  const folded = patterns.map(fold)
  const length = folded.reduce((min, pattern) => Math.min(min, pattern.length), maxShift)
  if (folded.length > 0 && length < blockLength) throw new RangeError('a pattern is too short to search')
  const bits = Math.min(20, Math.max(16, Math.ceil(Math.log2(folded.length * 16 + 1))))
  const slots = 2 ** bits - 1
  const shifts = new Uint8Array(2 ** bits).fill(length - blockLength + 1)
  const byText = new Map<string, number>()
  /** By the hash of the last block of the beginning of a pattern: the lengths of such patterns, the longest first. */
  const lengths = new Map<number, number[]>()
  /** The patterns with this beginning. */
  const beginnings = new Map<string, string[]>()
  for (const [index, pattern] of folded.entries()) {
    if (byText.has(pattern)) continue
    byText.set(pattern, index)
    for (let at = 0; at <= length - blockLength; at++) {
      const slot = hashAt(pattern, at, slots)
      shifts[slot] = Math.min(shifts[slot] ?? 0, length - blockLength - at)
    }
    const slot = hashAt(pattern, length - blockLength, slots)
    const known = lengths.get(slot) ?? []
    if (!known.includes(pattern.length))
      lengths.set(
        slot,
        [...known, pattern.length].sort((a, b) => b - a),
      )
    const beginning = pattern.slice(0, minPartial)
    const same = beginnings.get(beginning)
    if (same === undefined) beginnings.set(beginning, [pattern])
    else same.push(pattern)
  }
  const longest = folded.reduce((max, pattern) => Math.max(max, pattern.length), 0)

  const all = (text: string): readonly Found[] => {
    let found: Found[] | null = null
    const last = text.length - blockLength
    let at = length - blockLength
    while (at <= last) {
      const slot = hashAt(text, at, slots)
      const shift = shifts[slot] ?? 0
      if (shift > 0) {
        at += shift
        continue
      }
      const start = at - (length - blockLength)
      at++
      for (const each of lengths.get(slot) ?? []) {
        const pattern = start + each > text.length ? undefined : byText.get(fold(text.slice(start, start + each)))
        if (pattern === undefined) continue
        found ??= []
        found.push({ pattern, start, end: start + each })
        break
      }
    }
    return found ?? none
  }

  const partialAtEnd = (text: string): number => {
    const from = Math.max(0, text.length - longest + 1)
    const end = fold(text.slice(from))
    for (let at = 0; at <= end.length - minPartial; at++) {
      const same = beginnings.get(end.slice(at, at + minPartial))
      if (same === undefined) continue
      const rest = end.slice(at)
      if (same.some(pattern => pattern.startsWith(rest))) return from + at
    }
    return -1
  }

  return folded.length === 0 ? { all: () => none, partialAtEnd: () => -1 } : { all, partialAtEnd }
}

const none: readonly Found[] = []

/** The code of a character without its letter case; 0 for a character that is in no pattern. */
const folds = Uint8Array.from({ length: 128 }, (_, code) => {
  const character = String.fromCharCode(code).toLowerCase()
  return (character === '-' ? '+' : character === '_' ? '/' : character).charCodeAt(0)
})

const foldedAt = (text: string, at: number): number => folds[text.charCodeAt(at)] ?? 0

function hashAt(text: string, at: number, slots: number): number {
  const high = (foldedAt(text, at) << 15) ^ (foldedAt(text, at + 1) << 10)
  return (high ^ (foldedAt(text, at + 2) << 5) ^ foldedAt(text, at + 3)) & slots
}

/** Only ASCII, and character for character: positions stay the same. */
export const fold = (text: string): string =>
  text.replace(/[A-Z_-]/g, character => (character === '-' ? '+' : character === '_' ? '/' : character.toLowerCase()))
