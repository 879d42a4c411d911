import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createPublicKey,
  diffieHellman,
  generateKeyPairSync,
  hkdfSync,
  type KeyObject,
  randomBytes,
} from 'node:crypto'
import { UsageError } from '../../lib/usage-error.ts'

/** The key pair of a worker for one shard. `publicKey`: SPKI in DER, as base64. */
export type SealKeys = { readonly publicKey: string; readonly privateKey: KeyObject }

export function createSealKeys(): SealKeys {
  const { publicKey, privateKey } = generateKeyPairSync('x25519')
  return { publicKey: encode(publicKey), privateKey }
}

/**
 * Encrypts bytes so that only the owner of a key pair can read it: X25519 with a key pair of its own, HKDF with
 * SHA-256, and AES-256-GCM. `context` must be the same on both sides: the run and the shard.
 */
export function seal(bytes: Buffer, publicKey: string, context: string): Buffer {
  const own = generateKeyPairSync('x25519')
  const key = keyOf(own.privateKey, decode(publicKey), context)
  const nonce = randomBytes(nonceBytes)
  const cipher = createCipheriv('aes-256-gcm', key, nonce)
  const sealed = Buffer.concat([cipher.update(bytes), cipher.final()])
  const from = own.publicKey.export({ format: 'der', type: 'spki' })
  return Buffer.concat([from, nonce, cipher.getAuthTag(), sealed])
}

/** Throws a UsageError if it was sealed for another key pair or another context, or was changed. */
export function unseal(sealed: Buffer, { privateKey }: SealKeys, context: string): Buffer {
  const [from, nonce, tag, rest] = split(sealed, [publicKeyBytes, nonceBytes, tagBytes])
  try {
    const publicKey = createPublicKey({ key: from, format: 'der', type: 'spki' })
    const decipher = createDecipheriv('aes-256-gcm', keyOf(privateKey, publicKey, context), nonce)
    decipher.setAuthTag(tag)
    return Buffer.concat([decipher.update(rest), decipher.final()])
  } catch {
    throw new UsageError({
      where: 'Redis',
      got: `${sealed.length} bytes that this process cannot decrypt`,
      expected: 'data that Turnpike encrypted for it; another program may have changed them',
    })
  }
}

/** Of an X25519 key as SPKI in DER. */
const publicKeyBytes = 44
const nonceBytes = 12
const tagBytes = 16

function split(bytes: Buffer, [a, b, c]: readonly [number, number, number]): readonly [Buffer, Buffer, Buffer, Buffer] {
  return [bytes.subarray(0, a), bytes.subarray(a, a + b), bytes.subarray(a + b, a + b + c), bytes.subarray(a + b + c)]
}

const keyOf = (privateKey: KeyObject, publicKey: KeyObject, context: string): Buffer =>
  Buffer.from(hkdfSync('sha256', diffieHellman({ privateKey, publicKey }), '', context, 32))

const encode = (key: KeyObject): string => key.export({ format: 'der', type: 'spki' }).toString('base64')

const decode = (text: string): KeyObject =>
  createPublicKey({ key: Buffer.from(text, 'base64'), format: 'der', type: 'spki' })

/** Identifies a plan and all that it is judged by. */
export const hashOf = (bytes: Buffer): string => digestOf([bytes]).toString('hex').slice(0, 16)

/** The SHA-256 of the parts in a row, in 32 bytes. */
export function digestOf(parts: readonly (Buffer | string)[]): Buffer {
  const hash = createHash('sha256')
  for (const part of parts) hash.update(part)
  return hash.digest()
}
