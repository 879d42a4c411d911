import { closestMatch } from 'leven'
import { oneLine } from './visible.ts'

/** A mistake of the user: what was read, where, and what was expected. */
export type Mistake = {
  /** `file:line:column`, or the name of a flag or an environment variable. */
  readonly where: string
  readonly got: string
  readonly expected: string
  readonly hint?: string
}

/** The message explains at most this many mistakes. */
const maxMistakes = 20

/** Ends the program with exit code 2, before anything is sent. */
export class UsageError extends Error {
  override readonly name = 'UsageError' as const
  readonly mistakes: readonly Mistake[]

  constructor(mistakes: Mistake | readonly Mistake[]) {
    const list = Array.isArray(mistakes) ? (mistakes as readonly Mistake[]) : [mistakes as Mistake]
    const left = list.length - maxMistakes
    const rest = left > 0 ? [`and ${left} more`] : []
    super([...list.slice(0, maxMistakes).map(describeMistake), ...rest].join('\n'))
    this.mistakes = list
  }
}

/** One line: `file:3:5: got "rpcc", expected chat, rpc or replay; did you mean "rpc"?` */
export function describeMistake({ where, got, expected, hint }: Mistake): string {
  // A directory may have a random name.
  const place = /[/\\]/.test(where) ? where : hideLikelySecrets(where)
  const found = hideLikelySecrets(got)
  const suggestion = hint === undefined ? '' : `; ${shorten(hideLikelySecrets(hint))}`
  return oneLine(`${shorten(place)}: got ${shorten(found)}, expected ${shorten(expected)}${suggestion}`)
}

/** Longer than any path or list that a person reads. */
const maxPart = 4_000

const shorten = (text: string): string => (text.length > maxPart ? `${text.slice(0, maxPart)}…` : text)

/**
 * `{ hint: 'did you mean "rpc"?' }` if one of the words is similar or begins with it, else an empty object. Spread it into
 * a mistake.
 */
export function nearest(word: string, words: readonly string[]): { readonly hint?: string } {
  if (word.length > maxWordLength) return {}
  const lower = word.toLowerCase()
  const [beginning, second] = words.filter(each => lower.length >= 3 && each.startsWith(lower))
  const match =
    words.find(each => each.toLowerCase() === lower) ??
    (second === undefined ? beginning : undefined) ??
    closestMatch(word, [...words], { maxDistance: Math.max(2, Math.floor(word.length / 2)) })
  return match === undefined ? {} : { hint: `did you mean "${match}"?` }
}

/** Longer words are rarely misspelled, and comparing them would take long. */
const maxWordLength = 200

/** `chat, rpc or replay`. */
export function oneOf(words: readonly string[]): string {
  return words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} or ${words.at(-1)}`
}

/** Longer lists are not printed; only the nearest word is. */
const maxWordsListed = 12

/** A mistake for a word that is not in `words`: `got "rpcc", expected the name of a call: chat or rpc; …`. */
export function unknownWord(word: string, words: readonly string[], what: string): Omit<Mistake, 'where'> {
  const listed = words.length > 0 && words.length <= maxWordsListed
  return { got: describeValue(word), expected: listed ? `${what}: ${oneOf(words)}` : what, ...nearest(word, words) }
}

/** A value of a file for a message: short, on one line. */
export function describeValue(value: unknown): string {
  if (value === undefined) return 'nothing'
  if (value === null) return 'an empty value'
  if (Array.isArray(value)) return value.length === 0 ? 'an empty list' : 'a list'
  if (typeof value === 'object') return Object.keys(value).length === 0 ? 'an empty mapping' : 'a mapping'
  if (typeof value === 'number' && !Number.isFinite(value))
    return Number.isNaN(value) ? 'a value that is not a number' : 'a number that is too large'
  const text = typeof value === 'string' ? JSON.stringify(value) : String(value)
  if (hideLikelySecrets(text) !== text) return 'a text that looks like a key'
  return text.length > 80 ? `${text.slice(0, 77)}…` : text
}

/** The message of whatever was thrown. */
export const messageOf = (cause: unknown): string => (cause instanceof Error ? cause.message : String(cause))

/** Beginnings that issuers of keys use. */
const issued = /^(?:(?:sk|pk|rk|ghp|gho|ghs|xoxb|xoxp|hf|glsa|glpat)[-_]|ref_|eyJ|AKIA)/
/** Whether a key begins as those of an issuer who marks them. */
export const isIssued = (key: string): boolean => issued.test(key)

const minLength = 12
/** A word of letters and digits of this length that changes between them this often was not written by a person. */
const minRandom = 16
const minChanges = 4

/**
 * Whether a word of a file or of a command line looks like a key. People paste keys into the wrong place, so error
 * messages hide anything that looks like one.
 */
export function isLikelySecret(word: string): boolean {
  if (word.length < minLength) return false
  if (issued.test(word)) return true
  return (word.match(/[A-Za-z0-9]+/g) ?? []).some(
    run => run.length >= minRandom && (run.match(/[A-Za-z](?=[0-9])|[0-9](?=[A-Za-z])/g)?.length ?? 0) >= minChanges,
  )
}

/** The text without the words that look like keys. */
export const hideLikelySecrets = (text: string): string =>
  text.replace(/[^\s"'`,;()[\]{}<>]+/g, word => (isLikelySecret(word.replace(/^\W+/, '')) ? '***' : word))
