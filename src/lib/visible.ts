/** Controls, halves of surrogate pairs, and invisible characters that reverse, join or hide text. */
const unfit = /[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029]/gu

/**
 * Text from outside as people may see it: it cannot move a cursor, color a terminal, add a link, or reverse what is
 * around it. Such a character is shown as its escape, such as `\x1b` or `\u202e`. Line feeds and tabs stay.
 */
export const visible = (text: string): string =>
  text.replace(unfit, character => (character === '\n' || character === '\t' ? character : escapeOf(character)))

/** Like `visible`, on one line. */
export const oneLine = (text: string): string => visible(text.replace(/[\t\n\r]+/g, ' '))

function escapeOf(character: string): string {
  const hex = (character.codePointAt(0) ?? 0).toString(16)
  if (hex.length <= 2) return `\\x${hex.padStart(2, '0')}`
  return hex.length === 4 || hex.length === 3 ? `\\u${hex.padStart(4, '0')}` : `\\u{${hex}}`
}

/** JSON in which such characters are escapes too. It means the same. */
export const visibleJson = (json: string): string =>
  json.replace(unfit, character => (character === '\n' ? character : jsonEscapeOf(character)))

const jsonEscapeOf = (character: string): string =>
  Array.from({ length: character.length }, (_, index) => character.charCodeAt(index))
    .map(unit => `\\u${unit.toString(16).padStart(4, '0')}`)
    .join('')
