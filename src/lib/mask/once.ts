import { formsOf } from './forms.ts'
import { createMask, type Mask } from './mask.ts'
import { fold } from './search.ts'

/**
 * The mask, which also hides secrets that are used once, such as the signatures of a request, of at least `longRun`
 * characters. To make a mask takes most of a millisecond. So `secrets` is called only for a response with a text as long as
 * a signature, and their mask is made only if a part of one may be in it.
 */
export function maskOnce(mask: Mask, secrets: () => readonly string[]): Mask {
  let known: readonly string[] | null = null
  let parts: readonly string[] | null = null
  let made: Mask | null = null

  const mayHold = (text: string): boolean => {
    if (text.length < longRun || !hasLongRun(text)) return false
    known ??= secrets()
    if (mayEscape.test(text)) return true
    parts ??= known.flatMap(partsOf)
    const folded = fold(text)
    return parts.some(part => folded.includes(part))
  }
  const own = (): Mask => {
    known ??= secrets()
    made ??= createMask(known)
    return made
  }

  return {
    isIn: text => mask.isIn(text) || (mayHold(text) && own().isIn(text)),
    text: text => (mayHold(text) ? own().text(mask.text(text)) : mask.text(text)),
    beginning: (text, max) => {
      const searched = text.slice(0, max + beyondCut)
      return mayHold(searched) ? own().beginning(mask.beginning(text, max + beyondCut), max) : mask.beginning(text, max)
    },
    json: value => own().json(mask.json(value)),
    headers: (headers, maxLength) => {
      const masked = mask.headers(headers, maxLength)
      for (const name in masked) {
        const value = masked[name] ?? ''
        // The end of a value that was cut may be the beginning of a secret.
        if (value.length >= maxLength || mayHold(value) || mayHold(name)) return own().headers(masked, maxLength)
      }
      return masked
    },
  }
}

/** No signature is shorter: 64 bytes in base58 have 86 characters or more. */
const longRun = 80
/** A secret that a cut would split ends within this. */
const beyondCut = 8_192
const mayEscape = /[%\\&\r\n]|=[0-9a-f]{2}/i

/** What is in a text that has the secret in some form: a part from its middle, in the same form. */
function partsOf(secret: string): readonly string[] {
  const middle = Math.floor(secret.length / 2)
  return formsOf(secret.slice(middle - partLength / 2, middle + partLength / 2)).map(({ text }) => fold(text))
}

const partLength = 12

/** Characters of encoded texts, and of lists of bytes. */
const ENCODED = 1
const LISTED = 2
const kinds = Uint8Array.from({ length: 128 }, (_, code) => {
  const character = String.fromCharCode(code)
  return (/[\w+/=%\\&#;:.{}\r\n-]/.test(character) ? ENCODED : 0) | (/[0-9a-f, ]/i.test(character) ? LISTED : 0)
})

/** Whether a text has a run of `longRun` characters of one kind. Looks at the end of each such length, then around it. */
function hasLongRun(text: string): boolean {
  const kindAt = (at: number): number => kinds[text.charCodeAt(at)] ?? 0
  for (let at = longRun - 1; at < text.length; at += longRun) {
    for (const kind of [ENCODED, LISTED]) {
      if ((kindAt(at) & kind) === 0) continue
      let start = at
      let end = at + 1
      while (start > 0 && (kindAt(start - 1) & kind) !== 0 && end - start < longRun) start--
      while (end < text.length && (kindAt(end) & kind) !== 0 && end - start < longRun) end++
      if (end - start >= longRun) return true
    }
  }
  return false
}
