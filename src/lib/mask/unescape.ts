/** A text without one layer of escapes. Character i stands for `starts[i]` to `starts[i + 1]` of the original. */
export type Unescaped = { readonly text: string; readonly starts: Int32Array }

/** Undoes one layer of escapes. */
export type Unescape = (text: string) => Unescaped

const url = '%u[0-9a-f]{4}|%[0-9a-f]{2}'
const literal = '\\\\u\\{[0-9a-f]{1,6}\\}|\\\\u[0-9a-f]{4}|\\\\x[0-9a-f]{2}|\\\\(?:\\r?\\n|.)'
const html = '&#x[0-9a-f]{1,9};?|&#[0-9]{1,9};?|&[a-z]+;'
/** Long encoded texts are wrapped. */
const lineEnd = '\\r?\\n'
/** Never together with the others, because `key=ab` in a URL is none. */
const quotedPrintable = '=[0-9a-f]{2}|=\\r?\\n'

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
