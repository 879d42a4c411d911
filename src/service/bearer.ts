import type { Caller } from './account.ts'

/**
 * `ref_<account tier>_<name>`: every well-formed key is the key of an account, so that a run needs no preparation.
 * Null for any other key.
 */
export function callerOfKey(key: string): Caller | null {
  const match = /^ref_(default|partner)_([A-Za-z0-9-]+)$/.exec(key)
  if (match === null) return null
  const [, tier, name = ''] = match
  return { tier: tier === 'partner' ? 'partner' : 'default', name }
}

/** The key of an Authorization header; null where the header is of another scheme. */
export function bearerKey(authorization: string): string | null {
  return /^Bearer +(\S+) *$/i.exec(authorization)?.[1] ?? null
}
