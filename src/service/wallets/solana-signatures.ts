import { createPublicKey, type KeyObject, verify } from 'node:crypto'
import { fromBase58 } from '../../lib/base58.ts'

/** Checks signatures of Solana wallets (Ed25519). An address is a public key in base58. */
export function solanaSignatures(): (message: string, signature: string, address: string) => boolean {
  const keys = new Map<string, KeyObject>()
  const keyOf = (address: string): KeyObject | null => {
    const known = keys.get(address)
    if (known !== undefined) return known
    const raw = fromBase58(address)
    if (raw?.length !== 32) return null
    const key = createPublicKey({ key: Buffer.concat([keyHeader, raw]), format: 'der', type: 'spki' })
    const [oldest] = keys.keys()
    if (keys.size >= rememberedKeys && oldest !== undefined) keys.delete(oldest)
    keys.set(address, key)
    return key
  }
  return (message, signature, address) => {
    const key = keyOf(address)
    const bytes = signatureBytes(signature)
    return key !== null && bytes !== null && verify(null, Buffer.from(message), key, bytes)
  }
}

const rememberedKeys = 10_000
const signatureLength = 64

/** What precedes the 32 bytes of an Ed25519 key in its DER encoding (RFC 8410). */
const keyHeader = Buffer.from('302a300506032b6570032100', 'hex')

/** A signature in base58 or base64; null if it is neither. */
function signatureBytes(text: string): Buffer | null {
  const bytes = fromBase58(text)
  if (bytes?.length === signatureLength) return bytes
  const decoded = /^[A-Za-z0-9+/]{86}(==)?$/.test(text) ? Buffer.from(text, 'base64') : null
  return decoded?.length === signatureLength ? decoded : null
}
