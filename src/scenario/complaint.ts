import { nearest, oneOf } from '../lib/usage-error.ts'

/** Where something is in a file, as keys and indices from its root. */
export type Path = readonly (string | number)[]

/** A mistake before it has a line: whether the key at `path` is wrong, its value, or the character `at` of its text. */
export type Complaint = {
  readonly path: Path
  readonly at: 'key' | 'value' | number
  readonly got: string
  readonly expected: string
  readonly hint?: string
}

export type Complain = (complaint: Complaint) => void

/** Longer lists are not spelled out; the nearest word is. */
const mostWordsListed = 12

/** A word that is none of `words`, which are the `what`: `got "rpcc", expected the name of a call: chat or rpc; …`. */
export function unknownWord(
  word: string,
  words: readonly string[],
  what: string,
): { readonly got: string; readonly expected: string; readonly hint?: string } {
  const listed = words.length > 0 && words.length <= mostWordsListed
  return { got: quote(word), expected: listed ? `${what}: ${oneOf(words)}` : what, ...nearest(word, words) }
}

/** A value as it is named in a message: short, on one line. */
export function quote(value: unknown): string {
  if (value === undefined) return 'nothing'
  if (value === null) return 'an empty value'
  if (Array.isArray(value)) return value.length === 0 ? 'an empty list' : 'a list'
  if (typeof value === 'object') return Object.keys(value).length === 0 ? 'an empty mapping' : 'a mapping'
  const text = typeof value === 'string' ? JSON.stringify(value) : String(value)
  return text.length > 80 ? `${text.slice(0, 77)}…` : text
}
