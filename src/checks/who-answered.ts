import type { Contract } from '../contract/contract.ts'
import { toObject } from '../lib/json.ts'
import type { Answer } from '../observation/observation.ts'
import { jsonObject } from '../observation/scope.ts'

/**
 * Whether an answer seems to come from something in front of the service: a 5xx without the version that every answer
 * of the service carries. The document says nothing of such answers, so nothing is asked of them.
 */
export const isFromInFront = ({ status, headers }: Answer, contract: Contract): boolean =>
  status >= 500 && headers[`${contract.headerPrefix}version`] === undefined

/**
 * A refusal that speaks of failed attempts is the abuse block, not a rate limit: it says nothing about the request.
 */
export function isAbuseBlock(answer: Answer, { abuse }: Contract): boolean {
  return (answer.status === abuse.status || answer.status === 429) && saidBy(answer).includes(abuse.opening)
}

/** The message of an error, wherever in the body it stands: that is open. */
export function saidBy(answer: Answer): string {
  if (answer.body.kind === 'text') return answer.body.head
  const body = jsonObject(answer)
  const error = toObject(body?.error)
  const texts = [body?.error, error?.message, error?.customMessage, body?.message, body?.customMessage]
  return texts.filter(text => typeof text === 'string').join(' ')
}

/** The whole body, as far as it was kept: where in it a message stands is open. */
export const textOf = ({ body }: Answer): string =>
  body.kind === 'json' ? JSON.stringify(body.value) : body.kind === 'text' ? body.head : ''

/** A 429 to an RPC request that came while another of its caller was answered says nothing about a limit either. */
export function isOutOfTurn(answer: Answer, { rpc }: Contract): boolean {
  if (rpc.oneAtATime === null || answer.status !== 429) return false
  const body = jsonObject(answer)
  return (body?.customMessage ?? toObject(body?.error)?.customMessage) === rpc.oneAtATime.message
}

export const isSuccess = (status: number): boolean => status >= 200 && status < 300

const json = /^application\/json\s*(;|$)/i

export const isJsonType = (contentType: string | undefined): boolean => json.test(contentType ?? '')
