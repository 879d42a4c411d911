import type { WalletTerms } from '../contract/wallets.ts'
import { isPresent, type JsonObject, parseJson, toObject } from '../lib/json.ts'
import type { Observation } from './observation.ts'
import { type RequestDescriptor, requestTraits } from './requests/request.ts'

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

type StatedRequirements = {
  /** With names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  /** A JSON value; undefined: there is none. */
  readonly body: unknown
}

/**
 * Reads the payment requirements of a response. Version 1 of x402 has them in the body. Version 2 has them in the header,
 * and the body may be an empty object.
 */
export function requirementsIn({ headers, body }: StatedRequirements, { topUp }: WalletTerms): PaymentRequirements {
  const encoded = headers[topUp.requiredHeader.toLowerCase()]
  const decoded = encoded === undefined ? null : parseJson(Buffer.from(encoded, 'base64'))
  const header = Array.isArray(decoded) ? { accepts: decoded } : toObject(decoded)
  const ofBody = toObject(body)
  const present = Object.entries(ofBody ?? {}).filter(([, value]) => isPresent(value))
  return { header, body: ofBody, all: { ...header, ...Object.fromEntries(present) } }
}

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
