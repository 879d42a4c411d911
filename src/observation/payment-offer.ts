import type { Sender } from '../contract/probe.ts'
import { probeOf } from '../contract/probes.ts'
import { type JsonObject, toObject } from '../lib/json.ts'
import type { Observation, RequestDescriptor } from './observation.ts'

/** Whether a request asks how to pay. */
export const isOfferRequest = (request: RequestDescriptor): boolean =>
  request.kind === 'top-up' && request.step === 'offer'

/** Whether a request carries nothing that identifies its caller. */
export const isDiscovery = (request: RequestDescriptor): boolean =>
  request.kind === 'probe' && anonymousSenders.includes(probeOf(request.probe).as)
const anonymousSenders: readonly Sender[] = ['anonymous', 'other-scheme']

/** Whether a wallet signed in, and got a 402. */
export const isRefusedForCredit = ({ request, response, chain }: Observation): boolean =>
  chain !== undefined && response?.status === 402 && isSignedByWallet(request)

/** Whether a request of a wallet carries a sign-in that is valid for it. */
export function isSignedByWallet(request: RequestDescriptor): boolean {
  switch (request.kind) {
    case 'models':
    case 'networks':
    case 'top-up':
      return false
    case 'probe':
      return probeOf(request.probe).as === 'caller'
    default:
      return true
  }
}

/** A member of an error, next to the message or in the error itself: its layout is open. */
export const memberOf = (body: JsonObject, name: string): unknown =>
  body[name] ?? toObject(body.error)?.[name] ?? toObject(body.details)?.[name]

/** The challenge to sign in of a 402 to a wallet; null if it has none. */
export function challengeIn(body: JsonObject): JsonObject | null {
  const challenge = toObject(memberOf(body, 'siwxChallenge'))
  return challenge === null ? null : (toObject(challenge.info) ?? challenge)
}
