/** A reply that was sent for an idempotency key. */
export type CachedReply = {
  readonly fingerprint: string
  readonly text: string
  /** Missing: 200. */
  readonly status?: number
  readonly credits: number
  readonly costUsd: string
  readonly requestId: string
  /** Headers of the first reply that a replay has, too. */
  readonly headers?: Readonly<Record<string, string>>
  /** Unix milliseconds at which the first reply is sent. A concurrent duplicate gets its reply no earlier. */
  readonly readyMs: number
  readonly expiresMs: number
}

export type ReplayLookup =
  | { readonly kind: 'new' }
  | { readonly kind: 'conflict' }
  | { readonly kind: 'replay'; readonly reply: CachedReply }

type Replays = {
  readonly find: (key: string, nowMs: number) => CachedReply | undefined
  readonly store: (key: string, stored: CachedReply) => void
}

export function lookUpReply(stored: CachedReply | undefined, fingerprint: string): ReplayLookup {
  if (stored === undefined) return { kind: 'new' }
  return stored.fingerprint === fingerprint ? { kind: 'replay', reply: stored } : { kind: 'conflict' }
}

/**
 * All lifetimes are equal, so insertion order is the order of expiry, and only the front of the map can have expired.
 * The request limit bounds how many replies are cached.
 */
export function replayCache(): Replays {
  const entries = new Map<string, CachedReply>()
  return {
    find: (key, nowMs) => {
      for (const [oldest, { expiresMs }] of entries) {
        if (expiresMs > nowMs) break
        entries.delete(oldest)
      }
      return entries.get(key)
    },
    store: (key, reply) => {
      entries.delete(key)
      entries.set(key, reply)
    },
  }
}
