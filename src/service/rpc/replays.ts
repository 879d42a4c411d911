/** An answer that was given under an idempotency key. */
export type Stored = {
  readonly fingerprint: string
  readonly text: string
  readonly credits: number
  readonly costUsd: string
  readonly requestId: string
  /** Unix time at which the first answer leaves; a duplicate that races it is not answered before. */
  readonly readyMs: number
  readonly expiresMs: number
}
export type Finding =
  | { readonly kind: 'new' }
  | { readonly kind: 'conflict' }
  | { readonly kind: 'replay'; readonly stored: Stored }
export type Replays = {
  readonly find: (key: string, nowMs: number) => Stored | undefined
  readonly keep: (key: string, stored: Stored) => void
}
export function findStored(stored: Stored | undefined, fingerprint: string): Finding {
  if (stored === undefined) return { kind: 'new' }
  return stored.fingerprint === fingerprint ? { kind: 'replay', stored } : { kind: 'conflict' }
}
/**
 * All lifetimes are equal, so that the order of insertion is the order of expiry, and the front of the map is all that
 * has to be looked at. The request limit bounds what can gather in a lifetime.
 */
export function replayCache(): Replays {
  const entries = new Map<string, Stored>()
  return {
    find: (key, nowMs) => {
      for (const [oldest, { expiresMs }] of entries) {
        if (expiresMs > nowMs) break
        entries.delete(oldest)
      }
      return entries.get(key)
    },
    keep: (key, stored) => {
      entries.delete(key)
      entries.set(key, stored)
    },
  }
}
