import { optionalPackages } from '../../lib/optional-packages.ts'
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
