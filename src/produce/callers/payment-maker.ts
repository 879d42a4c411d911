import type { InvalidPayment, Rail } from '../../contract/wallets.ts'
import { isObject, type JsonObject, toObject } from '../../lib/json.ts'
import { optionalPackages } from '../../lib/optional-packages.ts'
import type { WalletCaller } from './caller.ts'

/** A payment to sign. `wallet`: the name of the payer. */
export type PaymentOrder = {
  readonly wallet: string
  /** What the target asked for, with the one way to pay that was chosen. */
  readonly offer: Readonly<Record<string, unknown>>
  /** The same way to pay as the target offered it, with the amount to pay. Servers compare it with their offer. */
  readonly accepted: Readonly<Record<string, unknown>>
  /** What may be signed for at most, in USD. */
  readonly usd: string
  /** What is wrong with it on purpose; null: nothing. */
  readonly invalid: InvalidPayment | null
}

type Pay = (wallet: WalletCaller, order: PaymentOrder, solanaNode: string | null) => Promise<unknown>

const names = ['@x402/core', '@x402/evm', '@x402/svm', '@solana/kit', 'viem']

/** Signs payments as the x402 packages do: EIP-3009 on EVM chains, and a transaction with one signature on Solana. */
export const paymentPackages = optionalPackages('Payments of wallets', names, async (): Promise<Pay> => {
  const [{ x402Client, x402HTTPClient }, evm, svm, { privateKeyToAccount }, kit] = await Promise.all([
    import('@x402/core/client'),
    import('@x402/evm/exact/client'),
    import('@x402/svm/exact/client'),
    import('viem/accounts'),
    import('@solana/kit'),
  ])
  type Offer = Parameters<InstanceType<typeof x402HTTPClient>['createPaymentPayload']>[0]

  const schemeOf = async ({ family, privateKey }: WalletCaller, rpcUrl: string | null) => {
    if (family === 'evm') return new evm.ExactEvmScheme(privateKeyToAccount(`0x${privateKey}`))
    if (rpcUrl === null) return null
    const signer = await kit.createKeyPairSignerFromPrivateKeyBytes(Buffer.from(privateKey, 'hex'))
    return new svm.ExactSvmScheme(signer, { rpcUrl })
  }

  return async (wallet, { offer, accepted, usd, invalid }, solanaNode) => {
    const scheme = await schemeOf(wallet, solanaNode)
    if (scheme === null) return null
    const client = new x402Client().setSpendControls({ maxAmountPerPayment: `$${usd}` })
    const http = new x402HTTPClient(client.register(caip2(signedNetwork(wallet, invalid)), scheme))
    // The packages check the shape of what they get.
    const made = await http.createPaymentPayload(offerFor(wallet, offer, invalid) as unknown as Offer)
    const payment = { ...made, accepted }
    return invalid === null ? payment : damage(payment, wallet.family, invalid)
  }
})

/** Signs payments; null: packages, a Solana node, or what the target asked for do not allow it. */
export function paymentMaker({
  solanaNode,
}: {
  readonly solanaNode: string | null
}): (wallet: WalletCaller, order: PaymentOrder) => Promise<string | null> {
  return async (wallet, order) => {
    const pay = await paymentPackages.load()
    if (pay === null) return null
    // What a target asks for may make a package throw.
    const payload = await pay(wallet, order, solanaNode).catch(() => null)
    return payload === null ? null : Buffer.from(JSON.stringify(payload)).toString('base64')
  }
}

/** The way to pay of an offer on this rail, with the amount to pay; null: there is none that fits the contract. */
export function choosePayment(
  offer: unknown,
  { network, asset, family }: Rail,
  amount: string,
  maxTimeoutSeconds: number,
): (Pick<PaymentOrder, 'offer' | 'accepted'> & { readonly payTo: string }) | null {
  if (!isObject(offer) || !Array.isArray(offer.accepts)) return null
  const sameCase = (text: string) => (family === 'evm' ? text.toLowerCase() : text)
  for (const option of offer.accepts as readonly unknown[]) {
    if (!isObject(option) || option.scheme !== 'exact' || option.network !== network || !isPlain(option)) continue
    const { asset: token, payTo } = option
    if (typeof token !== 'string' || sameCase(token) !== sameCase(asset) || typeof payTo !== 'string') continue
    const stated = typeof option.maxTimeoutSeconds === 'number' ? option.maxTimeoutSeconds : maxTimeoutSeconds
    const accepted = { ...option, amount }
    const signed = { ...accepted, maxTimeoutSeconds: Math.min(stated, maxTimeoutSeconds) }
    return { offer: { ...offer, accepts: [signed] }, accepted, payTo }
  }
  return null
}

/**
 * Whether a payment is one transfer of its amount (EIP-3009 on EVM chains). For other methods, the packages may also sign
 * an allowance without a limit.
 */
const isPlain = ({ extra }: JsonObject): boolean => (toObject(extra)?.assetTransferMethod ?? 'eip3009') === 'eip3009'

function caip2(network: string): `${string}:${string}` {
  const [namespace = '', reference = ''] = network.split(':')
  return `${namespace}:${reference}`
}

/** The test networks of the chains. A payment there costs nothing, and must buy nothing. */
const testNetworks: Readonly<Record<Rail['family'], string>> = {
  evm: 'eip155:84532',
  solana: 'solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1',
}

/** USDC of the EVM test network. */
const testAsset = '0x036CbD53842c5426634e7929541eC2318f3dCF7e'

/** The network of a rail that a payment is signed for. Solana signs none, so there only the label differs. */
const signedNetwork = (
  { family, network }: Pick<Rail, 'family' | 'network'>,
  invalid: InvalidPayment | null,
): string => (invalid === 'other-chain' && family === 'evm' ? testNetworks.evm : network)

/** The offer to sign for: that of the target, or the same on the test network. */
function offerFor(rail: Pick<Rail, 'family' | 'network'>, offer: JsonObject, invalid: InvalidPayment | null) {
  const network = signedNetwork(rail, invalid)
  if (network === rail.network || !Array.isArray(offer.accepts)) return offer
  const accepts = offer.accepts.map((option: unknown) => ({ ...toObject(option), network, asset: testAsset }))
  return { ...offer, accepts }
}

/** A signed payment, damaged; null: it has an unknown shape. */
function damage(payload: unknown, family: Rail['family'], invalid: InvalidPayment): JsonObject | null {
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
