import { textHash } from '../lib/random.ts'

/** Tokens of a block of a text whose tokens are not known, as servers with a cache of prefixes have them. */
export const textBlockTokens = 16
/** Characters of a token of English text, about. */
export const charactersPerToken = 4
/** Blocks that are remembered; further ones count as shared with none. */
const maxBlocks = 500_000

/** Places of a table that is at most half full. */
const places = 2 ** 20

/**
 * Numbers the blocks of texts from their beginnings: equal beginnings get equal numbers, and a number tells nothing about
 * its text. The table has one size from the first block on, since a `Map` of all those hashes needs a hundred megabytes.
 */
export function createBlockNumbers(): (text: string, tokens: number) => readonly number[] {
  const firstHashes = new Int32Array(places)
  const secondHashes = new Int32Array(places)
  /** The numbers of the blocks, from 1; 0: none is here. */
  const numbers = new Int32Array(places)
  let count = 0
  const numberOf = (first: number, second: number): number => {
    let at = first & (places - 1)
    while (numbers[at] !== 0 && (firstHashes[at] !== first || secondHashes[at] !== second)) at = (at + 1) & (places - 1)
    if (numbers[at] === 0 && count < maxBlocks) {
      firstHashes[at] = first
      secondHashes[at] = second
      numbers[at] = ++count
    }
    return (numbers[at] ?? 0) - 1
  }
  return (text, tokens) => {
    const blocks: number[] = []
    let [first, second] = [0x811c9dc5, 0x1000193]
    const length = textBlockTokens * charactersPerToken
    for (let end = length; end <= text.length && blocks.length < Math.floor(tokens / textBlockTokens); end += length) {
      const block = text.slice(end - length, end)
      first = textHash(block, first)
      second = textHash(block, second ^ 0x9e3779b9)
      const number = numberOf(first, second)
      if (number < 0) break
      blocks.push(number)
    }
    return blocks
  }
}
