/** Ways in which a program may write a secret, each with a name. They are not those of the mask: most are random. */
export type Encoding = { readonly name: string; readonly encode: (secret: string, random: () => number) => string }

const base64 = (text: string): string => Buffer.from(text).toString('base64')
const hexOf = (character: string): string => character.charCodeAt(0).toString(16).padStart(2, '0')
const each = (secret: string, write: (character: string) => string): string => [...secret].map(write).join('')
const padding = (length: number): string => 'k:'.repeat(length).slice(0, length)

const names: Readonly<Record<string, string>> = {
  ...{ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&apos;', '/': '&sol;', '+': '&plus;' },
  ...{ '=': '&equals;', '-': '&hyphen;', _: '&lowbar;', '.': '&period;' },
}

const json = (text: string): string => JSON.stringify(text).slice(1, -1)
const unicode = (character: string): string => `\\u00${hexOf(character)}`

export const encodings: readonly Encoding[] = [
  { name: 'exact', encode: secret => secret },
  { name: 'lower case', encode: secret => secret.toLowerCase() },
  { name: 'upper case', encode: secret => secret.toUpperCase() },
  { name: 'a scheme', encode: secret => `Bearer ${secret}` },
  { name: 'URL', encode: encodeURIComponent },
  { name: 'form', encode: secret => new URLSearchParams({ key: secret }).toString() },
  { name: 'every byte of a URL', encode: secret => each(secret, character => `%${hexOf(character)}`) },
  { name: 'upper-case URL', encode: secret => each(secret, character => `%${hexOf(character).toUpperCase()}`) },
  { name: 'URL twice', encode: secret => each(secret, character => `%25${hexOf(character)}`) },
  { name: 'URL three times', encode: secret => each(secret, character => `%2525${hexOf(character)}`) },
  {
    name: 'some bytes of a URL',
    encode: (secret, random) =>
      each(secret, character => (random() < 0.3 ? `%${hexOf(character)}` : encodeURIComponent(character))),
  },
  { name: 'plus for a space', encode: secret => secret.replaceAll('+', ' ') },
  { name: 'Base64', encode: base64 },
  { name: 'Base64 of a URL', encode: secret => Buffer.from(secret).toString('base64url') },
  ...[1, 2, 3, 4, 5, 7].map(length => ({
    name: `Base64 after ${length} bytes`,
    encode: (secret: string) => base64(`${padding(length)}${secret} and more`),
  })),
  { name: 'basic credentials', encode: secret => `Basic ${base64(`user:${secret}`)}` },
  { name: 'basic credentials without padding', encode: secret => base64(`${secret}:`).replaceAll('=', '') },
  { name: 'JSON as Base64', encode: secret => base64(JSON.stringify({ a: 1, key: secret, b: [2] })) },
  { name: 'Base64 in a URL', encode: secret => encodeURIComponent(base64(`k=${secret}`)) },
  { name: 'Base64 with escaped slashes', encode: secret => base64(`x${secret}`).replaceAll('/', '\\/') },
  { name: 'Base64 twice', encode: secret => base64(base64(`Bearer ${secret}`)) },
  { name: 'Base64 of hex', encode: secret => base64(Buffer.from(secret).toString('hex')) },
  {
    name: 'Base64 in lines',
    encode: secret => base64(`${padding(40)}${secret}${padding(30)}`).replace(/.{60}/g, '$&\r\n'),
  },
  { name: 'hex', encode: secret => Buffer.from(secret).toString('hex') },
  { name: 'upper-case hex', encode: secret => Buffer.from(secret).toString('hex').toUpperCase() },
  { name: 'hex with colons', encode: secret => [...secret].map(hexOf).join(':') },
  { name: 'a buffer as JSON', encode: secret => JSON.stringify(Buffer.from(secret)) },
  { name: 'JSON', encode: json },
  { name: 'JSON in JSON', encode: secret => json(JSON.stringify({ key: secret })) },
  { name: 'JSON escapes', encode: secret => each(secret, unicode) },
  { name: 'upper-case JSON escapes', encode: secret => each(secret, c => `\\u00${hexOf(c).toUpperCase()}`) },
  { name: 'JSON escapes in JSON', encode: secret => json(each(secret, unicode)) },
  {
    name: 'some JSON escapes',
    encode: (secret, random) => each(secret, c => (random() < 0.3 ? unicode(c) : json(c).replace('/', '\\/'))),
  },
  { name: 'escapes of bytes', encode: secret => each(secret, character => `\\x${hexOf(character)}`) },
  { name: 'escapes of code points', encode: secret => each(secret, character => `\\u{${hexOf(character)}}`) },
  { name: 'HTML names', encode: secret => each(secret, character => names[character] ?? character) },
  { name: 'decimal HTML', encode: secret => each(secret, character => `&#${character.charCodeAt(0)};`) },
  { name: 'long decimal HTML', encode: secret => each(secret, character => `&#000${character.charCodeAt(0)};`) },
  { name: 'hexadecimal HTML', encode: secret => each(secret, character => `&#x${hexOf(character)};`) },
  { name: 'upper-case HTML', encode: secret => each(secret, character => `&#X${hexOf(character).toUpperCase()};`) },
  { name: 'HTML twice', encode: secret => each(secret, character => `&amp;#${character.charCodeAt(0)};`) },
  { name: 'quoted-printable', encode: secret => each(secret, c => `=${hexOf(c).toUpperCase()}`) },
  {
    name: 'quoted-printable in lines',
    encode: secret => `${secret.slice(0, 9).replaceAll('=', '=3D')}=\r\n${secret.slice(9).replaceAll('=', '=3D')}`,
  },
  { name: 'two lines', encode: secret => `${secret.slice(0, 7)}\r\n${secret.slice(7)}` },
]

/** What could be read out of a text in any way that a program undoes: escapes, Base64, hex and lists of bytes. */
export function readingsOf(text: string, layers = 4): readonly string[] {
  const readings = new Set<string>()
  const read = (each: string, depth: number): void => {
    if (readings.has(each)) return
    readings.add(each)
    if (depth === 0) return
    for (const next of undone(each)) if (next !== each) read(next, depth - 1)
  }
  read(text, layers)
  return [...readings]
}

const fromHex = (digits: string): string => String.fromCharCode(Number.parseInt(digits, 16))

const codes = (text: string, pattern: RegExp, radix: number): string =>
  text.replace(pattern, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, radix)))

function undone(text: string): readonly string[] {
  const runs = (pattern: RegExp, read: (run: string) => string) =>
    text.replace(pattern, run => {
      const bytes = read(run)
      return /^[\x20-\x7e]{6,}$/.test(bytes.replace(/[^\x20-\x7e]/g, '')) ? bytes : run
    })
  const named = Object.entries(names).reduce((all, [character, name]) => all.replaceAll(name, character), text)
  return [
    codes(text, /%([0-9a-f]{2})/gi, 16),
    text.replace(
      /\\u00([0-9a-f]{2})|\\x([0-9a-f]{2})|\\u\{([0-9a-f]+)\}|\\(.)/gi,
      (_, a, b, c, character) => character ?? fromHex(a ?? b ?? c),
    ),
    codes(codes(text, /&#x0*([0-9a-f]+);/gi, 16), /&#0*([0-9]+);/g, 10),
    named,
    codes(text.replace(/=\r?\n/g, ''), /=([0-9a-f]{2})/gi, 16),
    text.replace(/\r?\n/g, ''),
    ...[0, 1, 2, 3].map(skip =>
      runs(/[\w+/-]{8,}/g, run => run.slice(0, skip) + Buffer.from(run.slice(skip), 'base64').toString('latin1')),
    ),
    ...[0, 1].map(skip => runs(/[0-9a-f]{12,}/gi, run => Buffer.from(run.slice(skip), 'hex').toString('latin1'))),
    text.replace(/(?:[0-9a-f]{2}:){5,}[0-9a-f]{2}/gi, run => Buffer.from(run.replaceAll(':', ''), 'hex').toString()),
    text.replace(/(?:\d{1,3}, ?){5,}\d{1,3}/g, run => String.fromCharCode(...run.split(',').map(Number))),
  ]
}

/** Whether a secret can be read out of a text, in any letter case. */
export function reveals(text: string, secret: string, layers?: number): boolean {
  const wanted = [secret, secret.replaceAll('+', ' ')].map(each => each.toLowerCase())
  return readingsOf(text, layers).some(reading => wanted.some(each => reading.toLowerCase().includes(each)))
}
