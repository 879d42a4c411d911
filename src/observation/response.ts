import type { Contract } from '../contract/contract.ts'
import { toObject } from '../lib/json.ts'
import type { Answer, Observation } from './observation.ts'

/**
 * Whether a response seems to come from a gateway: a 5xx without the version header that every response of the service
 * has. Such responses are not documented, so no check applies to them.
 */
export const isFromGateway = ({ status, headers }: Answer, contract: Contract): boolean =>
  status >= 500 && headers[`${contract.headerPrefix}version`] === undefined

/**
 * Whether a response is the abuse block: its message names failed attempts. It says nothing about the request itself.
 */
export function isAbuseBlock(answer: Answer, { abuse }: Contract): boolean {
  return (answer.status === abuse.status || answer.status === 429) && errorMessageOf(answer).includes(abuse.opening)
}

/** The message of an error. Where in the body it stands is not documented. */
export function errorMessageOf(answer: Answer): string {
  if (answer.body.kind === 'text') return answer.body.head
  const body = jsonObject(answer)
  const error = toObject(body?.error)
  const texts = [body?.error, error?.message, error?.customMessage, body?.message, body?.customMessage]
  return texts.filter(text => typeof text === 'string').join(' ')
}

/** The whole body as text, as far as it was kept. Empty for a stream. */
export const bodyText = ({ body }: Answer): string =>
  body.kind === 'json' ? JSON.stringify(body.value) : body.kind === 'text' ? body.head : ''

/** Whether a 429 rejects an RPC request because another one of its caller is in flight. It says nothing about a limit. */
export function isConcurrencyRejection(answer: Answer, { rpc }: Contract): boolean {
  if (rpc.oneAtATime === null || answer.status !== 429) return false
  const body = jsonObject(answer)
  return (body?.customMessage ?? toObject(body?.error)?.customMessage) === rpc.oneAtATime.message
}

export const is2xx = (status: number): boolean => status >= 200 && status < 300

const json = /^application\/json\s*(;|$)/i

export const isJsonType = (contentType: string | undefined): boolean => json.test(contentType ?? '')

/**
 * The response if the service sent it to a caller that it knew, else null. What is documented for authenticated responses
 * applies to it. A 5xx may come from a gateway, so it is left out.
 */
export function authenticatedResponse({ asked, answer }: Observation): Answer | null {
  if (answer === null || answer.status === 401 || answer.status >= 500) return null
  return asked.kind === 'models' || asked.kind === 'networks' || asked.kind === 'probe' ? null : answer
}

/** The body as a JSON object; null if it is none. */
export function jsonObject(answer: Answer | null): Readonly<Record<string, unknown>> | null {
  if (answer?.body.kind !== 'json') return null
  return toObject(answer.body.value)
}

/** Whether the headers of an RPC response mark it as a replay. */
export const isReplayed = (answer: Answer | null): boolean => answer?.headers['idempotent-replayed'] === 'true'
