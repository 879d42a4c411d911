import { describe, expect, test } from 'vitest'
import { hidden, hiddenIn, hideSecrets, maskWrites } from '../../../src/cli/secrets.ts'

const key = 'sk-Abc123xyz-of-the-secrets-test'

describe('what this process prints', () => {
  hideSecrets(['test', key])

  test('has no strong secret, and its own words', () => {
    expect(hidden(`a test of ${encodeURIComponent(key)}`)).toBe('a test of ***')
    const plain = { a: [1, null], b: 'test' }
    expect(hiddenIn(plain)).toBe(plain)
    expect(hiddenIn({ a: [1, null, key], [key]: 1 })).toEqual({ a: [1, null, '***'], '***': 1 })
  })

  test('is masked in texts and bytes of a stream, and other bytes are the same', () => {
    const written: unknown[] = []
    const stream = { write: (data: unknown) => written.push(data) > 0 }
    maskWrites(stream as Parameters<typeof maskWrites>[0])
    const bytes = Uint8Array.of(0, 255, 128)
    for (const data of [`x ${key}\n`, Buffer.from(`y ${key}`), bytes]) stream.write(data)
    expect(written).toEqual(['x ***\n', 'y ***', bytes])
  })
})
