import { isObject, parseJson } from '../../lib/json.ts'
import type { Headers } from './caller.ts'
import { fromBase58, toBase58 } from './wallet-solana.ts'

/**
 * What must not be written of the headers that a wallet has signed: signatures, and the transactions that have one, as the
 * headers have them and in the other usual encodings of their bytes. Nonces and addresses are public.
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

/** A Solana transaction begins with the number of its signatures. Those that are missing are zero. */
function formsOfTransaction(text: string): readonly string[] {
  const bytes = Buffer.from(text, 'base64')
  const signatures = Array.from({ length: bytes[0] ?? 0 }, (_, index) =>
    bytes.subarray(1 + index * signatureLength, 1 + (index + 1) * signatureLength),
  )
  return [
    text,
    ...signatures.filter(each => each.some(byte => byte > 0)).flatMap(each => [toBase58(each), each.toString('hex')]),
  ]
}
