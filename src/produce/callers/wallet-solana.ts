import { createPrivateKey, createPublicKey, type KeyObject, sign } from 'node:crypto'
import { fromBase58, toBase58 } from '../../lib/base58.ts'
import type { WalletKind } from './sign-in.ts'

/** Wallets of Solana: an address is a public Ed25519 key in base58. The text has the lines of EIP-4361. */
export const solanaWallets: WalletKind = {
  type: 'ed25519',
  addressOf: privateKey => toBase58(publicKeyOf(keyOf(privateKey))),
  textOf: ({ domain, address, statement, uri, chainId, nonce, issuedMs, expiresMs }) =>
    [
      `${domain} wants you to sign in with your Solana account:`,
      address,
      '',
      ...(statement === '' ? [] : [statement, '']),
      `URI: ${uri}`,
      'Version: 1',
      `Chain ID: ${chainId.split(':')[1]}`,
      `Nonce: ${nonce}`,
      `Issued At: ${new Date(issuedMs).toISOString()}`,
      `Expiration Time: ${new Date(expiresMs).toISOString()}`,
    ].join('\n'),
  sign: (privateKey, text) => toBase58(sign(null, Buffer.from(text), keyOf(privateKey))),
}

const keys = new Map<string, KeyObject>()

/** What precedes the 32 bytes of a private Ed25519 key in its DER encoding (RFC 8410). */
const keyHeader = Buffer.from('302e020100300506032b657004220420', 'hex')

function keyOf(privateKey: string): KeyObject {
  const known = keys.get(privateKey)
  if (known !== undefined) return known
  const der = Buffer.concat([keyHeader, Buffer.from(privateKey, 'hex')])
  const key = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' })
  keys.set(privateKey, key)
  return key
}

const publicKeyOf = (key: KeyObject): Buffer =>
  createPublicKey(key).export({ format: 'der', type: 'spki' }).subarray(-seedLength)

const seedLength = 32

/**
 * A private key as 64 hexadecimal digits; null if the text is none. Wallets export the seed and the public key together
 * in base58; the two must fit.
 */
export function parseSolanaKey(text: string): string | null {
  const bytes = fromBase58(text)
  if (bytes === null || (bytes.length !== seedLength && bytes.length !== 2 * seedLength)) return null
  const seed = bytes.subarray(0, seedLength).toString('hex')
  const isWhole = bytes.length === seedLength || publicKeyOf(keyOf(seed)).equals(bytes.subarray(seedLength))
  return isWhole ? seed : null
}

/** The forms in which a Solana key is written, for masks. */
export function solanaKeyTexts(privateKey: string): readonly string[] {
  const seed = Buffer.from(privateKey, 'hex')
  return [toBase58(Buffer.concat([seed, publicKeyOf(keyOf(privateKey))])), toBase58(seed)]
}
