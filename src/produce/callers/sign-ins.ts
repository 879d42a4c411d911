import type { BadSignIn, SignInForm, WalletTerms } from '../../contract/wallets.ts'
import type { Cancel, Clock } from '../../lib/clock.ts'
import type { Headers, WalletCaller } from './caller.ts'
import { signInForm } from './sign-in.ts'
import type { Signer } from './signer.ts'

/** The sign-ins of wallets, signed before they are needed. */
export type SignIns = {
  /** The next sign-in of a wallet; a promise if it is not signed yet. Each is taken once. */
  readonly take: (wallet: WalletCaller) => SignedIn | Promise<SignedIn>
  /** A sign-in that the target must refuse; null: there is no accepted and still valid sign-in to repeat. */
  readonly takeBad: (wallet: WalletCaller, flaw: BadSignIn) => SignedIn | Promise<SignedIn> | null
  /** Records that the target has accepted a sign-in. */
  readonly accepted: (wallet: WalletCaller, signIn: SignedIn) => void
  /** Signs as many as the load may soon need. Resolves when they are there. */
  readonly fill: () => Promise<void>
  /** Replaces sign-ins that were not taken in time, until it is cancelled. */
  readonly keepFresh: () => Cancel
}

/** A signed sign-in. It is sent until `untilMs` of the run. */
export type SignedIn = { readonly headers: Headers; readonly form: SignInForm; readonly untilMs: number }

export type SignInsOptions = {
  readonly wallets: readonly WalletCaller[]
  readonly signer: Signer
  readonly clock: Clock
  readonly terms: Pick<WalletTerms['signIn'], 'header' | 'legacyHeader' | 'layouts' | 'validityMs'>
  /** How many of each wallet are signed ahead. */
  readonly ahead: number
}

type Waiting = { readonly resolve: (signIn: SignedIn) => void; readonly reject: (cause: unknown) => void }
type Pool = {
  readonly wallet: WalletCaller
  /** Oldest first. */
  ready: SignedIn[]
  waiting: Waiting[]
  /** Ordered from the signer and not there yet. */
  ordered: number
  nonces: number
  /** The last one that the target has accepted. */
  accepted: SignedIn | null
}

/** A sign-in is taken within this share of its validity. The rest is for the network, and for a target whose clock is fast. */
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
export function createSignIns({ wallets, signer, clock, terms, ahead }: SignInsOptions): SignIns {
  const { header, legacyHeader, validityMs } = terms
  const pools = new Map<string, Pool>(
    wallets.map(wallet => [wallet.name, { wallet, ready: [], waiting: [], ordered: 0, nonces: 0, accepted: null }]),
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
        for (const [index, value] of values.entries()) {
          const signIn = signInOf(pool, firstNonce + index, value, untilMs)
          const waiting = pool.waiting.shift()
          if (waiting === undefined) pool.ready.push(signIn)
          else waiting.resolve(signIn)
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

  function signInOf({ wallet }: Pool, number: number, value: string, untilMs: number): SignedIn {
    const form = signInForm(wallet.name, number, terms)
    const name = form.isLegacy ? (legacyHeader ?? header) : header
    return { headers: { [name]: value }, form, untilMs }
  }

  const poolOf = ({ name }: WalletCaller): Pool => {
    const pool = pools.get(name)
    if (pool === undefined) throw new RangeError(`no wallet named ${name}`)
    return pool
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
      const pool = poolOf(wallet)
      discard(pool, clock.nowMs())
      const next = pool.ready.shift()
      if (next !== undefined) {
        refill(pool)
        return next
      }
      return new Promise((resolve, reject) => {
        pool.waiting.push({ resolve, reject })
        refill(pool)
      })
    },
    takeBad: (wallet, flaw) => {
      const pool = poolOf(wallet)
      const { accepted } = pool
      const nowMs = clock.nowMs()
      if (flaw === 'repeated-sign-in') return accepted !== null && nowMs < accepted.untilMs ? accepted : null
      const number = pool.nonces++
      const order = { wallet: wallet.name, firstNonce: number, count: 1, issuedMs: clock.wallMs(), flaw }
      return signer.signIns(order).then(([value = '']) => signInOf(pool, number, value, nowMs))
    },
    accepted: (wallet, signIn) => {
      poolOf(wallet).accepted = signIn
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
