/**
 * A form in which a secret can come back, besides escapes: as it is, or encoded. `stars` is the same form of as many
 * stars, so a masked text can still be decoded.
 */
export type Form = {
  readonly text: string
  readonly stars: string
  /** Bits of the secret in the Base64 digits before and after the form, which also hold bits of their neighbors. */
  readonly before: SharedDigit | null
  readonly after: SharedDigit | null
}

/** `bits` of a Base64 digit belong to the secret: its low bits before a form, its high bits after it. */
export type SharedDigit = { readonly bits: number; readonly star: string }

const star = '*'

/** How a masked secret is shown. */
export const shown = '***'

/** All forms of a secret, without its escapes. */
export function formsOf(secret: string): readonly Form[] {
  const plain = [secret, secret.replaceAll('+', ' ')].map(text => ({ text, stars: shown, before: null, after: null }))
  const once = encodedForms(secret)
  // Credentials of credentials: a key inside a token that is encoded again.
  const twice = once.flatMap(inner =>
    encodedForms(inner.text, inner.stars).filter(({ text }) => text.length <= maxTwiceLength),
  )
  const others = variantsOf(secret).flatMap(variant => encodedForms(variant))
  const seen = new Set<string>()
  return [...plain, ...once, ...lists(secret), ...others, ...twice].filter(({ text }) => {
    if (seen.has(text)) return false
    seen.add(text)
    return true
  })
}

const maxTwiceLength = 1_024

/** The secret as a careless program may write it before it encodes it. */
const variantsOf = (secret: string): readonly string[] =>
  [
    secret.toLowerCase(),
    secret.toUpperCase(),
    encodeURIComponent(secret),
    JSON.stringify(secret).slice(1, -1),
    secret.replaceAll('+', ' '),
  ].filter(variant => variant !== secret)

function encodedForms(text: string, stars = star.repeat(text.length)): readonly Form[] {
  const hex = (of: string) => Buffer.from(of).toString('hex')
  return [
    { text: hex(text), stars: hex(stars), before: null, after: null },
    ...([0, 1, 2] as const).map(offset => base64Form(text, stars, offset)),
  ]
}

/** The Base64 digits that depend on the text alone, if this number of bytes precedes it. */
function base64Form(text: string, stars: string, offset: 0 | 1 | 2): Form {
  const encode = (of: string) => Buffer.from('\0'.repeat(offset) + of).toString('base64')
  const bits = (offset + text.length) * 8
  const start = Math.ceil((offset * 8) / 6)
  const end = Math.floor(bits / 6)
  const encodedStars = encode(stars)
  const digit = (at: number, shared: number): SharedDigit | null =>
    shared === 0 ? null : { bits: shared, star: encodedStars[at] ?? '' }
  return {
    text: encode(text).slice(start, end),
    stars: encodedStars.slice(start, end),
    before: digit(start - 1, start * 6 - offset * 8),
    after: digit(end, bits % 6),
  }
}

/** The bytes as numbers, as in the JSON of a buffer, and as pairs of hexadecimal digits. */
function lists(secret: string): readonly Form[] {
  const decimal = (separator: string) => (of: string) => [...Buffer.from(of)].join(separator)
  const pairs = (separator: string) => (of: string) =>
    [...Buffer.from(of)].map(byte => byte.toString(16).padStart(2, '0')).join(separator)
  return [decimal(','), decimal(', '), pairs(':'), pairs(' ')].map(write => ({
    text: write(secret),
    stars: write(star.repeat(secret.length)),
    before: null,
    after: null,
  }))
}

const digits = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'

/** A digit whose bits of the secret are replaced; the character itself if it is not a Base64 digit. */
export function maskDigit(character: string, { bits, star: by }: SharedDigit, side: 'before' | 'after'): string {
  const value = digits.indexOf(character === '-' ? '+' : character === '_' ? '/' : character)
  if (character === '' || value < 0) return character
  const ours = side === 'before' ? (1 << bits) - 1 : 63 & ~((1 << (6 - bits)) - 1)
  return digits[(value & ~ours) | (digits.indexOf(by) & ours)] ?? character
}

/** A text without one layer of escapes. Character i stands for `starts[i]` to `starts[i + 1]` of the original. */
export type Unescaped = { readonly text: string; readonly starts: Int32Array }

/** Undoes one layer of escapes. */
export type Unescape = (text: string) => Unescaped

const url = '%u[0-9a-f]{4}|%[0-9a-f]{2}'
const literal = '\\\\u\\{[0-9a-f]{1,6}\\}|\\\\u[0-9a-f]{4}|\\\\x[0-9a-f]{2}|\\\\(?:\\r?\\n|.)'
const html = '&#x[0-9a-f]{1,9};?|&#[0-9]{1,9};?|&[a-z]+;'
/** Long encoded texts are wrapped. */
const lineEnd = '\\r?\\n'
/** Never together with the others, because `key=ab` in a URL is none. A line end may be escaped, as in JSON. */
const quotedPrintable = '=[0-9a-f]{2}|=\\r?\\n|=(?:\\\\r)?\\\\n'

/**
 * The ways to undo a layer of escapes. `apart`: also each kind alone, because a secret contains a character that starts
 * an escape.
 */
export const unescapes = (apart: boolean): readonly Unescape[] =>
  [[url, literal, html, lineEnd].join('|'), quotedPrintable, ...(apart ? [url, literal, html, lineEnd] : [])].map(
    source => {
      const pattern = new RegExp(source, 'gi')
      return text => replaceEscapes(text, pattern)
    },
  )

function replaceEscapes(text: string, pattern: RegExp): Unescaped {
  const parts: string[] = []
  const starts = new Int32Array(text.length + 1)
  let length = 0
  let read = 0
  const keep = (until: number) => {
    if (until === read) return
    parts.push(text.slice(read, until))
    while (read < until) starts[length++] = read++
  }
  pattern.lastIndex = 0
  for (let match = pattern.exec(text); match !== null; match = pattern.exec(text)) {
    const character = characterOf(match[0])
    if (character === null) continue
    keep(match.index)
    read = match.index + match[0].length
    if (character === '') continue
    parts.push(character)
    starts[length++] = match.index
  }
  keep(text.length)
  starts[length] = text.length
  return { text: parts.join(''), starts: starts.subarray(0, length + 1) }
}

/** The character of an escape, empty for a line end; null for an unknown name. */
function characterOf(escaped: string): string | null {
  const second = escaped.charAt(1)
  switch (escaped.charAt(0)) {
    case '%':
      return fromCode(escaped.slice(second.toLowerCase() === 'u' ? 2 : 1), 16)
    case '=':
      return fromCode(escaped.slice(1), 16)
    case '\\':
      return escaped.length > 2 ? fromCode(escaped.slice(escaped.charAt(2) === '{' ? 3 : 2), 16) : unquoted(second)
    case '&':
      if (second !== '#') return entities[escaped.slice(1, -1).toLowerCase()] ?? null
      return escaped.charAt(2).toLowerCase() === 'x' ? fromCode(escaped.slice(3), 16) : fromCode(escaped.slice(2), 10)
    default:
      return ''
  }
}

/** One UTF-16 unit for each escape: what lies beyond ASCII is in no secret. Empty if there are no digits. */
function fromCode(digits: string, radix: number): string {
  const code = Number.parseInt(digits, radix)
  return Number.isNaN(code) ? '' : String.fromCharCode(Math.min(code, 0xffff))
}

const controls: Readonly<Record<string, string>> = { n: '', r: '', '\n': '', t: '\t', b: '\b', f: '\f' }

const unquoted = (character: string): string => controls[character] ?? character

/** The names that HTML has for printable ASCII. */
const entities: Readonly<Record<string, string>> = {
  ...{ excl: '!', quot: '"', num: '#', dollar: '$', percnt: '%', amp: '&', apos: "'", lpar: '(', rpar: ')', ast: '*' },
  ...{ midast: '*', plus: '+', comma: ',', hyphen: '-', dash: '-', minus: '-', period: '.', sol: '/', colon: ':' },
  ...{ semi: ';', lt: '<', equals: '=', gt: '>', quest: '?', commat: '@', lsqb: '[', lbrack: '[', bsol: '\\' },
  ...{ rsqb: ']', rbrack: ']', hat: '^', lowbar: '_', underbar: '_', grave: '`', lcub: '{', lbrace: '{', verbar: '|' },
  ...{ vert: '|', vertline: '|', rcub: '}', rbrace: '}' },
}
