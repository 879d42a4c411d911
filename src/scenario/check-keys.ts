import { quote } from './complaint.ts'
import type { Key, OffsetComplaint } from './source.ts'

const secretKeys = new Set([
  'key',
  'keys',
  'token',
  'tokens',
  'secret',
  'secrets',
  'apikey',
  'apikeys',
  'password',
  'authorization',
  'bearer',
])

/** A key under which people write a secret, in whatever spelling. */
export const isSecretKey = (name: string): boolean => secretKeys.has(name.toLowerCase().replace(/[-_]/g, ''))

/** Keys that must not be there, whatever the schema says. What stands behind a secret one is never repeated. */
export function checkKeys(keys: readonly Key[]): readonly OffsetComplaint[] {
  return keys.flatMap(({ name, offset, repeated }): OffsetComplaint[] => {
    if (isSecretKey(name)) {
      const hint = 'set TURNPIKE_KEYS, or name a file in callers.keys-file'
      return [{ offset, got: `the key ${quote(name)}`, expected: 'no secret in a scenario', hint }]
    }
    // JavaScript gives this key a meaning of its own, so that data drops it in silence.
    if (name === '__proto__') return [{ offset, got: quote(name), expected: 'a name of letters, digits and hyphens' }]
    return repeated ? [{ offset, got: `a second ${quote(name)}`, expected: 'each key once in its mapping' }] : []
  })
}
