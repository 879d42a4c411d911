import { createHash } from 'node:crypto'
import type { WalletTerms } from '../../contract/wallets.ts'
import type { WalletCaller } from './caller.ts'
import { badSignIn, type SignInFlaw } from './damage.ts'
import { type PaymentOrder, paymentMaker } from './payment-maker.ts'
import { signInForm, signInHeader, type WalletKind } from './sign-in.ts'
import { evmWallets, solanaWallets } from './wallet-kinds.ts'

/** What signs for the wallets of a run. It may be in a thread of its own. */
export type Signer = {
  /** Values of the sign-in header, each with its own nonce. */
  readonly signIns: (order: SignInOrder) => Promise<readonly string[]>
  /** The value of the payment header; null: the payment cannot be made. */
  readonly payment: (order: PaymentOrder) => Promise<string | null>
}

/** `wallet`: its name. Nonces are numbered from `firstNonce`, and each is ordered once. `issuedMs`: Unix time. */
export type SignInOrder = {
  readonly wallet: string
  readonly firstNonce: number
  readonly count: number
  readonly issuedMs: number
  /** Their deliberate flaw. Missing: they are valid. */
  readonly flaw?: SignInFlaw | undefined
}

/** Plain data, with private keys. Never written anywhere. */
export type SignerJob = {
  readonly wallets: readonly WalletCaller[]
  readonly terms: WalletTerms
  /** Scheme, host and port of the target. */
  readonly origin: string
  /** The address of a Solana node, for payments; null: there is none. */
  readonly solanaNode: string | null
  /** Makes the nonces of this run unique. */
  readonly runId: string
}

/** Signs in the current thread. */
export function createSigner({ wallets, terms, origin, solanaNode, runId }: SignerJob): Signer {
  const byName = new Map(wallets.map(wallet => [wallet.name, wallet]))
  const walletOf = (name: string): WalletCaller => {
    const wallet = byName.get(name)
    if (wallet === undefined) throw new RangeError(`no wallet named ${name}`)
    return wallet
  }
  const pay = paymentMaker({ solanaNode })
  return {
    signIns: async ({ wallet: name, firstNonce, count, issuedMs, flaw }) => {
      const wallet = walletOf(name)
      const kind = await walletKind(wallet.family)
      return Array.from({ length: count }, (_, index) => {
        const number = firstNonce + index
        const { layout } = signInForm(name, number, terms.signIn)
        const place = { origin, nonce: digestOf(`${runId}/${name}/${number}`).slice(0, nonceLength), issuedMs, layout }
        if (flaw === undefined) return signInHeader(wallet, kind, terms.signIn, place)
        return badSignIn(flaw, { wallet, kind, terms, place, otherKey: digestOf(wallet.privateKey) })
      })
    },
    payment: async order => await pay(walletOf(order.wallet), order),
  }
}

/** The kind of wallet of a chain. Rejects if its packages are not installed. */
export async function walletKind(family: WalletCaller['family']): Promise<WalletKind> {
  if (family === 'solana') return solanaWallets
  const kind = await evmWallets.load()
  if (kind === null) throw new Error(evmWallets.missing)
  return kind
}

/** A nonce has letters and digits, as EIP-4361 wants it. */
const nonceLength = 32

const digestOf = (text: string): string => createHash('sha256').update(text).digest('hex')
