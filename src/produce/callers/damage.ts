import { type BadSignIn, type InvalidPayment, type Rail, signInAt, type WalletTerms } from '../../contract/wallets.ts'
import { isObject, type JsonObject, parseObject, toObject } from '../../lib/json.ts'
import type { WalletCaller } from './caller.ts'
import { type SignInPlace, signInHeader, type WalletKind } from './sign-in.ts'

/** A sign-in that is about to be made. `otherKey`: the private key of another wallet. */
type SignInDraft = {
  readonly wallet: WalletCaller
  readonly kind: WalletKind
  readonly terms: Pick<WalletTerms, 'signIn' | 'rails'>
  readonly place: SignInPlace
  readonly otherKey: string
}

export type SignInFlaw = Exclude<BadSignIn, 'repeated-sign-in'>

/**
 * What is wrong with a sign-in on purpose: the value of the sign-in header with one flaw, and otherwise valid. Times are
 * so far off that the flaw shows on any clock that accepts valid sign-ins.
 */
const signInFlaws: Readonly<Record<SignInFlaw, (order: SignInDraft) => string>> = {
  'expired-sign-in': order => issuedLater(order, -2 * order.terms.signIn.validityMs),
  'future-sign-in': order => {
    const { validityMs, futureSkewMs } = order.terms.signIn
    return issuedLater(order, 2 * validityMs + futureSkewMs)
  },
  'other-domain-sign-in': ({ wallet, kind, terms, place }) => {
    // The URI stays, so that the domain alone is wrong.
    const { uri } = signInAt(terms.signIn, place.origin)
    return signInHeader(wallet, kind, { ...terms.signIn, domains: [unusedDomain], uri }, place)
  },
  'other-signer-sign-in': ({ wallet, kind, terms, place, otherKey }) =>
    signInHeader({ ...wallet, privateKey: otherKey }, kind, terms.signIn, place),
  'other-chain-sign-in': ({ wallet, kind, terms, place }) =>
    signInHeader({ ...wallet, network: otherNetwork(wallet, terms) }, kind, terms.signIn, place),
  'changed-signature-sign-in': order =>
    changed(validSignIn(order), /(?<="signature":"..........)./, digit => (digit === '2' ? '3' : '2')),
  'changed-text-sign-in': order =>
    changed(validSignIn(order), new RegExp(order.place.nonce), nonce => [...nonce].reverse().join('')),
  'unreadable-sign-in': () => Buffer.from('Let me in').toString('base64'),
}

/** The value of the sign-in header with one flaw. */
export const badSignIn = (flaw: SignInFlaw, order: SignInDraft): string => signInFlaws[flaw](order)

const validSignIn = ({ wallet, kind, terms, place }: SignInDraft): string =>
  signInHeader(wallet, kind, terms.signIn, place)

const issuedLater = (order: SignInDraft, byMs: number): string =>
  validSignIn({ ...order, place: { ...order.place, issuedMs: order.place.issuedMs + byMs } })

/** A domain that does not exist (RFC 2606). */
const unusedDomain = 'sign-in.invalid'

/** Ethereum and Polygon, and two test networks of Solana. */
const otherNetworks: Readonly<Record<WalletCaller['family'], readonly [string, string]>> = {
  evm: ['eip155:1', 'eip155:137'],
  solana: ['solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1', 'solana:4uhcVJyU9pJkvQyS88uRDiswHXSCkY3z'],
}

/** A network on which wallets do not sign in here: the second one if the contract has the first. */
function otherNetwork({ family }: WalletCaller, { rails }: Pick<WalletTerms, 'rails'>): string {
  const [first, second] = otherNetworks[family]
  return Object.values(rails).some(rail => rail.network === first) ? second : first
}

/** A payload that was changed after it was signed. */
function changed(header: string, part: RegExp, change: (part: string) => string): string {
  const payload = Buffer.from(header, 'base64').toString('utf8')
  const other = payload.replace(part, change)
  if (other === payload || parseObject(other) === null) throw new RangeError('a payload was not changed')
  return Buffer.from(other).toString('base64')
}

/** A signed payment: what was accepted, and what was signed. */
type SignedPayload = JsonObject & { readonly accepted: JsonObject; readonly payload: JsonObject }

/** What is wrong with a payment on purpose, after it was signed. */
const paymentDamage: Readonly<
  Record<InvalidPayment, (payment: SignedPayload, family: Rail['family']) => Partial<SignedPayload>>
> = {
  'other-resource': ({ resource }) => ({ resource: { ...toObject(resource), url: otherResource } }),
  'other-chain': ({ accepted }, family) => ({ accepted: { ...accepted, network: testNetworks[family] } }),
  'above-signed': ({ accepted }) => ({
    accepted: { ...accepted, amount: String(2n * BigInt(String(accepted.amount))) },
  }),
  tampered: ({ payload }) => ({ payload: withOtherSignature(payload) }),
}

/** A signed payment with this damage; null if the payment has an unknown shape. */
export function damaged(payment: unknown, family: Rail['family'], invalid: InvalidPayment): JsonObject | null {
  if (!isObject(payment)) return null
  const { accepted, payload } = payment
  if (!isObject(accepted) || !isObject(payload)) return null
  return { ...payment, ...paymentDamage[invalid]({ ...payment, accepted, payload }, family) }
}

const otherResource = 'https://example.invalid/other-resource'

/** The test networks of the chains. A payment there is free, and must not buy credit. */
const testNetworks: Readonly<Record<Rail['family'], string>> = {
  evm: 'eip155:84532',
  solana: 'solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1',
}

/** USDC of the EVM test network. */
const testAsset = '0x036CbD53842c5426634e7929541eC2318f3dCF7e'

/**
 * The network and the offer that a payment is signed for: as the target offered, or on the EVM test network. On Solana, the
 * signature does not include the network, so only the label differs.
 */
export function signedFor(
  { family, network }: Pick<Rail, 'family' | 'network'>,
  offer: JsonObject,
  invalid: InvalidPayment | null,
): { readonly network: string; readonly offer: JsonObject } {
  if (invalid !== 'other-chain' || family !== 'evm') return { network, offer }
  const accepts = Array.isArray(offer.accepts)
    ? offer.accepts.map(option => ({ ...toObject(option), network: testNetworks.evm, asset: testAsset }))
    : offer.accepts
  return { network: testNetworks.evm, offer: { ...offer, accepts } }
}

/** A Solana transaction begins with the number of its signatures. The wallet's follows the empty one of the agent. */
const solanaSignatureAt = 65
/** After 0x, and far from the end, which has the recovery id. */
const firstDigit = 12

function withOtherSignature(payload: JsonObject): JsonObject {
  const { signature, transaction } = payload
  if (typeof transaction === 'string') {
    const bytes = Buffer.from(transaction, 'base64')
    bytes.writeUInt8(bytes.readUInt8(solanaSignatureAt) ^ 1, solanaSignatureAt)
    return { ...payload, transaction: bytes.toString('base64') }
  }
  const written = String(signature)
  const digit = written.charAt(firstDigit) === '1' ? '2' : '1'
  return { ...payload, signature: written.slice(0, firstDigit) + digit + written.slice(firstDigit + 1) }
}
