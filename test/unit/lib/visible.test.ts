import { describe, expect, test } from 'vitest'
import { oneLine, visible, visibleJson } from '../../../src/lib/visible.ts'

describe('text from outside', () => {
  test.each([
    ['a color', 'a\u001b[31mb', 'a\\x1b[31mb'],
    ['a link of a terminal', '\u001b]8;;http://x\u0007y', '\\x1b]8;;http://x\\x07y'],
    ['a control of eight bits', '\u009b2J', '\\x9b2J'],
    ['reversed text', 'a\u202egnp.exe', 'a\\u202egnp.exe'],
    ['an isolate', '\u2066x\u2069', '\\u2066x\\u2069'],
    ['a soft hyphen', 'a\u00adb', 'a\\xadb'],
    ['a line separator', 'a\u2028b', 'a\\u2028b'],
    ['an invisible tag', 'a\u{e0041}', 'a\\u{e0041}'],
    ['a NUL', 'a\u0000', 'a\\x00'],
    ['half of a pair', 'a\ud800b', 'a\\ud800b'],
    ['an overwritten line', 'good\rbad', 'good\\x0dbad'],
  ])('shows %s as escapes', (_, text, shown) => {
    expect(visible(text)).toBe(shown)
  })

  test('stays as it is otherwise, with its lines', () => {
    const text = 'größer 漢字 🎉 עברית\n\tnext <b>|`'
    expect(visible(text)).toBe(text)
  })

  test('is one line where it must be', () => {
    expect(oneLine('a\r\n\tb\nc\rd\u001b')).toBe('a b c d\\x1b')
  })

  test('means the same in JSON', () => {
    const value = { text: 'a\u202eb\u007f\u2028\u{e0041}é\u001b', list: [1] }
    const json = visibleJson(JSON.stringify(value, null, 2))
    expect(json).not.toMatch(/[\p{Cf}\u007f\u2028]/u)
    expect(JSON.parse(json)).toEqual(value)
  })
})
