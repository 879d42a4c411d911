import { keccak_256 } from '@noble/hashes/sha3'

/** Keccak-256 with the padding of Ethereum, which `node:crypto` does not have. Hexadecimal with 0x. */
export const keccak256 = (bytes: Uint8Array): string => `0x${Buffer.from(keccak_256(bytes)).toString('hex')}`
