import { createPublicKey, type KeyObject, verify } from 'node:crypto'

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

const digits = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz'
const longestText = 128

/** Null if the text is not base58. */
export function fromBase58(text: string): Buffer | null {
  if (text.length > longestText) return null
  let value = 0n
  for (const letter of text) {
    const digit = digits.indexOf(letter)
    if (digit < 0) return null
    value = value * 58n + BigInt(digit)
  }
  const hex = value === 0n ? '' : value.toString(16)
  const zeros = /^1*/.exec(text)?.[0].length ?? 0
  return Buffer.from('00'.repeat(zeros) + (hex.length % 2 === 0 ? hex : `0${hex}`), 'hex')
}

export function toBase58(bytes: Uint8Array): string {
  let value = BigInt(`0x${Buffer.from(bytes).toString('hex') || '0'}`)
  let text = ''
  for (; value > 0n; value /= 58n) text = digits.charAt(Number(value % 58n)) + text
  const zeros = bytes.findIndex(byte => byte !== 0)
  return '1'.repeat(zeros < 0 ? bytes.length : zeros) + text
}
