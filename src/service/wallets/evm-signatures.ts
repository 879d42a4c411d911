import { optionalPackages } from '../../lib/optional-packages.ts'
import type { SignInText } from './sign-in-text.ts'

/** What the service needs to check the sign-in of an EVM wallet. */
export type EvmSignatures = {
  /** An EIP-4361 message; null if it is none. */
  readonly parse: (message: string) => SignInText | null
  /** Whether `address` (in lower case) signed the message (EIP-191). `signature` is hexadecimal. */
  readonly isSignedBy: (message: string, signature: string, address: string) => boolean
}

/** The key is recovered by libsecp256k1 in WebAssembly: it is five times as fast as that of viem. */
export const evmSignatures = optionalPackages(
  'Sign-ins of EVM wallets',
  ['viem', 'tiny-secp256k1'],
  async (): Promise<EvmSignatures> => {
    const [{ bytesToHex, hashMessage }, { parseSiweMessage }, { publicKeyToAddress }, { recover }] = await Promise.all([
      import('viem'),
      import('viem/siwe'),
      import('viem/accounts'),
      import('tiny-secp256k1'),
    ])
    return {
      parse: message => {
        const { domain, address, uri, version, chainId, nonce, issuedAt, expirationTime, notBefore } =
          parseSiweMessage(message)
        if (domain === undefined || address === undefined || uri === undefined || version !== '1') return null
        if (issuedAt === undefined) return null
        return {
          family: 'evm',
          domain,
          address: address.toLowerCase(),
          chain: chainId === undefined ? null : String(chainId),
          nonce: nonce ?? null,
          issuedMs: issuedAt.getTime(),
          expiresMs: expirationTime?.getTime() ?? null,
          notBeforeMs: notBefore?.getTime() ?? null,
        }
      },
      isSignedBy: (message, signature, address) => {
        const [, parts, last] = /^0x([0-9a-f]{128})(1b|1c|00|01)$/i.exec(signature) ?? []
        if (parts === undefined || last === undefined) return false
        const yParity = Number.parseInt(last, 16) % 27 === 0 ? 0 : 1
        try {
          const key = recover(hashMessage(message, 'bytes'), Buffer.from(parts, 'hex'), yParity, false)
          return key !== null && publicKeyToAddress(bytesToHex(key)).toLowerCase() === address
        } catch {
          return false
        }
      },
    }
  },
)
