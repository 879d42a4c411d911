import { optionalPackages } from './optional-packages.ts'
import type { SignInText } from './sign-in-text.ts'

/** What the service needs to check the sign-in of an EVM wallet. */
export type EvmSignatures = {
  /** An EIP-4361 message; null if it is none. */
  readonly parse: (message: string) => SignInText | null
  /** Whether `address` signed the message (EIP-191). `signature` is hexadecimal. */
  readonly isSignedBy: (message: string, signature: string, address: string) => boolean
}

/**
 * Recovering a public key takes over a millisecond. With multiples of a known key prepared, a check takes a quarter of
 * that; to prepare them takes as long as a few checks, so the first sign-in of a wallet does not.
 */
const windowBits = 4
const rememberedKeys = 2_000

export const evmSignatures = optionalPackages(['viem', '@noble/curves'], async (): Promise<EvmSignatures> => {
  const [{ hashMessage }, { parseSiweMessage }, { publicKeyToAddress }, { secp256k1 }, { invert }] = await Promise.all([
    import('viem'),
    import('viem/siwe'),
    import('viem/accounts'),
    import('@noble/curves/secp256k1'),
    import('@noble/curves/abstract/modular'),
  ])
  const { ProjectivePoint, CURVE, Signature, utils } = secp256k1
  type Point = InstanceType<typeof ProjectivePoint>
  const keys = new Map<string, { readonly point: Point; isPrepared: boolean }>()

  function isSignedBy(message: string, signature: string, address: string): boolean {
    const parts = /^0x([0-9a-f]{128})(1b|1c|00|01)$/i.exec(signature)
    if (parts === null) return false
    const [, rs = '', last = ''] = parts
    const yParity = Number.parseInt(last, 16) % 27
    try {
      const hash = hashMessage(message).slice(2)
      const { r, s } = Signature.fromCompact(rs)
      const known = keys.get(address)
      if (known === undefined) return isRecovered(hash, rs, yParity, address)
      if (!known.isPrepared) {
        known.isPrepared = true
        utils.precompute(windowBits, known.point)
      }
      // The definition of ECDSA: u1·G + u2·Q has r as its x-coordinate.
      const inverse = invert(s, CURVE.n)
      const u1 = (BigInt(`0x${hash}`) * inverse) % CURVE.n
      const u2 = (r * inverse) % CURVE.n
      const { x, y } = ProjectivePoint.BASE.multiplyUnsafe(u1).add(known.point.multiplyUnsafe(u2)).toAffine()
      return x % CURVE.n === r && Number(y & 1n) === yParity
    } catch {
      return false
    }
  }

  function isRecovered(hash: string, rs: string, yParity: number, address: string): boolean {
    const point = Signature.fromCompact(rs).addRecoveryBit(yParity).recoverPublicKey(hash)
    if (publicKeyToAddress(`0x${point.toHex(false)}`).toLowerCase() !== address) return false
    const [oldest] = keys.keys()
    if (keys.size >= rememberedKeys && oldest !== undefined) keys.delete(oldest)
    keys.set(address, { point: ProjectivePoint.fromAffine(point.toAffine()), isPrepared: false })
    return true
  }

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
    isSignedBy,
  }
})
