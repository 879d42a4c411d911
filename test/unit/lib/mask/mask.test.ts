import { describe, expect, test } from 'vitest'
import { createMask, isStrong } from '../../../../src/lib/mask/mask.ts'
import { type Random, randomStream } from '../../../../src/lib/random.ts'
import { isNightly } from '../../../support/nightly.ts'
import { encodings, reveals } from '../../../support/secret-forms.ts'

const alphabets = [
  'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789',
  'abcdefghijklmnopqrstuvwxyz0123456789-_',
  'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=',
  Array.from({ length: 94 }, (_, code) => String.fromCharCode(33 + code)).join(''),
]

const from = (random: Random, alphabet: string, length: number): string =>
  Array.from({ length }, () => alphabet[random.int(alphabet.length)]).join('')

/** A strong secret, of one of the alphabets. */
function randomSecret(random: Random): string {
  for (;;) {
    const alphabet = alphabets[random.int(alphabets.length)] ?? ''
    const secret = `${['', 'sk-', 'ref_default_'][random.int(3)]}${from(random, alphabet, 8 + random.int(60))}`
    if (isStrong(secret)) return secret
  }
}

const surroundings = [
  '',
  ' ',
  '"',
  'key=',
  '{"error":"',
  'https://host/v1/',
  'Basic ',
  '<b>',
  '\n',
  'é',
  '%',
  '\\',
  '&',
]

test.each(['=\r\n', '=\n', '\r\n', '\n'])('a line end in a key is no way around the mask in JSON: %j', end => {
  const secret = 'sk-proj8Jk2Lm4Np6Qr0St0Uv1Wx2Yz3'
  for (const at of [3, 9, 16, 28]) {
    const text = JSON.stringify({ a: `no: ${secret.slice(0, at)}${end}${secret.slice(at)}` })
    expect(createMask([secret]).isIn(text), text).toBe(true)
  }
})

describe('no form of a secret survives', () => {
  for (const { name, encode } of encodings) {
    test(name, () => {
      const random = randomStream(7, name)
      for (let round = 0; round < (isNightly ? 60 : 20); round++) {
        const secret = randomSecret(random)
        const others = Array.from({ length: random.int(4) }, () => randomSecret(random))
        const mask = createMask([...others, secret])
        const around = () => surroundings[random.int(surroundings.length)] ?? ''
        const encoded = encode(secret, random.next)
        const text = `${around()} ${encoded} ${around()}`
        const masked = mask.text(text)
        if (!reveals(encoded, secret)) throw new Error(`the test cannot read ${encoded}`)
        if (reveals(masked, secret)) expect.fail(`${secret}\n${text}\n${masked}`)
        expect(mask.isIn(text), text).toBe(true)
        expect(mask.isIn(masked), masked).toBe(false)
        expect(mask.text(masked)).toBe(masked)
      }
    })
  }
})

test('a text without a secret is the same string', () => {
  const random = randomStream(3, 'texts')
  const mask = createMask(Array.from({ length: 50 }, () => randomSecret(random)))
  const secret = 'sk-another-Key-9f'
  for (let round = 0; round < (isNightly ? 400 : 100); round++) {
    const encoding = encodings[round % encodings.length]
    const text = `${surroundings[round % surroundings.length]}${encoding?.encode(secret, random.next)}`
    expect(mask.text(text)).toBe(text)
    expect(mask.beginning(text, 10_000)).toBe(text)
  }
  const value = { id: 'chatcmpl-1', n: [1, 2.5, null, true], text: 'a \\u0041 %41 &amp; dGVzdA==' }
  expect(mask.json(value)).toEqual(value)
  const headers = { 'cf-ray': '8f1d-FRA', date: 'Sun, 22 Nov 2026 13:00:00 GMT' }
  expect(mask.headers(headers, 512)).toBe(headers)
})

test('only the secret is masked, and what an encoded text holds beside it can still be read', () => {
  const key = 'sk-Abc123/x+9z'
  const mask = createMask([key])
  expect(mask.text(`Invalid key ${key}, try again`)).toBe('Invalid key ***, try again')
  expect(mask.text(`a%2Bb=${encodeURIComponent(key)}&c=%41`)).toBe('a%2Bb=***&c=%41')
  for (const length of [0, 1, 2, 3, 4, 5]) {
    const json = JSON.stringify({ pad: 'x'.repeat(length), key, seq: length })
    const masked = mask.text(`id ${Buffer.from(json).toString('base64')}`)
    const read = Buffer.from(masked.slice(3), 'base64').toString()
    expect(read).toBe(JSON.stringify({ pad: 'x'.repeat(length), key: '*'.repeat(key.length), seq: length }))
  }
  expect(mask.text(`0x00${Buffer.from(key).toString('hex')}ff`)).toBe(`0x00${'2a'.repeat(key.length)}ff`)
})

describe('a text that is cut', () => {
  const key = 'sk-Abc123xyz-9f-Qq7-mM4'
  const mask = createMask([key, 'sk-Another-4711-key'])

  test('is masked before it is cut', () => {
    for (let max = 0; max < 60; max++) {
      const shown = mask.beginning(`the key is ${key} and more`, max)
      expect(shown).toBe('the key is *** and more'.slice(0, max))
    }
  })

  test('hides the beginning of a secret from eight characters on, if the rest never arrived', () => {
    const urlEncoded = [...key].map(character => `%${character.charCodeAt(0).toString(16)}`).join('')
    const base64 = Buffer.from(`:${key}`).toString('base64')
    for (let length = 8; length < key.length; length++) {
      expect(mask.beginning(`key ${key.slice(0, length)}`, 512)).toBe('key ***')
      expect(mask.beginning(`key ${key.slice(0, length)}"`, 512)).toBe('key ***')
      expect(mask.beginning(`key ${urlEncoded.slice(0, 3 * length + 2)}`, 512)).toBe('key ***')
    }
    for (let length = 11; length < base64.length - 2; length++)
      expect(mask.beginning(`key ${base64.slice(0, length)}`, 512)).toMatch(/^key .{0,2}\*\*\*$/)
    expect(mask.beginning('key sk-Abc1', 512)).toBe('key sk-Abc1')
    expect(mask.headers({ a: `${'x'.repeat(500)}${key.slice(0, 12)}` }, 512).a).toBe(`${'x'.repeat(500)}***`)
    expect(mask.headers({ a: key.slice(0, 12) }, 512).a).toBe(key.slice(0, 12))
  })
})

test('names, numbers and deep values of JSON are masked, and so are names of headers', () => {
  const key = '20261122131415161718'
  const mask = createMask([key, 'sk-Abc123xyz'])
  expect(mask.json({ 'sk-Abc123xyz': [{ n: 1, deep: 'x sk-Abc123xyz' }, Number('12')] })).toEqual({
    '***': [{ n: 1, deep: 'x ***' }, 12],
  })
  expect(mask.json(JSON.parse('{"__proto__":"sk-Abc123xyz"}'))).toEqual(JSON.parse('{"__proto__":"***"}'))
  expect(mask.headers({ 'x-sk-abc123xyz': 'a', b: 'Bearer sk-Abc123xyz' }, 512)).toEqual({
    'x-***': 'a',
    b: 'Bearer ***',
  })
})

describe('a weak key', () => {
  test('is weak if it is short, a plain word or one character', () => {
    for (const weak of ['a', 'test', 'EMPTY', 'hunter2', 'changeme', 'test-key', 'aaaaaaaaaaaaaaaa1', '12345678'])
      expect(isStrong(weak), weak).toBe(false)
    for (const strong of ['ref_default_c0', 'sk-abc123', 'correct-horse-battery', 'aBcDeFgH'])
      expect(isStrong(strong), strong).toBe(true)
  })

  test('is masked as a whole word only', () => {
    const mask = createMask(['test', 'hunter2', 'a'])
    expect(mask.text('hunter2 is not hunter21; (test) tested a-test "test": hunter2.')).toBe(
      '*** is not hunter21; (***) tested a-test "***": ***.',
    )
    expect(mask.text('a key is a key; Bearer a')).toBe('a key is a key; Bearer ***')
  })

  test('is found in encodings once they are long enough', () => {
    const mask = createMask(['hunter2'])
    for (const before of ['', 'a', 'ab', 'user:']) {
      const masked = mask.text(Buffer.from(`${before}hunter2`).toString('base64'))
      expect(reveals(masked, 'hunter2'), masked).toBe(false)
    }
  })
})

test('no secrets, no work', () => {
  const mask = createMask(['', ''])
  expect(mask.text('anything')).toBe('anything')
  expect(mask.beginning('anything', 3)).toBe('any')
})

test('a thousand keys with one beginning cost no more than a scan of a text full of that beginning', () => {
  const keys = Array.from({ length: 1_000 }, (_, index) => `ref_default_20261122T130000Zabc-c${index}`)
  const mask = createMask(keys)
  expect(mask.text(`no ${keys[999]}!`)).toBe('no ***!')
  const text = 'ref_default_20261122T130000Zabc '.repeat(2_000)
  expect(mask.text(text)).toBe(text)
})
