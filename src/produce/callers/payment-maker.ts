import type { InvalidPayment, Rail } from '../../contract/wallets.ts'
import { isObject, type JsonObject, parseJson, toObject } from '../../lib/json.ts'
import { optionalPackages } from '../../lib/optional-packages.ts'
import type { WalletCaller } from './caller.ts'
import { damaged, signedFor } from './damage.ts'

/** A payment to sign. `wallet`: the name of the payer. */
export type PaymentOrder = {
  readonly wallet: string
  /** What the target asked for, with the one way to pay that was chosen. */
  readonly offer: Readonly<Record<string, unknown>>
  /** The same way to pay as the target offered it, with the amount to pay. Servers compare it with their offer. */
  readonly accepted: Readonly<Record<string, unknown>>
  /** The maximum amount to sign for, in USD. */
  readonly usd: string
  /** Its deliberate fault; null: it is valid. */
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
    const signed = signedFor(wallet, offer, invalid)
    const http = new x402HTTPClient(client.register(caip2(signed.network), scheme))
    // The packages check the shape of what they get.
    const made = await http.createPaymentPayload(signed.offer as unknown as Offer)
    const payment = { ...made, accepted }
    return invalid === null ? payment : damaged(payment, wallet.family, invalid)
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
    return payload === null ? null : encoded(payload)
  }
}

const encoded = (payment: unknown): string => Buffer.from(JSON.stringify(payment)).toString('base64')

/** The same payment in other text: all its members are in reverse order. `header`: as `paymentMaker` makes it. */
export const reordered = (header: string): string =>
  encoded(withReversedMembers(parseJson(Buffer.from(header, 'base64'))))

function withReversedMembers(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withReversedMembers)
  if (!isObject(value)) return value
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([name, member]) => [name, withReversedMembers(member)]),
  )
}

/** The way to pay of an offer on this rail, with the amount to pay; null: no way fits the contract. */
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
