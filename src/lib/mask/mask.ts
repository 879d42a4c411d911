import { type Form, formsOf, maskDigit, shown, type Unescaped, unescapes } from './forms.ts'
import { createSearch, minPartial } from './search.ts'

/** Hides secrets in texts that a target sent or that leave the program. */
export type Mask = {
  /** Whether a secret is in the text, in any form. */
  readonly isIn: (text: string) => boolean
  /** The same text without secrets; an unchanged text is the same string. */
  readonly text: (text: string) => string
  /** The first `max` characters without secrets. Also hides a secret that the end of the text cuts off. */
  readonly beginning: (text: string, max: number) => string
  /** A JSON value without secrets in its texts, names and numbers. */
  readonly json: <Value>(value: Value) => Value
  /** Headers without secrets in their names and values. A value of `maxLength` may be cut. */
  readonly headers: (headers: Readonly<Record<string, string>>, maxLength: number) => Readonly<Record<string, string>>
}

/** A secret that a text is certainly not equal to by chance. Others are masked as whole words of responses only. */
export function isStrong(secret: string): boolean {
  if (secret.length < minStrong || new Set(secret).size < minDistinct) return false
  const isMixed = /[0-9]/.test(secret) && /[^0-9]/.test(secret)
  return secret.length >= minLong || isMixed || (/[a-z]/.test(secret) && /[A-Z]/.test(secret))
}

const minStrong = 8
const minDistinct = 5
/** Longer words count as secrets even without mixed characters. */
const minLong = 16
/** A shorter weak secret is masked only after a word like "Bearer". */
const minWord = 4
/** From this length on, the encoded forms of a weak secret are long enough to be searched. */
const minEncoded = 6

/** A secret can be escaped twice and be encoded in a text that is escaped twice. */
const maxLayers = 4
/** Beyond what is kept of a text, this much is searched for secrets that the cut would split. */
const beyondCut = 8_192
const maxDepth = 4_096

/**
 * What must be hidden of secrets that are added to requests: also what a server reads of a parameter, and a word such as
 * the key after `Bearer`.
 */
export const textsOfSecrets = (secrets: readonly string[]): readonly string[] =>
  secrets.flatMap(secret => [secret, parameterValue(secret), ...secret.split(/\s+/)]).filter(isStrong)

/** What a server reads of a parameter in an address. */
export const parameterValue = (written: string): string =>
  new URLSearchParams(`value=${written.replaceAll('+', '%2B')}`).get('value') ?? written

/** The mask of these secrets. Equal secrets and empty ones do not matter. */
export function createMask(secrets: readonly string[]): Mask {
  const all = [...new Set(secrets)].filter(secret => secret !== '')
  const strong = all.filter(isStrong)
  const weak = all.filter(secret => !isStrong(secret))
  const forms: readonly Form[] = [
    ...strong.flatMap(formsOf),
    ...weak.filter(({ length }) => length >= minEncoded).flatMap(secret => formsOf(secret).filter(isEncoded(secret))),
  ]
  if (all.length === 0) return noMask
  const search = createSearch(forms.map(({ text }) => text))
  const words = wordsPattern(weak)
  const suspicion = suspicionOf(all)
  const undos = unescapes(all.some(secret => /[%&\\]/.test(secret)))

  /** The secrets in a text without escapes. */
  const findPlain = (text: string): readonly Range[] => {
    const found = search.all(text)
    if (found.length === 0 && words === null) return noRanges
    const ranges = found.map(({ pattern, start, end }) => rangeOf(text, forms[pattern], start, end))
    for (const match of words === null ? [] : text.matchAll(words))
      ranges.push({ start: match.index, end: match.index + match[0].length, by: shown })
    return ranges
  }

  const find = (text: string, isCut: boolean): readonly Range[] => {
    const isSuspicious = mayEscape.test(text) && suspicion.test(text)
    if (!isSuspicious && !isCut) return findPlain(text)
    const ranges = [...findPlain(text), ...(isCut ? partialIn(text) : noRanges)]
    if (!isSuspicious) return ranges
    for (const undo of undos) {
      let layer = undo(text)
      for (let depth = 1; depth <= maxLayers; depth++) {
        const inside = [...findPlain(layer.text), ...(isCut ? partialIn(layer.text) : noRanges)]
        for (const { start, end, by } of inside)
          ranges.push({ start: layer.starts[start] ?? 0, end: layer.starts[end] ?? text.length, by })
        if (depth === maxLayers || !suspicion.test(layer.text)) break
        layer = within(layer, undo(layer.text))
      }
    }
    return ranges
  }

  /** The beginning of a secret at the end of a text, also before half an escape or the quotes of a JSON text. */
  const partialIn = (text: string): readonly Range[] => {
    for (const end of new Set([text.length, text.search(halfEscape), text.replace(/["\s]+$/, '').length])) {
      const start = end < minPartial ? -1 : search.partialAtEnd(text.slice(0, end))
      if (start >= 0) return [{ start, end: text.length, by: shown }]
    }
    return noRanges
  }

  const mask = (text: string): string => replace(text, find(text, false))

  const json = (value: unknown, depth = 0): unknown => {
    if (typeof value === 'string') return mask(value)
    if (typeof value === 'number') return find(String(value), false).length === 0 ? value : shown
    if (typeof value !== 'object' || value === null) return value
    if (depth === maxDepth) return null
    if (Array.isArray(value)) return maskedBytes(value) ?? value.map(member => json(member, depth + 1))
    return Object.fromEntries(Object.entries(value).map(([name, member]) => [mask(name), json(member, depth + 1)]))
  }

  /** The members of a list of bytes that contains a secret; null for any other list. */
  const maskedBytes = (list: readonly unknown[]): readonly number[] | null => {
    if (list.length < minPartial || !list.every(member => typeof member === 'number')) return null
    const text = list.join(',')
    const masked = mask(text)
    return masked === text ? null : masked.split(',').map(Number)
  }

  /** The latest value of each header that had no secret. Most values are equal to the one before. */
  const clean = new Map<string, string>()

  return {
    isIn: text => find(text, false).length > 0,
    text: mask,
    beginning: (text, max) => {
      const searched = text.length > max + beyondCut ? text.slice(0, max + beyondCut) : text
      return replace(searched, find(searched, true)).slice(0, max)
    },
    json: <Value>(value: Value) => json(value) as Value,
    headers: (headers, maxLength) => {
      let all = ''
      let isCut = false
      let isNew = false
      for (const name in headers) {
        const value = headers[name] ?? ''
        if (value.length >= maxLength) isCut = true
        const known = clean.get(name)
        if (known === value) continue
        // A name is searched once.
        all += known === undefined ? `${name} ${value} ` : `${value} `
        isNew = true
      }
      if (!isNew && !isCut) return headers
      if (!isCut && find(all, false).length === 0) {
        for (const name in headers) if (clean.has(name) || clean.size < maxClean) clean.set(name, headers[name] ?? '')
        return headers
      }
      let masked: Record<string, string> | null = null
      for (const [name, value] of Object.entries(headers)) {
        const [shownName, shownValue] = [mask(name), replace(value, find(value, value.length >= maxLength))]
        if (shownName === name && shownValue === value) continue
        masked ??= Object.assign(Object.create(Object.getPrototypeOf(headers)), headers) as Record<string, string>
        delete masked[name]
        masked[shownName] = shownValue
      }
      return masked ?? headers
    },
  }
}

/** Far more than the number of header names that a target sends. */
const maxClean = 256

const noMask: Mask = {
  isIn: () => false,
  text: text => text,
  beginning: (text, max) => text.slice(0, max),
  json: value => value,
  headers: headers => headers,
}

/** The beginning of an escape at the end of a text. */
const halfEscape = /(?:\\(?:u[0-9a-f]{0,3}|x[0-9a-f]?)?|%[0-9a-f]?|&#?\w{0,8}|=[0-9a-f]?)$/i

/** A part of a text, and what to show in its place. */
type Range = { readonly start: number; readonly end: number; readonly by: string }

const noRanges: readonly Range[] = []

/** The range of a form, with the digits that it shares with its neighbors. */
function rangeOf(text: string, form: Form | undefined, start: number, end: number): Range {
  if (form === undefined) return { start, end, by: shown }
  const { before, after, stars } = form
  const first = before === null || start === 0 ? '' : maskDigit(text.charAt(start - 1), before, 'before')
  const last = after === null ? '' : maskDigit(text.charAt(end), after, 'after')
  return { start: start - first.length, end: end + last.length, by: first + stars + last }
}

/** The text with each range replaced. Of ranges that overlap, the whole is replaced by what the first one shows. */
function replace(text: string, ranges: readonly Range[]): string {
  if (ranges.length === 0) return text
  const sorted = ranges.toSorted((a, b) => a.start - b.start || b.end - a.end)
  const parts: string[] = []
  let from = 0
  for (const { start, end, by } of sorted) {
    if (end <= from) continue
    if (start >= from) parts.push(text.slice(from, start), by)
    from = end
  }
  parts.push(text.slice(from))
  return parts.join('')
}

/** An inner layer of escapes, with positions of the outermost text. */
const within = (outer: Unescaped, { text, starts }: Unescaped): Unescaped => ({
  text,
  starts: starts.map(at => outer.starts[at] ?? 0),
})

const isEncoded = (secret: string) => (form: Form) =>
  form.text.length > secret.length && form.text.toLowerCase() !== secret.toLowerCase()

/** Every escape has one of these characters. Most texts have none, and this looks at each character once. */
const mayEscape = /[%\\&=\n]/

/**
 * Whether a text has escapes that may stand for a character of a secret: printable ASCII, or a line end inside a long
 * encoded text. Most JSON has other escapes, and is searched once.
 */
function suspicionOf(secrets: readonly string[]): RegExp {
  const every = secrets.join('')
  const quote = every.includes('"') || every.includes('\\') ? '"\\\\' : ''
  const parts = [
    '%(?:25|[2-7][0-9a-f]|u00)',
    `\\\\(?:u(?:00[2-7]|\\{)|x[2-7]|[${quote}!#-&'(-/:-@[\\]^\`{|}~_])`,
    '&(?:#|[a-z]{2,9};)',
    '=(?:[2-7][0-9a-f]|\\r?\\n|(?:\\\\r)?\\\\n)',
    '\\n(?=\\S)(?<=\\S{4}\\r?\\n)',
    '\\\\n(?:(?=[\\w+/-]{16})|(?=[\\w+/-])(?<=[\\w+/-]{16}(?:\\\\r)?\\\\n))',
  ]
  return new RegExp(parts.join('|'), 'i')
}

/** Weak secrets as whole words; null if there are none. */
function wordsPattern(weak: readonly string[]): RegExp | null {
  if (weak.length === 0) return null
  const quoted = (secret: string) => secret.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&')
  const alternatives = weak.map(secret =>
    secret.length >= minWord
      ? quoted(secret)
      : `(?<=\\b(?:[Bb]earer|[Bb]asic|[Kk]ey|[Tt]oken)["':=\\s]{1,4})${quoted(secret)}`,
  )
  return new RegExp(`(?<![\\w/+.-])(?:${alternatives.join('|')})(?![\\w/+-]|\\.\\w)`, 'g')
}
