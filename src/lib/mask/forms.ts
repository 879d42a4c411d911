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

/** A digit whose bits of the secret are replaced; the character itself if it is no Base64 digit. */
export function maskDigit(character: string, { bits, star: by }: SharedDigit, side: 'before' | 'after'): string {
  const value = digits.indexOf(character === '-' ? '+' : character === '_' ? '/' : character)
  if (character === '' || value < 0) return character
  const ours = side === 'before' ? (1 << bits) - 1 : 63 & ~((1 << (6 - bits)) - 1)
  return digits[(value & ~ours) | (digits.indexOf(by) & ours)] ?? character
}
