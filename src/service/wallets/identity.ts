import { createHash } from 'node:crypto'
import { keccak_256 } from '@noble/hashes/sha3'
import type { Rail } from '../../contract/wallets.ts'
import { toBase58 } from '../../lib/base58.ts'

/** SHA-256, 64 hexadecimal digits. */
export const digestHex = (text: string | Buffer): string => createHash('sha256').update(text).digest('hex')

/** Keccak-256 with the padding of Ethereum, which `node:crypto` does not have: 0x and 64 hexadecimal digits. */
export const keccak256 = (bytes: Uint8Array): string => `0x${Buffer.from(keccak_256(bytes)).toString('hex')}`

/** An address as accounts are named: those of EVM wallets in lower case. */
export const accountAddress = (address: string): string => (address.startsWith('0x') ? address.toLowerCase() : address)

/** An address of the service on a chain, drawn from its seed. It has no private key. */
export function ownAddress(family: Rail['family'], seed: number, name: string): string {
  const digest = digestHex(`${seed}/${name}`)
  return family === 'evm' ? `0x${digest.slice(0, 40)}` : toBase58(Buffer.from(digest, 'hex'))
}
