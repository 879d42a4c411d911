import { type SignInForm, signInAt, type WalletTerms } from '../../contract/wallets.ts'
import { textHash } from '../../lib/random.ts'
import type { WalletCaller } from './caller.ts'

/** What a sign-in states. Times are ISO 8601. */
type SignInFields = {
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

export type SignInTerms = Pick<WalletTerms['signIn'], 'domains' | 'uri' | 'statement' | 'validityMs'>

/** What a sign-in is for. `origin`: of the target. `issuedMs`: Unix time. */
export type SignInPlace = {
  readonly origin: string
  readonly nonce: string
  readonly issuedMs: number
  readonly layout: SignInForm['layout']
}

/**
 * The form of a sign-in of a wallet. Of eight in a row, one is in the legacy header, and one has another layout than the
 * first one of the contract.
 */
export function signInForm(
  wallet: string,
  number: number,
  {
    legacyHeader,
    layouts: [first = 'message', other = first],
  }: Pick<WalletTerms['signIn'], 'legacyHeader' | 'layouts'>,
): SignInForm {
  const turn = (textHash(wallet) + number) & 7
  return { isLegacy: turn === 3 && legacyHeader !== null, layout: turn === 6 ? other : first }
}

/** The value of the sign-in header: base64 JSON. */
export function signInHeader(
  { privateKey, address, network }: WalletCaller,
  { type, textOf, sign }: WalletKind,
  { statement, validityMs, ...named }: SignInTerms,
  { origin, nonce, issuedMs, layout }: SignInPlace,
): string {
  const fields: SignInFields = {
    ...signInAt(named, origin),
    address,
    statement,
    chainId: network,
    nonce,
    // EIP-4361 knows milliseconds, and no finer times.
    issuedMs: Math.floor(issuedMs),
    expiresMs: Math.floor(issuedMs + validityMs),
  }
  const message = textOf(fields)
  const signature = sign(privateKey, message)
  const payload =
    layout === 'fields'
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
