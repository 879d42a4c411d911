import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { decodeBody } from '../../../src/calls/decode-body.ts'

const maxBytes = 10_000
const text = JSON.stringify({ choices: ['a', 'b'] })
const decodedText = (bytes: Buffer, encoding: string | undefined): string => {
  const decoded = decodeBody(bytes, encoding, maxBytes)
  return decoded.kind === 'decoded' ? decoded.bytes.toString() : expect.fail(decoded.why)
}

describe('a body is read', () => {
  test.each([
    ['as it is', undefined, Buffer.from(text)],
    ['as it is, when it says so', 'identity', Buffer.from(text)],
    ['from gzip', 'gzip', gzipSync(text)],
    ['from gzip by its old name, in capitals', ' X-GZIP ', gzipSync(text)],
    ['from br', 'br', brotliCompressSync(text)],
    ['from deflate, although nobody asks for it', 'deflate', deflateSync(text)],
  ])('%s', (_, encoding, bytes) => {
    expect(decodedText(bytes, encoding)).toBe(text)
  })

  test('as nothing, when there is nothing, whatever it is said to be', () => {
    expect(decodedText(Buffer.alloc(0), 'gzip')).toBe('')
  })

  test('up to the bound, and not a byte beyond it', () => {
    const most = gzipSync(Buffer.alloc(maxBytes))
    const over = gzipSync(Buffer.alloc(maxBytes + 1))
    expect(decodeBody(most, 'gzip', maxBytes).kind).toBe('decoded')
    expect(decodeBody(over, 'gzip', maxBytes)).toMatchObject({ kind: 'undecodable', encoding: 'gzip' })
  })

  test('no further than the bound of a megabyte of zeros that came as a kilobyte', () => {
    const bomb = brotliCompressSync(Buffer.alloc(50_000_000))
    expect(bomb.length).toBeLessThan(1_000)
    expect(decodeBody(bomb, 'br', maxBytes).kind).toBe('undecodable')
  })
})

describe('a body is given up', () => {
  test.each([
    ['that is not what it is said to be', 'gzip', Buffer.from(text)],
    ['that is no brotli', 'br', Buffer.from(text)],
    ['that was cut', 'gzip', gzipSync(text).subarray(0, -8)],
    ['that was cut after its first byte', 'gzip', gzipSync(text).subarray(0, 1)],
    ['in an encoding that nobody knows', 'rot13', Buffer.from(text)],
    ['in two encodings', 'gzip, br', gzipSync(text)],
  ])('%s', (_, encoding, bytes) => {
    expect(decodeBody(bytes, encoding, maxBytes)).toMatchObject({ kind: 'undecodable', encoding })
  })

  test('without repeating a name that is as long as the target likes', () => {
    const decoded = decodeBody(Buffer.from(text), 'x'.repeat(5_000), maxBytes)
    expect(decoded.kind === 'undecodable' && decoded.encoding.length).toBe(64)
  })

  test('whatever byte of it is wrong', () => {
    const whole = gzipSync(text)
    for (let at = 0; at < whole.length; at++) {
      const broken = Buffer.from(whole)
      broken[at] = (broken[at] ?? 0) ^ 0xff
      expect(['decoded', 'undecodable']).toContain(decodeBody(broken, 'gzip', maxBytes).kind)
    }
  })
})
