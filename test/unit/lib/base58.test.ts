import { getBase58Decoder, getBase58Encoder } from '@solana/kit'
import { expect, test } from 'vitest'
import { fromBase58, toBase58 } from '../../../src/lib/base58.ts'

test.each([[[]], [[0]], [[0, 0, 1]], [[255, 0]], [Array.from({ length: 64 }, (_, index) => (index * 37) % 256)]])(
  '%j is written as others write it, and read again',
  bytes => {
    const text = getBase58Decoder().decode(Uint8Array.from(bytes))
    expect([toBase58(Uint8Array.from(bytes)), [...(fromBase58(text) ?? [])]]).toEqual([text, bytes])
    expect([...getBase58Encoder().encode(text)]).toEqual(bytes)
  },
)

test.each(['0', 'O', 'I', 'l', 'a b', '1'.repeat(129)])('%s is not base58', text => {
  expect(fromBase58(text)).toBeNull()
})
