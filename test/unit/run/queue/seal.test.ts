import { describe, expect, test } from 'vitest'
import { createSealKeys, seal, unseal } from '../../../../src/run/queue/seal.ts'

const text = Buffer.from('{"keys":["sk-live-0123456789"]}')

describe('what is sealed for a worker', () => {
  const worker = createSealKeys()
  const sealed = seal(text, worker.publicKey, 'run/0')

  test('is read by this worker', () => {
    expect(unseal(sealed, worker, 'run/0')).toEqual(text)
  })

  test('does not show the text, and differs each time', () => {
    expect(sealed.includes('sk-live')).toBe(false)
    expect(seal(text, worker.publicKey, 'run/0')).not.toEqual(sealed)
  })

  test('is read by no other worker, and for no other shard', () => {
    expect(() => unseal(sealed, createSealKeys(), 'run/0')).toThrow()
    expect(() => unseal(sealed, worker, 'run/1')).toThrow(
      `Redis: got ${sealed.length} bytes that this process cannot decrypt, expected data that Turnpike encrypted for it; another program may have changed them`,
    )
  })

  test.each([0, 44, 56, 72])('is refused if byte %i was changed', index => {
    const changed = Buffer.from(sealed)
    changed[index] = (changed[index] ?? 0) ^ 1
    expect(() => unseal(changed, worker, 'run/0')).toThrow()
  })
})
