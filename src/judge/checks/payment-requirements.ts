import type { Rail, WalletTerms } from '../../contract/wallets.ts'
import { isObject, isPresent, type JsonObject, toObject } from '../../lib/json.ts'

/** The rail of a network: by its CAIP-2 id, or by the short name that some services use. */
export function railOf(network: unknown, { rails }: WalletTerms): readonly [name: string, rail: Rail] | null {
  if (typeof network !== 'string') return null
  const named = Object.entries(rails).find(([name, rail]) => rail.network === network || name === network.toLowerCase())
  return named ?? null
}

/** The amount of a payment, in the smallest unit of its token. Version 1 of x402 has another name for it. */
export const amountOf = ({ amount, maxAmountRequired }: JsonObject): unknown => amount ?? maxAmountRequired

/**
 * The members in which two statements of the same requirements differ. They may be in different versions of x402. Ignores
 * what only one of them states. The body may have been cut where it was recorded.
 */
export function differencesOf(header: JsonObject, body: JsonObject, terms: WalletTerms): readonly string[] {
  const [inHeader, inBody] = [header.accepts, body.accepts].map(paymentsOf)
  const isSameLayout = inHeader?.some(isVersion1) === inBody?.some(isVersion1)
  return [
    ...(isSameLayout && differ(header.x402Version, body.x402Version) ? ['x402Version'] : []),
    ...(isOtherResource(resourceOf(header), resourceOf(body)) ? ['resource'] : []),
    ...(inHeader && inBody && !areSamePayments(inHeader, inBody, terms) ? ['accepts'] : []),
  ]
}

const paymentsOf = (accepts: unknown): readonly JsonObject[] | null =>
  Array.isArray(accepts) ? accepts.map(each => toObject(each) ?? {}) : null

const isVersion1 = ({ amount, maxAmountRequired }: JsonObject): boolean =>
  amount === undefined && maxAmountRequired !== undefined

const differ = (a: unknown, b: unknown): boolean => isPresent(a) && isPresent(b) && !isSame(a, b)

/** Whether requirements name what is paid for. In version 1 of x402, each payment does. */
export const namesResource = ({ resource, accepts }: JsonObject): boolean =>
  resource !== undefined || paymentsOf(accepts)?.every(payment => payment.resource !== undefined) === true

/** What is paid for: an address, or an object with one. In version 1, each payment has it. */
function resourceOf({ resource, accepts }: JsonObject): unknown {
  const said = resource ?? paymentsOf(accepts)?.[0]?.resource
  return isObject(said) ? said.url : said
}

/** One of two addresses may be without its host. */
function isOtherResource(a: unknown, b: unknown): boolean {
  if (typeof a !== 'string' || typeof b !== 'string') return differ(a, b)
  return !isSame(a, b) && !a.endsWith(b) && !b.endsWith(a)
}

function areSamePayments(a: readonly JsonObject[], b: readonly JsonObject[], terms: WalletTerms): boolean {
  if (a.length !== b.length) return false
  const left = b.map(each => comparable(each, terms))
  for (const payment of a.map(each => comparable(each, terms))) {
    const at = left.findIndex(other => Object.keys(payment).every(name => !differ(payment[name], other[name])))
    if (at < 0) return false
    left.splice(at, 1)
  }
  return true
}

/** A payment without what its version decides: the form of its network, the name of its amount, the case of addresses. */
function comparable(payment: JsonObject, terms: WalletTerms): JsonObject {
  const { scheme, network, asset, payTo, maxTimeoutSeconds, extra } = payment
  const rail = railOf(network, terms)
  const address = (value: unknown) =>
    typeof value === 'string' && rail?.[1].family !== 'solana' ? value.toLowerCase() : value
  return {
    ...{ scheme, maxTimeoutSeconds, extra },
    ...{ network: rail?.[0] ?? network, asset: address(asset), payTo: address(payTo) },
    amount: amountOf(payment),
  }
}

/** The length at which strings of a long body are cut. */
const cutStringLength = 256

/** Whether two JSON values are equal, as far as the second one was recorded. */
function isSame(whole: unknown, recorded: unknown): boolean {
  if (typeof whole === 'string' && typeof recorded === 'string')
    return whole === recorded || (recorded.length === cutStringLength && whole.startsWith(recorded))
  if (Array.isArray(whole) && Array.isArray(recorded))
    return whole.length === recorded.length && whole.every((each, index) => isSame(each, recorded[index]))
  if (!isObject(whole) || !isObject(recorded)) return whole === recorded
  const names = Object.keys(whole)
  return names.length === Object.keys(recorded).length && names.every(name => isSame(whole[name], recorded[name]))
}
