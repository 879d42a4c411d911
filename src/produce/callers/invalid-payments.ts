import type { InvalidPayment, Rail } from '../../contract/wallets.ts'
import { isObject, type JsonObject, toObject } from '../../lib/json.ts'

/** The test networks of the chains. A payment there costs nothing, and must buy nothing. */
const testNetworks: Readonly<Record<Rail['family'], string>> = {
  evm: 'eip155:84532',
  solana: 'solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1',
}

/** USDC of the EVM test network. */
const testAsset = '0x036CbD53842c5426634e7929541eC2318f3dCF7e'

/** The network of a rail that a payment is signed for. Solana signs none, so there only the label differs. */
export const signedNetwork = (
  { family, network }: Pick<Rail, 'family' | 'network'>,
  invalid: InvalidPayment | null,
): string => (invalid === 'other-chain' && family === 'evm' ? testNetworks.evm : network)

/** The offer to sign for: that of the target, or the same on the test network. */
export function offerFor(rail: Pick<Rail, 'family' | 'network'>, offer: JsonObject, invalid: InvalidPayment | null) {
  const network = signedNetwork(rail, invalid)
  if (network === rail.network || !Array.isArray(offer.accepts)) return offer
  const accepts = offer.accepts.map((option: unknown) => ({ ...toObject(option), network, asset: testAsset }))
  return { ...offer, accepts }
}

/** A signed payment, made wrong. A payment of an unknown shape stays as it is: null. */
export function spoil(payload: unknown, family: Rail['family'], invalid: InvalidPayment): JsonObject | null {
  if (!isObject(payload) || !isObject(payload.accepted) || !isObject(payload.payload)) return null
  const { accepted } = payload
  switch (invalid) {
    case 'other-resource':
      return { ...payload, resource: { ...(isObject(payload.resource) && payload.resource), url: otherResource } }
    case 'other-chain':
      return { ...payload, accepted: { ...accepted, network: testNetworks[family] } }
    case 'above-signed':
      return { ...payload, accepted: { ...accepted, amount: String(2n * BigInt(String(accepted.amount))) } }
    case 'tampered':
      return { ...payload, payload: tampered(payload.payload) }
  }
}

const otherResource = 'https://example.invalid/other-resource'

/** A Solana transaction begins with the number of its signatures; that of the wallet follows the empty one of the agent. */
const solanaSignatureAt = 65

/** The payment with a changed signature. */
function tampered(payload: JsonObject): JsonObject {
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

/** After 0x, and far from the end, which has the recovery id. */
const firstDigit = 12
