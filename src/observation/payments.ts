import type { Rail, WalletRefusal, WalletTerms } from '../contract/wallets.ts'
import { isObject, isPresent, type JsonObject, parseJson, toObject } from '../lib/json.ts'
import { type Observation, type ObservedResponse, recordedLength } from './observation.ts'
import { type RequestDescriptor, requestTraits } from './requests/request.ts'
import { is2xx, jsonObject } from './response.ts'

/** Whether a request carries nothing that identifies its caller. */
export const isDiscovery = (request: RequestDescriptor): boolean => requestTraits(request).identity(request) === 'none'

/** Whether a wallet signed in, and got a 402. */
export const isRefusedForCredit = ({ request, response, chain }: Observation): boolean =>
  chain !== undefined && response?.status === 402 && requestTraits(request).identity(request) === 'caller'

/** How to pay, as a response states it. */
export type PaymentRequirements = {
  /** From the header; null: it is missing, or cannot be read. */
  readonly header: JsonObject | null
  /** The body; null: it is not an object. */
  readonly body: JsonObject | null
  /** The members of both. Those of the body come first. */
  readonly all: JsonObject
}

/** What a response states about paying. */
type StatedPayment = {
  /** With names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  /** A JSON value; undefined: there is none. */
  readonly body: unknown
}

/**
 * Reads the payment requirements of a response. Version 1 of x402 has them in the body. Version 2 has them in the header,
 * and the body may be an empty object.
 */
export function requirementsIn({ headers, body }: StatedPayment, { topUp }: WalletTerms): PaymentRequirements {
  const encoded = headers[topUp.requiredHeader.toLowerCase()]
  const decoded = encoded === undefined ? null : parseJson(Buffer.from(encoded, 'base64'))
  const header = Array.isArray(decoded) ? { accepts: decoded } : toObject(decoded)
  const ofBody = toObject(body)
  const present = Object.entries(ofBody ?? {}).filter(([, value]) => isPresent(value))
  return { header, body: ofBody, all: { ...header, ...Object.fromEntries(present) } }
}

/** What a response states about the settlement of a payment; null: nothing that can be read. */
export function settlementIn({ headers }: Pick<StatedPayment, 'headers'>, { topUp }: WalletTerms): JsonObject | null {
  const encoded = headers[topUp.resultHeader.toLowerCase()]
  return encoded === undefined ? null : toObject(parseJson(Buffer.from(encoded, 'base64')))
}

/** A header of this length may have been cut where it was recorded. */
export const minCutLength = 512

/** Whether these are the requirements of x402, with a list of payments. */
export const isPaymentOffer = ({ x402Version, accepts }: JsonObject): boolean =>
  x402Version !== undefined && Array.isArray(accepts)

/** A member of an error, next to the message or in the error itself: its layout is open. */
export const memberOf = (body: JsonObject, name: string): unknown =>
  body[name] ?? toObject(body.error)?.[name] ?? toObject(body.details)?.[name]

/** The challenge to sign in of a 402 to a wallet; null if it has none. */
export function challengeIn(body: JsonObject): JsonObject | null {
  const challenge = toObject(memberOf(body, 'siwxChallenge'))
  return challenge === null ? null : (toObject(challenge.info) ?? challenge)
}

/** What is known of a payment after a complete response. `unknown`: it may have been settled, or may still be. */
export type PaymentOutcome = 'settled' | 'refused' | 'unknown'

/** Statuses of a request that the target may still be working on, or may not have read. */
const openStatuses: readonly number[] = [408, 409, 425, 429]

/** Whether a status leaves open what becomes of a payment. */
export const isUndecided = (status: number): boolean =>
  status < 400 ? !is2xx(status) : status >= 500 || openStatuses.includes(status)

/**
 * What a response says of the payment that its request carried. Only a 4xx says that it was refused, and not if a
 * settlement was tried: one that failed for the target may still reach the chain.
 */
export function paymentOutcome(
  { status, headers, body }: StatedPayment & { readonly status: number },
  { topUp }: WalletTerms,
): PaymentOutcome {
  const { replayed, settlementFailed, settlementTimeout } = topUp.refusals
  const codes = codesIn(body)
  const says = (refusal: WalletRefusal) =>
    status === refusal.status && refusal.code !== null && codes.includes(refusal.code)
  if (is2xx(status) || says(replayed)) return 'settled'
  if (isUndecided(status)) return 'unknown'
  const wasTried = headers[topUp.resultHeader.toLowerCase()] !== undefined
  return wasTried || says(settlementFailed) || says(settlementTimeout) ? 'unknown' : 'refused'
}

/** The same of a recorded response. */
export const recordedOutcome = (response: ObservedResponse, terms: WalletTerms): PaymentOutcome =>
  paymentOutcome({ status: response.status, headers: response.headers, body: jsonObject(response) }, terms)

/** The document leaves the layout of errors open. */
function codesIn(body: unknown): readonly unknown[] {
  const { error, code } = toObject(body) ?? {}
  return [error, code, toObject(error)?.code]
}

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

/** Whether two JSON values are equal, as far as the second one was recorded. */
function isSame(whole: unknown, recorded: unknown): boolean {
  if (typeof whole === 'string' && typeof recorded === 'string')
    return whole === recorded || (recorded.length === recordedLength.body && whole.startsWith(recorded))
  if (Array.isArray(whole) && Array.isArray(recorded))
    return whole.length === recorded.length && whole.every((each, index) => isSame(each, recorded[index]))
  if (!isObject(whole) || !isObject(recorded)) return whole === recorded
  const names = Object.keys(whole)
  return names.length === Object.keys(recorded).length && names.every(name => isSame(whole[name], recorded[name]))
}
