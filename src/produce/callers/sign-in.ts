import type { WalletTerms } from '../../contract/wallets.ts'
import type { WalletCaller } from './caller.ts'

/** What a sign-in states. Times are ISO 8601. */
export type SignInFields = {
  readonly domain: string
  readonly address: string
  readonly statement: string
  readonly uri: string
  /** The CAIP-2 id of the network. */
  readonly chainId: string
  readonly nonce: string
  readonly issuedMs: number
  readonly expiresMs: number
}

/** A kind of wallet: its text, its signature, and the name of both. */
export type WalletKind = {
  readonly type: 'eip191' | 'ed25519'
  readonly addressOf: (privateKey: string) => string
  readonly textOf: (fields: SignInFields) => string
  readonly sign: (privateKey: string, text: string) => string
}

export type SignInTerms = Pick<WalletTerms['signIn'], 'layouts' | 'domains' | 'statement' | 'validityMs'>

/** The value of the sign-in header: base64 JSON in the first layout of the contract. `origin`: of the target. */
export function signInHeader(
  { privateKey, address, network }: WalletCaller,
  { type, textOf, sign }: WalletKind,
  { layouts, domains, statement, validityMs }: SignInTerms,
  { origin, nonce, issuedMs }: { readonly origin: string; readonly nonce: string; readonly issuedMs: number },
): string {
  const fields: SignInFields = {
    domain: domains[0] ?? new URL(origin).host,
    address,
    statement,
    uri: origin,
    chainId: network,
    nonce,
    // EIP-4361 knows milliseconds, and no finer times.
    issuedMs: Math.floor(issuedMs),
    expiresMs: Math.floor(issuedMs + validityMs),
  }
  const message = textOf(fields)
  const signature = sign(privateKey, message)
  const payload =
    layouts[0] === 'fields'
      ? { ...fieldsOf(fields), type, signature }
      : { address, message, signature, timestamp: fields.issuedMs, chainId: network, type }
  return Buffer.from(JSON.stringify(payload)).toString('base64')
}

function fieldsOf({ issuedMs, expiresMs, statement, ...fields }: SignInFields) {
  const times = {
    issuedAt: new Date(issuedMs).toISOString(),
    expirationTime: new Date(expiresMs).toISOString(),
  }
  return { ...fields, ...(statement !== '' && { statement }), version: '1', ...times }
}
