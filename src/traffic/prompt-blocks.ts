import { textHash } from '../lib/random.ts'

/** Tokens of a block of a text whose tokens are not known, as servers with a cache of prefixes have them. */
export const textBlockTokens = 16
/** Characters of a token of English text, about. */
export const charactersPerToken = 4
/** Blocks that are remembered; further ones count as shared with none. */
const maxBlocks = 500_000

/**
 * Numbers the blocks of texts from their beginnings: equal beginnings get equal numbers, and a number tells nothing about
 * its text.
 */
export function createBlockNumbers(): (text: string, tokens: number) => readonly number[] {
  const numbers = new Map<number, number>()
  return (text, tokens) => {
    const blocks: number[] = []
    let hash: readonly [number, number] = [0x811c9dc5, 0x1000193]
    const length = textBlockTokens * charactersPerToken
    for (let end = length; end <= text.length && blocks.length < Math.floor(tokens / textBlockTokens); end += length) {
      const block = text.slice(end - length, end)
      hash = [textHash(block, hash[0]), textHash(block, hash[1] ^ 0x9e3779b9)]
      const key = (hash[0] >>> 0) * 2 ** 21 + (hash[1] >>> 11)
      const number = numbers.get(key) ?? numbers.size
      if (number >= maxBlocks) break
      numbers.set(key, number)
      blocks.push(number)
    }
    return blocks
  }
}
