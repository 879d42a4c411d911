import { createSignableMessage, generateKeyPairSigner, getBase58Decoder } from '@solana/kit'
import { x402Client, x402HTTPClient } from '@x402/core/client'
import type { PaymentPayload, PaymentRequired } from '@x402/core/types'
import { ExactEvmScheme } from '@x402/evm/exact/client'
import { ExactSvmScheme } from '@x402/svm/exact/client'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { createSiweMessage } from 'viem/siwe'

/** A wallet of a client that is built on public packages only. */
export type TestWallet = {
  readonly address: string
  readonly network: string
  /** Signs any text. */
  readonly sign: (text: string) => Promise<string>
  /** The x402 client of this wallet. `node`: the address of a Solana node. */
  readonly payer: (node: string) => x402HTTPClient
}

const base = 'eip155:8453'
const solana = 'solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp'

const clientOf = (register: (client: x402Client) => x402Client): x402HTTPClient =>
  new x402HTTPClient(register(new x402Client().setSpendControls({ maxAmountPerPayment: '$20000' })))

export function evmWallet(): TestWallet {
  const account = privateKeyToAccount(generatePrivateKey())
  return {
    address: account.address,
    network: base,
    sign: message => account.signMessage({ message }),
    payer: () => clientOf(client => client.register(base, new ExactEvmScheme(account))),
  }
}

export async function solanaWallet(): Promise<TestWallet> {
  const signer = await generateKeyPairSigner()
  return {
    address: signer.address,
    network: solana,
    sign: async message => {
      const [signatures] = await signer.signMessages([createSignableMessage(message)])
      return getBase58Decoder().decode(signatures?.[signer.address] ?? new Uint8Array())
    },
    payer: rpcUrl => clientOf(client => client.register(solana, new ExactSvmScheme(signer, { rpcUrl }))),
  }
}

export type SignInOptions = {
  readonly domain: string
  readonly nowMs: number
  readonly nonce?: string
  readonly issuedMs?: number
  readonly chainId?: number
  readonly layout?: 'message' | 'fields'
  /** Changes the payload after it was signed. */
  readonly tamper?: (payload: Readonly<Record<string, unknown>>) => Readonly<Record<string, unknown>>
}

let nonces = 0
export const freshNonce = (): string => `nonce${(++nonces).toString().padStart(11, '0')}`

/** The value of SIGN-IN-WITH-X. */
export async function signIn(wallet: TestWallet, options: SignInOptions): Promise<string> {
  const { domain, nowMs, nonce = freshNonce(), issuedMs = nowMs, chainId = 8453, layout = 'message' } = options
  const { address, network } = wallet
  const uri = `https://${domain}`
  const statement = 'Sign in'
  const issuedAt = new Date(issuedMs)
  const expirationTime = new Date(issuedMs + 300_000)
  const isEvm = network === base
  const evmAddress = isEvm ? (address as `0x${string}`) : ('0x' as const)
  const message = isEvm
    ? createSiweMessage({
        ...{ domain, address: evmAddress, statement, uri, version: '1', chainId, nonce },
        ...{ issuedAt, expirationTime },
      })
    : [
        `${domain} wants you to sign in with your Solana account:\n${address}\n\n${statement}\n`,
        `URI: ${uri}\nVersion: 1\nChain ID: ${network.split(':')[1]}\nNonce: ${nonce}`,
        `Issued At: ${issuedAt.toISOString()}\nExpiration Time: ${expirationTime.toISOString()}`,
      ].join('\n')
  const signature = await wallet.sign(message)
  const times = { issuedAt: issuedAt.toISOString(), expirationTime: expirationTime.toISOString() }
  const chain = isEvm ? `eip155:${chainId}` : network
  const payload =
    layout === 'message'
      ? { address, message, signature, timestamp: issuedMs, chainId: chain, ...(isEvm ? {} : { type: 'ed25519' }) }
      : {
          ...{ domain, address, statement, uri, version: '1', chainId: chain, nonce, ...times },
          ...{ type: isEvm ? 'eip191' : 'ed25519', signature },
        }
  return Buffer.from(JSON.stringify(options.tamper?.(payload) ?? payload)).toString('base64')
}

/** A signed payment of `usd` for the offer of a 402. */
export async function payment(
  wallet: TestWallet,
  offer: PaymentRequired,
  { usd, node = '' }: { readonly usd: number; readonly node?: string },
): Promise<PaymentPayload> {
  const accepts = offer.accepts
    .filter(({ network }) => network === wallet.network)
    .map(each => ({ ...each, amount: String(usd * 1e6) }))
  return withOneLength(() => wallet.payer(node).createPaymentPayload({ ...offer, accepts }))
}

/**
 * A Solana client states the length of its requests, and `fetch` adds it a second time. Where the package undici is
 * loaded, `fetch` of Node.js 20 sends with it, and it refuses two lengths.
 */
export async function withOneLength<T>(work: () => Promise<T>): Promise<T> {
  const { fetch } = globalThis
  globalThis.fetch = (input, init) => {
    const headers = new Headers(init?.headers)
    headers.delete('content-length')
    return fetch(input, { ...init, headers })
  }
  try {
    return await work()
  } finally {
    globalThis.fetch = fetch
  }
}

export const paymentText = (payload: unknown): string => Buffer.from(JSON.stringify(payload)).toString('base64')
