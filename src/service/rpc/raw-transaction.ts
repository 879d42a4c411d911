import { secp256k1 } from '@noble/curves/secp256k1'
import { keccak256 } from '../wallets/identity.ts'

/** A signed transaction of a client. Amounts in wei. */
export type RawTransaction = {
  readonly hash: string
  readonly type: 0 | 1 | 2
  /** null: of any chain. */
  readonly chainId: number | null
  readonly from: string
  readonly to: string | null
  readonly nonce: number
  readonly gasLimit: number
  readonly value: bigint
  readonly input: string
  readonly maxFee: bigint
  readonly maxTip: bigint
  readonly signature: { readonly r: string; readonly s: string; readonly yParity: number }
}

/** One item of a list: its content, and the bytes that encode it. */
type Item = { readonly content: Buffer; readonly bytes: Buffer }

const maxBytes = 131_072

/** Decodes a transaction of type 0, 1 or 2 and recovers its sender; null if the bytes are not such a transaction. */
export function decodeTransaction(raw: Buffer): RawTransaction | null {
  if (raw.length === 0 || raw.length > maxBytes) return null
  const first = raw[0] ?? 0
  const type = first >= 0xc0 ? 0 : first === 1 || first === 2 ? first : null
  const items = type === null ? null : itemsOf(type === 0 ? raw : raw.subarray(1))
  if (type === null || items === null || items.length !== [9, 11, 12][type]) return null
  const content = (index: number) => items[index]?.content ?? Buffer.alloc(0)
  const number = (index: number) => BigInt(`0x${content(index).toString('hex') || '0'}`)
  // The fields after the chain id and the nonce; type 2 has one more fee.
  const fees = type === 0 ? 1 : 2
  const gasAt = fees + (type === 2 ? 2 : 1)
  const [to, v] = [content(gasAt + 1), number(items.length - 3)]
  const chainId = type > 0 ? number(0) : v >= 35n ? (v - 35n) / 2n : null
  const yParity = Number(type > 0 ? v : v >= 35n ? (v - 35n) % 2n : v - 27n)
  const [r, s] = [number(items.length - 2), number(items.length - 1)]
  const signed = items.slice(0, -3).map(({ bytes }) => bytes)
  const forChain = type === 0 && chainId !== null ? [encoded(chainId), encoded(0n), encoded(0n)] : []
  const body = list([...signed, ...forChain])
  const digest = keccak256(type === 0 ? body : Buffer.concat([Buffer.from([type]), body]))
  const from = yParity === 0 || yParity === 1 ? signerOf(digest, { r, s, yParity }) : null
  if (from === null || (to.length !== 0 && to.length !== 20)) return null
  return {
    hash: keccak256(raw),
    type,
    chainId: chainId === null ? null : Number(chainId),
    from,
    to: to.length === 0 ? null : `0x${to.toString('hex')}`,
    nonce: Number(number(type === 0 ? 0 : 1)),
    gasLimit: Number(number(gasAt)),
    value: number(gasAt + 2),
    input: `0x${content(gasAt + 3).toString('hex')}`,
    maxFee: number(gasAt - 1),
    maxTip: number(fees),
    signature: { r: `0x${r.toString(16)}`, s: `0x${s.toString(16)}`, yParity },
  }
}

/** The address whose key made an ECDSA signature of the digest; null if the signature is invalid. */
function signerOf(digest: string, { r, s, yParity }: { r: bigint; s: bigint; yParity: 0 | 1 }): string | null {
  try {
    const signature = new secp256k1.Signature(r, s).addRecoveryBit(yParity)
    const publicKey = signature.recoverPublicKey(digest.slice(2)).toRawBytes(false)
    return `0x${keccak256(publicKey.subarray(1)).slice(26)}`
  } catch (cause) {
    if (!(cause instanceof Error)) throw cause
    return null
  }
}

/** The address of the contract that a transaction creates. */
export const createdAddress = (from: string, nonce: number): string =>
  `0x${keccak256(list([Buffer.concat([Buffer.from([0x94]), Buffer.from(from.slice(2), 'hex')]), encoded(BigInt(nonce))])).slice(26)}`

/** The items of an RLP list; null if these bytes are not one list and nothing else. */
function itemsOf(bytes: Buffer): readonly Item[] | null {
  const outer = itemAt(bytes, 0)
  if (outer === null || outer.bytes.length !== bytes.length || (bytes[0] ?? 0) < 0xc0) return null
  const items: Item[] = []
  for (let at = 0; at < outer.content.length; ) {
    const item = itemAt(outer.content, at)
    if (item === null) return null
    items.push(item)
    at += item.bytes.length
  }
  return items
}

/** The item at an offset; null if it does not end within the bytes. */
function itemAt(bytes: Buffer, at: number): Item | null {
  const first = bytes[at] ?? 0
  if (first < 0x80) return { content: bytes.subarray(at, at + 1), bytes: bytes.subarray(at, at + 1) }
  const short = first - (first < 0xc0 ? 0x80 : 0xc0)
  const sizeBytes = short > 55 ? short - 55 : 0
  if (sizeBytes > 4 || at + 1 + sizeBytes > bytes.length) return null
  const size = sizeBytes === 0 ? short : bytes.readUIntBE(at + 1, sizeBytes)
  const start = at + 1 + sizeBytes
  const end = start + size
  return end > bytes.length ? null : { content: bytes.subarray(start, end), bytes: bytes.subarray(at, end) }
}

function encoded(value: bigint): Buffer {
  const hex = value === 0n ? '' : value.toString(16)
  const bytes = Buffer.from(hex.length % 2 === 0 ? hex : `0${hex}`, 'hex')
  return bytes.length === 1 && (bytes[0] ?? 0) < 0x80
    ? bytes
    : Buffer.concat([Buffer.from([0x80 + bytes.length]), bytes])
}

function list(items: readonly Buffer[]): Buffer {
  const content = Buffer.concat(items)
  if (content.length <= 55) return Buffer.concat([Buffer.from([0xc0 + content.length]), content])
  const hex = content.length.toString(16)
  const size = Buffer.from(hex.length % 2 === 0 ? hex : `0${hex}`, 'hex')
  return Buffer.concat([Buffer.from([0xf7 + size.length]), size, content])
}
