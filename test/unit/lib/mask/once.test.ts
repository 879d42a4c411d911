import { createHash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { createMask } from '../../../../src/lib/mask/mask.ts'
import { maskOnce } from '../../../../src/lib/mask/once.ts'
import { randomStream } from '../../../../src/lib/random.ts'
import { encodings, reveals } from '../../../support/secret-forms.ts'

const digest = (text: string): Buffer => createHash('sha512').update(text).digest()
/** A text as long as the signatures of both chains. */
const signatures = [
  ['of an EVM chain', `${digest('a').toString('hex')}1b`],
  ['of Solana', '5VERv8NMvzbJMEkV8xnrLkEaWRtSz9CosKDYjCJjBRnbJLgp8uirBgmQpjKhoR4tjF3ZpRzrFmBV6UjKdiSZkQUW'],
  ['in a transaction', Buffer.concat([digest('b'), digest('c'), digest('d')]).toString('base64')],
] as const
const key = 'sk-Hush93/alpha+Beta_77'
const base = createMask([key])

describe.each(signatures)('a signature %s', (_, signature) => {
  const once = () => maskOnce(base, () => [signature])

  test.each(encodings)('is hidden in a text: $name', ({ name, encode }) => {
    const random = randomStream(3, name)
    for (const around of ['"', '{"error":"', '\n', 'no: ']) {
      const text = `${around}${encode(signature, random.next)}${around} or ${key}.`
      const alone = `${around}${encode(signature, random.next)}${around}`
      expect([once().isIn(alone), once().isIn(JSON.stringify(alone))]).toEqual([true, true])
      const masked = once().text(text)
      if (reveals(masked, signature, 2) || reveals(masked, key, 1)) expect.fail(masked)
    }
  })

  test('is hidden in headers, their names, the members of JSON, and at the end of what was cut', () => {
    const lower = signature.toLowerCase().replaceAll(/[^\w-]/g, '0')
    const mask = maskOnce(base, () => [signature, lower])
    expect(mask.headers({ 'x-a': `no ${signature}`, [`x-${lower}`]: 'b', 'x-c': key }, 512)).toEqual({
      'x-a': 'no ***',
      'x-***': 'b',
      'x-c': '***',
    })
    expect(mask.headers({ 'x-a': `${'.'.repeat(480)}${signature.slice(0, 32)}` }, 512)).toEqual({
      'x-a': `${'.'.repeat(480)}***`,
    })
    expect(mask.json({ a: [signature], [signature]: { key } })).toEqual({ a: ['***'], '***': { key: '***' } })
    expect(mask.beginning(`${'. '.repeat(20)}${signature}`, 60)).toBe(`${'. '.repeat(20)}***`)
    expect(mask.beginning(`${key} ${'. '.repeat(20)}`, 5)).toBe('*** .')
  })
})

test('a response without such a text costs no look at the secrets', () => {
  const mask = maskOnce(base, () => {
    throw new Error('nobody needs them')
  })
  const hash = `0x${digest('e').toString('hex').slice(0, 64)}`
  const text = JSON.stringify([
    { jsonrpc: '2.0', id: 1, result: hash },
    { content: 'Some words in a row. '.repeat(20) },
  ])
  expect([mask.isIn(text), mask.text(text), mask.beginning(text, 9)]).toEqual([false, text, text.slice(0, 9)])
  expect(mask.headers({ date: 'today', etag: hash }, 512)).toEqual({ date: 'today', etag: hash })
})

test('long texts of others are left as they are', () => {
  const mask = maskOnce(base, () => signatures.map(([, signature]) => signature))
  const text = JSON.stringify({ logsBloom: `0x${digest('f').toString('hex').repeat(4)}`, a: '\\'.repeat(90) })
  expect(mask.text(text)).toBe(text)
})
