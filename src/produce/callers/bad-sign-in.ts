import type { BadSignIn, WalletTerms } from '../../contract/wallets.ts'
import { parseObject } from '../../lib/json.ts'
import type { WalletCaller } from './caller.ts'
import { type SignInPlace, signInHeader, type WalletKind } from './sign-in.ts'

/** A domain that nobody has (RFC 2606). */
const otherDomain = 'sign-in.invalid'
/** Networks on which nobody signs in here, unless the contract says so. */
const otherNetworks: Readonly<Record<WalletCaller['family'], readonly [string, string]>> = {
  evm: ['eip155:1', 'eip155:137'],
  solana: ['solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1', 'solana:4uhcVJyU9pJkvQyS88uRDiswHXSCkY3z'],
}

/**
 * The value of the sign-in header with one flaw, and otherwise valid. Its times are so far off that any clock by which
 * valid sign-ins are accepted shows the flaw. `otherKey`: the private key of another wallet.
 */
export function badSignIn(
  flaw: Exclude<BadSignIn, 'repeated-sign-in'>,
  wallet: WalletCaller,
  kind: WalletKind,
  { signIn, rails }: Pick<WalletTerms, 'signIn' | 'rails'>,
  place: SignInPlace,
  otherKey: string,
): string {
  const { validityMs, futureSkewMs } = signIn
  const { issuedMs, nonce } = place
  const valid = () => signInHeader(wallet, kind, signIn, place)
  switch (flaw) {
    case 'expired-sign-in':
      return signInHeader(wallet, kind, signIn, { ...place, issuedMs: issuedMs - 2 * validityMs })
    case 'future-sign-in':
      return signInHeader(wallet, kind, signIn, { ...place, issuedMs: issuedMs + 2 * validityMs + futureSkewMs })
    case 'other-domain-sign-in':
      return signInHeader(wallet, kind, { ...signIn, domains: [otherDomain] }, place)
    case 'other-signer-sign-in':
      return signInHeader({ ...wallet, privateKey: otherKey }, kind, signIn, place)
    case 'other-chain-sign-in': {
      const [first, second] = otherNetworks[wallet.family]
      const isKnown = Object.values(rails).some(rail => rail.network === first)
      return signInHeader({ ...wallet, network: isKnown ? second : first }, kind, signIn, place)
    }
    case 'changed-signature-sign-in':
      return changed(valid(), /(?<="signature":"..........)./, digit => (digit === '2' ? '3' : '2'))
    case 'changed-text-sign-in':
      return changed(valid(), new RegExp(nonce), () => [...nonce].reverse().join(''))
    case 'unreadable-sign-in':
      return Buffer.from('Let me in').toString('base64')
  }
}

/** A payload that was changed after it was signed. */
function changed(header: string, part: RegExp, change: (part: string) => string): string {
  const payload = Buffer.from(header, 'base64').toString('utf8')
  const other = payload.replace(part, change)
  if (other === payload || parseObject(other) === null) throw new RangeError('a payload was not changed')
  return Buffer.from(other).toString('base64')
}
