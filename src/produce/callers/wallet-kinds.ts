import { createPrivateKey, createPublicKey, type KeyObject, sign } from 'node:crypto'
import { fromBase58, toBase58 } from '../../lib/base58.ts'
import { isObject, parseJson } from '../../lib/json.ts'
import { optionalPackages } from '../../lib/optional-packages.ts'
import type { Headers } from './caller.ts'
import type { WalletKind } from './sign-in.ts'

/**
 * Wallets of EVM chains. The text is made by viem, as EIP-4361 says. libsecp256k1 in WebAssembly signs it, as EIP-191
 * says, because it takes a fraction of the time of viem.
 */
export const evmWallets = optionalPackages(
  'Wallets of EVM chains',
  ['viem', 'tiny-secp256k1'],
  async (): Promise<WalletKind> => {
    const [{ hashMessage }, { createSiweMessage }, { privateKeyToAddress }, { signRecoverable }] = await Promise.all([
      import('viem'),
      import('viem/siwe'),
      import('viem/accounts'),
      import('tiny-secp256k1'),
    ])
    return {
      type: 'eip191',
      addressOf: privateKey => privateKeyToAddress(`0x${privateKey}`),
      textOf: ({ domain, address, statement, uri, chainId, nonce, issuedMs, expiresMs }) =>
        createSiweMessage({
          ...{ domain, address: `0x${address.slice(2)}`, uri, version: '1', nonce },
          ...(statement !== '' && { statement }),
          chainId: Number(chainId.split(':')[1]),
          issuedAt: new Date(issuedMs),
          expirationTime: new Date(expiresMs),
        }),
      sign: (privateKey, text) => {
        const { signature, recoveryId } = signRecoverable(hashMessage(text, 'bytes'), Buffer.from(privateKey, 'hex'))
        return `0x${Buffer.from(signature).toString('hex')}${(27 + recoveryId).toString(16)}`
      },
    }
  },
)

/** The order of the curve. A private key is a number from 1 to below it. */
const order = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n

/** A private key as 64 hexadecimal digits; null if the text is none. */
export function parseEvmKey(text: string): string | null {
  const [, digits] = /^(?:0x)?([0-9a-f]{64})$/i.exec(text) ?? []
  if (digits === undefined) return null
  const number = BigInt(`0x${digits}`)
  return number > 0n && number < order ? digits.toLowerCase() : null
}

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

/**
 * What must not be written of the headers that a wallet has signed: its signatures, as the headers have them and in
 * the other usual encodings of their bytes. Nonces and addresses are public.
 */
export const signedSecrets = (headers: Headers): readonly string[] =>
  Object.values(headers).flatMap(value => {
    const signed = value.startsWith(base64Object) ? parseJson(Buffer.from(value, 'base64')) : null
    if (!isObject(signed)) return []
    const { signature, payload } = signed
    const inner = isObject(payload) ? payload : {}
    return [
      ...[signature, inner.signature].flatMap(text => (typeof text === 'string' ? formsOfSignature(text) : [])),
      ...(typeof inner.transaction === 'string' ? formsOfTransaction(inner.transaction) : []),
    ]
  })

/** How a JSON object begins in base64. */
const base64Object = 'eyJ'

function formsOfSignature(text: string): readonly string[] {
  if (text.startsWith('0x')) return [text.slice(2), Buffer.from(text.slice(2), 'hex').toString('base64')]
  const bytes = fromBase58(text)
  return bytes === null ? [text] : [text, bytes.toString('hex'), bytes.toString('base64')]
}

const signatureLength = 64

/**
 * The signatures of a Solana transaction in base64: their characters in the text, and their bytes. A transaction begins with
 * their number, and those that are missing are zero. The rest of it is public.
 */
const formsOfTransaction = (text: string): readonly string[] => {
  const bytes = Buffer.from(text, 'base64')
  return Array.from({ length: Math.min(bytes[0] ?? 0, maxSignatures) }).flatMap((_, index) => {
    const [start, end] = [1 + index * signatureLength, 1 + (index + 1) * signatureLength]
    const signature = bytes.subarray(start, end)
    if (!signature.some(byte => byte > 0)) return []
    // Three bytes are four characters.
    const characters = text.slice(4 * Math.ceil(start / 3), 4 * Math.floor(end / 3))
    return [characters, toBase58(signature), signature.toString('hex')]
  })
}

const maxSignatures = 8
