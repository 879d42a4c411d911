import type { Contract } from '../contract/contract.ts'
import { toObject } from '../lib/json.ts'
import type { Answer, Observation } from './observation.ts'

/**
 * Whether an answer seems to come from something in front of the service: a 5xx without the version that every answer
 * of the service carries. The document says nothing of such answers, so nothing is asked of them.
 */
export const isFromGateway = ({ status, headers }: Answer, contract: Contract): boolean =>
  status >= 500 && headers[`${contract.headerPrefix}version`] === undefined

/**
 * A refusal that speaks of failed attempts is the abuse block, not a rate limit: it says nothing about the request.
 */
export function isAbuseBlock(answer: Answer, { abuse }: Contract): boolean {
  return (answer.status === abuse.status || answer.status === 429) && errorMessageOf(answer).includes(abuse.opening)
}

/** The message of an error. Where in the body it stands is open. */
export function errorMessageOf(answer: Answer): string {
  if (answer.body.kind === 'text') return answer.body.head
  const body = jsonObject(answer)
  const error = toObject(body?.error)
  const texts = [body?.error, error?.message, error?.customMessage, body?.message, body?.customMessage]
  return texts.filter(text => typeof text === 'string').join(' ')
}

/** The whole body, as far as it was kept: where in it a message stands is open. */
export const bodyText = ({ body }: Answer): string =>
  body.kind === 'json' ? JSON.stringify(body.value) : body.kind === 'text' ? body.head : ''

/** A 429 to an RPC request that came while another of its caller was answered says nothing about a limit either. */
export function isConcurrencyRejection(answer: Answer, { rpc }: Contract): boolean {
  if (rpc.oneAtATime === null || answer.status !== 429) return false
  const body = jsonObject(answer)
  return (body?.customMessage ?? toObject(body?.error)?.customMessage) === rpc.oneAtATime.message
}

export const is2xx = (status: number): boolean => status >= 200 && status < 300

const jsonType = /^application\/json\s*(;|$)/i

export const isJsonType = (contentType: string | undefined): boolean => jsonType.test(contentType ?? '')

/**
 * The answer, if it is one that the service gave to a caller that it knew: what the document says of "authenticated"
 * answers holds for it. A 5xx may come from something in front of the service, so it is not held to that.
 */
export function authenticatedAnswer({ asked, answer }: Observation): Answer | null {
  if (answer === null || answer.status === 401 || answer.status >= 500) return null
  return asked.kind === 'models' || asked.kind === 'networks' || asked.kind === 'probe' ? null : answer
}

/** The body as a JSON object; null when it is none. */
export function jsonObject(answer: Answer | null): Readonly<Record<string, unknown>> | null {
  if (answer?.body.kind !== 'json') return null
  return toObject(answer.body.value)
}

/** Whether an RPC answer says of itself that it is a replay. */
export const isReplayed = (answer: Answer | null): boolean => answer?.headers['idempotent-replayed'] === 'true'
