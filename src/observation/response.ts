import type { Contract } from '../contract/contract.ts'
import { toObject } from '../lib/json.ts'
import type { Observation, ObservedResponse } from './observation.ts'

/**
 * Whether a response seems to come from a gateway: a 5xx without the service version header. Such responses are not
 * documented, so no check applies to them.
 */
export const isFromGateway = ({ status, headers }: ObservedResponse, contract: Contract): boolean =>
  status >= 500 && headers[`${contract.headerPrefix}version`] === undefined

/**
 * Whether a response is from the abuse block: its message mentions failed attempts. Such a response tells nothing about the request.
 */
export function isAbuseBlock(response: ObservedResponse, { abuse }: Contract): boolean {
  return (
    (response.status === abuse.status || response.status === 429) && errorMessageOf(response).includes(abuse.opening)
  )
}

/** The message of an error. The document does not define its position in the body. */
export function errorMessageOf(response: ObservedResponse): string {
  if (response.body.kind === 'text') return response.body.head
  const body = jsonObject(response)
  const error = toObject(body?.error)
  const texts = [body?.error, error?.message, error?.customMessage, body?.message, body?.customMessage]
  return texts.filter(text => typeof text === 'string').join(' ')
}

/** The recorded part of the body as text. Empty for a stream. */
export const bodyText = ({ body }: ObservedResponse): string =>
  body.kind === 'json' ? JSON.stringify(body.value) : body.kind === 'text' ? body.head : ''

/**
 * Whether a 429 rejects an RPC request because another request of its caller is in flight. Such a 429 is not about a
 * limit.
 */
export function isConcurrencyRejection(response: ObservedResponse, { rpc }: Contract): boolean {
  if (rpc.oneAtATime === null || response.status !== 429) return false
  const body = jsonObject(response)
  return (body?.customMessage ?? toObject(body?.error)?.customMessage) === rpc.oneAtATime.message
}

export const is2xx = (status: number): boolean => status >= 200 && status < 300

const json = /^application\/json\s*(;|$)/i

export const isJsonType = (contentType: string | undefined): boolean => json.test(contentType ?? '')

/**
 * The response if the service authenticated its caller, otherwise null. Documented rules for authenticated responses
 * apply to it. A 5xx is left out, because it may come from a gateway.
 */
export function authenticatedResponse({ request, response }: Observation): ObservedResponse | null {
  if (response === null || response.status === 401 || response.status >= 500) return null
  return request.kind === 'models' || request.kind === 'networks' || request.kind === 'probe' ? null : response
}

/** The body as a JSON object; null if it is none. */
export function jsonObject(response: ObservedResponse | null): Readonly<Record<string, unknown>> | null {
  if (response?.body.kind !== 'json') return null
  return toObject(response.body.value)
}

/** Whether the headers of an RPC response mark it as a replay. */
export const isReplayed = (response: ObservedResponse | null): boolean =>
  response?.headers['idempotent-replayed'] === 'true'
