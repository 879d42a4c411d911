import type { Caller } from './account.ts'

/**
 * `ref_<kind>_<name>`: every well-formed key is the key of an account, so that a run needs no preparation. The kind is
 * a tier of accounts, or `unpaying`, or `empty`; further keys of the account have `_2`, `_3` … behind them. Null for any
 * other key.
 */
export function callerOfKey(key: string): Caller | null {
  const match = /^ref_(default|partner|unpaying|empty)_([A-Za-z0-9-]+)(?:_\d+)?$/.exec(key)
  if (match === null) return null
  const [, kind = '', name = ''] = match
  if (kind === 'default' || kind === 'partner') return { tier: kind, name, means: 'usual' }
  // No name of a usual account has an underscore in it.
  return { tier: 'default', name: `${kind}_${name}`, means: kind === 'empty' ? 'empty' : 'unpaying' }
}

/** The key of an Authorization header; null where there is none, or where the header is of another scheme. */
export function bearerKey(authorization: string | undefined): string | null {
  return /^Bearer +(\S+) *$/i.exec(authorization ?? '')?.[1] ?? null
}
