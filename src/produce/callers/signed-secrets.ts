import { fromBase58, toBase58 } from '../../lib/base58.ts'
import { isObject, parseJson } from '../../lib/json.ts'
import type { Headers } from './caller.ts'

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
