import type { Cancel, Clock } from '../../lib/clock.ts'
import type { Headers, WalletCaller } from './caller.ts'
import type { Signer } from './signer.ts'

/** The sign-ins of wallets, signed before they are needed. */
export type SignIns = {
  /** The headers of the next sign-in of a wallet; a promise if it is not signed yet. Each is taken once. */
  readonly take: (wallet: WalletCaller) => Headers | Promise<Headers>
  /** Signs as many as the load may soon need. Resolves when they are there. */
  readonly fill: () => Promise<void>
  /** Replaces those that nobody took in time, until it is cancelled. */
  readonly keepFresh: () => Cancel
}

export type SignInsOptions = {
  readonly wallets: readonly WalletCaller[]
  readonly signer: Signer
  readonly clock: Clock
  /** The name of the header, and how long a sign-in is valid. */
  readonly header: string
  readonly validityMs: number
  /** How many of each wallet are signed ahead. */
  readonly ahead: number
}

type Ready = { readonly headers: Headers; readonly untilMs: number }
type Waiting = { readonly resolve: (headers: Headers) => void; readonly reject: (cause: unknown) => void }
type Pool = {
  readonly wallet: WalletCaller
  /** Oldest first. */
  ready: Ready[]
  waiting: Waiting[]
  /** Ordered from the signer and not there yet. */
  ordered: number
  nonces: number
}

/** A sign-in is taken within this share of its validity. The rest is for its way, and for a target whose clock is fast. */
const usableShare = 0.75
/** How often old ones are replaced, as a share of the validity, and at least this far apart. */
const checkShare = 0.125
const minCheckMs = 1_000
/** Few at once, so that a request that waits for the first does not wait for many others. */
const orderSize = 16

/**
 * A pool for each wallet. It is refilled when less than half of it is left. If it is empty, a request waits for its
 * signature: that is lateness of Turnpike, and counts as such. A failure of the signer rejects all that wait.
 */
export function createSignIns({ wallets, signer, clock, header, validityMs, ahead }: SignInsOptions): SignIns {
  const pools = new Map<string, Pool>(
    wallets.map(wallet => [wallet.name, { wallet, ready: [], waiting: [], ordered: 0, nonces: 0 }]),
  )
  /** Orders that are not answered yet. */
  const orders = new Set<Promise<void>>()
  const checkMs = Math.max(minCheckMs, validityMs * checkShare)

  function order(pool: Pool, count: number): void {
    const untilMs = clock.nowMs() + validityMs * usableShare
    const firstNonce = pool.nonces
    pool.nonces += count
    pool.ordered += count
    const done = signer.signIns({ wallet: pool.wallet.name, firstNonce, count, issuedMs: clock.wallMs() }).then(
      values => {
        pool.ordered -= count
        for (const value of values) {
          const headers = { [header]: value }
          const waiting = pool.waiting.shift()
          if (waiting === undefined) pool.ready.push({ headers, untilMs })
          else waiting.resolve(headers)
        }
      },
      (cause: unknown) => {
        pool.ordered -= count
        for (const { reject } of pool.waiting) reject(cause)
        pool.waiting = []
      },
    )
    orders.add(done)
    void done.then(() => orders.delete(done))
  }

  /** Orders what the pool lacks, if less than half of it is left or on its way. */
  function refill(pool: Pool): void {
    const left = pool.ready.length + pool.ordered - pool.waiting.length
    if (left > ahead / 2) return
    for (let missing = ahead - left; missing > 0; missing -= orderSize) order(pool, Math.min(missing, orderSize))
  }

  const discard = (pool: Pool, untilMs: number): void => {
    if ((pool.ready[0]?.untilMs ?? untilMs) < untilMs) pool.ready = pool.ready.filter(each => each.untilMs >= untilMs)
  }

  return {
    take: wallet => {
      const pool = pools.get(wallet.name)
      if (pool === undefined) throw new RangeError(`no wallet named ${wallet.name}`)
      discard(pool, clock.nowMs())
      const next = pool.ready.shift()
      if (next !== undefined) {
        refill(pool)
        return next.headers
      }
      return new Promise((resolve, reject) => {
        pool.waiting.push({ resolve, reject })
        refill(pool)
      })
    },
    fill: async () => {
      for (const pool of pools.values()) refill(pool)
      await Promise.all(orders)
    },
    keepFresh: () => {
      const check = (): void => {
        for (const pool of pools.values()) {
          discard(pool, clock.nowMs() + 2 * checkMs)
          refill(pool)
        }
        cancel = clock.at(clock.nowMs() + checkMs, check)
      }
      let cancel: Cancel = () => {}
      if (pools.size > 0) cancel = clock.at(clock.nowMs() + checkMs, check)
      return () => cancel()
    },
  }
}
