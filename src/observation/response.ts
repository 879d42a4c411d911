import type { Contract } from '../contract/contract.ts'
import { probeOf } from '../contract/probes.ts'
import { hasReplayMark } from '../contract/requests/idempotency.ts'
import { isAssumed } from '../contract/sources.ts'
import { toObject } from '../lib/json.ts'
import { memoizeByObject, memoizeLast } from '../lib/memoize.ts'
import { is2xx } from '../lib/numbers.ts'
import { oneLine } from '../lib/visible.ts'
import type { Observation, ObservedResponse } from './observation.ts'
import { isProbeRequest, requestTraits } from './requests/request.ts'

/**
 * Whether a response seems to come from a gateway: a 5xx without the service version header. Such responses are not
 * documented, so no check applies to them.
 */
export const isFromGateway = ({ status, headers }: ObservedResponse, contract: Contract): boolean =>
  status >= 500 && headers[`${contract.headerPrefix}version`] === undefined

/** Statuses that say that there is nothing at a path, nothing any more, or nothing for this method. */
const missing: readonly number[] = [404, 405, 410, 501]

export const isMissing = (status: number): boolean => missing.includes(status)

/**
 * Whether a response says that there is nothing at the path of a resource which is only assumed of the target. The service
 * may have the resource elsewhere, and a router may have answered before the service read the request.
 */
export function isAtAssumedPath({ request, response }: Observation, contract: Contract): boolean {
  if (response === null || !isMissing(response.status)) return false
  const { route } = requestTraits(request).endpoint(request, contract)
  return Object.entries(contract.resources).some(
    ([name, { path }]) => path === route && isAssumed(contract, `resources.${name}.path`),
  )
}

/** Statuses of a wrong address: redirects, unknown paths, other methods, other hosts. */
const wrongAddress: readonly number[] = [301, 302, 303, 307, 308, 404, 405, 410, 421, 426]

/**
 * Who gave a response: `service` if only the service can have, `elsewhere` if it does not show that, such as
 * the status of a wrong address, a rejected key, an HTML page, or an error of a gateway. null: a probe provoked a refusal
 * that any server gives.
 */
export function originOf({ request, response }: Observation, contract: Contract): 'service' | 'elsewhere' | null {
  if (response === null) return null
  const { status } = response
  const isCommon = status === 401 || status === 403 || wrongAddress.includes(status)
  if (isCommon && isProbeRequest(request) && requestTraits(request).isIntended(request, status, contract)) return null
  return isCommon || isPage(response) || isFromGateway(response, contract) ? 'elsewhere' : 'service'
}

/** The fingerprint of a body, or of what a stream says; null: there is none. */
export function fingerprintOf(response: ObservedResponse | null): string | null {
  if (response === null) return null
  const { body } = response
  if (body.kind === 'stream') return body.stream.digest ?? null
  return body.kind === 'json' || body.kind === 'text' ? body.digest : null
}

const isPage = ({ headers, body }: ObservedResponse): boolean =>
  body.kind === 'text' && /^text\/html|^application\/xhtml/i.test(headers['content-type'] ?? '')

/**
 * Whether a response is from the abuse block: its message tells the caller to wait for the length of a block and to retry,
 * or has the words that the contract names. Such a response is not about the request.
 */
export function isAbuseBlock(response: ObservedResponse, { abuse }: Contract): boolean {
  if (response.status < 400) return false
  const message = errorMessageOf(response)
  if (message === '') return false
  if (message.includes(abuse.opening)) return true
  if (!saysToWait(message, abuse)) return false
  // A limit has a type, and an outage does not blame the caller. Both may name a time to wait.
  if (response.headers['x-ratelimit-type'] !== undefined) return namesFailures.test(message)
  return response.status < 500 || blames.test(message)
}

const blames = /\b(fail|block|suspend|abus|attempt|error budget)/i
/** Words that a rate limit does not use. */
const namesFailures =
  /\b(failures|failing|failed (attempts|requests|calls|too)|requests (have )?failed|unsuccess|non-success|suspend|abus|error budget|too many errors|(more than|over|>) ?\d+ errors)/i

/** Whether a message tells the caller to wait for the length of a block, and to retry. */
export const saysToWait = (message: string, abuse: Contract['abuse']): boolean =>
  waitPatternsOf(abuse).every(pattern => pattern.test(message))

const waitPatternsOf = memoizeByObject(({ blockMs, saysWait, saysRetry }: Contract['abuse']): readonly RegExp[] => {
  const seconds = String(Math.round(blockMs / 1000))
  return [saysWait, saysRetry].map(pattern => new RegExp(pattern.replaceAll('{seconds}', seconds), 'i'))
})

/** The longest part of an error that a sentence quotes. */
const maxQuoted = 120

/** The start of the first error message in one line; empty if there is none, or only a page. */
export function quotedError({ body }: ObservedResponse): string {
  const message = body.kind === 'json' ? firstMessageIn(body.value, 0) : body.kind === 'text' ? body.head : ''
  return message.trim().startsWith('<') ? '' : oneLine(message.slice(0, maxQuoted)).trim()
}

function firstMessageIn(value: unknown, depth: number): string {
  if (typeof value !== 'object' || value === null || depth > maxMessageDepth) return ''
  for (const [name, member] of Object.entries(value)) {
    const found =
      typeof member === 'string' ? (messageNames.includes(name) ? member : '') : firstMessageIn(member, depth + 1)
    if (found !== '') return found
  }
  return ''
}

const messageNames: readonly string[] = ['message', 'error', 'detail', 'title']

const maxMessageDepth = 4

/** All texts of an error. The document does not define the position of its message in the body. */
export function errorMessageOf(response: ObservedResponse): string {
  if (response.body.kind === 'text') return response.body.head
  return response.body.kind === 'json' ? textsIn(response.body.value, 0).join(' ') : ''
}

function textsIn(value: unknown, depth: number): readonly string[] {
  if (typeof value === 'string') return [value]
  if (typeof value !== 'object' || value === null || depth > maxMessageDepth) return []
  return Object.values(value).flatMap(member => textsIn(member, depth + 1))
}

/** The recorded part of the body as text. Empty for a stream. */
export const bodyText = ({ body }: ObservedResponse): string =>
  body.kind === 'json' ? JSON.stringify(body.value) : body.kind === 'text' ? body.head : ''

/** Whether a 429 rejects a request because others of its caller are in flight. Such a 429 is not about a limit. */
export function isConcurrencyRejection(response: ObservedResponse, { rpc, chat }: Contract): boolean {
  if ((rpc.oneAtATime === null && chat.atOnce === null) || response.status !== 429) return false
  const body = jsonObject(response)
  const said = body?.customMessage ?? toObject(body?.error)?.customMessage
  return said !== undefined && (said === rpc.oneAtATime?.message || said === chat.atOnce?.message)
}

/** The JSON-RPC responses in a body. */
export const rpcResponsesIn = ({ body }: ObservedResponse): readonly unknown[] =>
  body.kind !== 'json' ? [] : Array.isArray(body.value) ? body.value : [body.value]

/** Whether a response says that a limit refuses its request: with 429, or with a JSON-RPC error that says so. */
export const isOverLimit = (
  response: ObservedResponse,
  { rpc: { limitCode } }: { readonly rpc: Pick<Contract['rpc'], 'limitCode'> },
): boolean =>
  response.status === 429 || (limitCode !== null && is2xx(response.status) && hasOnlyErrors(response, limitCode))

/** Takes a refusal with the status that a profile states for a 429, unless a probe got it. */
export function refusalsAs429({ limits: { status } }: Contract): (observation: Observation) => Observation {
  if (status === 429) return observation => observation
  return observation => {
    const { outcome, response, request } = observation
    if (outcome.kind !== 'answered' || outcome.status !== status || response === null || isProbeRequest(request))
      return observation
    return { ...observation, outcome: { ...outcome, status: 429 }, response: { ...response, status: 429 } }
  }
}

function hasOnlyErrors(response: ObservedResponse, code: number): boolean {
  const responses = rpcResponsesIn(response)
  return responses.length > 0 && responses.every(each => toObject(toObject(each)?.error)?.code === code)
}

export { is2xx } from '../lib/numbers.ts'

/** Statuses that say nothing about the content of a request: authentication, balance, rate, outage. */
export const isUnrelatedStatus = (status: number): boolean =>
  status >= 500 || [401, 402, 403, 408, 429].includes(status)

const json = /^application\/json\s*(;|$)/i

/** Consecutive responses have the same type, so the last result is reused. */
export const isJsonType = memoizeLast((contentType: string | undefined) => json.test(contentType ?? ''))

/**
 * The response if the service authenticated its caller, otherwise null. Documented rules for authenticated responses
 * apply to it. A 5xx is left out, because it may come from a gateway.
 */
export function authenticatedResponse({ request, response }: Observation): ObservedResponse | null {
  if (response === null || response.status === 401 || response.status >= 500) return null
  if (isProbeRequest(request)) {
    // The account was found, for the balance that it lacks.
    if (probeOf(request.probe).as === 'zero-balance') return response.status === 402 ? response : null
    if (!isOfContent(response.status, request.probe)) return null
  }
  // A probe may have the credentials of another account. A payment has no sign-in, and the key for a list may not be read.
  return requestTraits(request).identity(request) === 'caller' ? response : null
}

/** Whether a probe was refused for what its body says. A path, a type or broken JSON may be refused before the key is read. */
const isOfContent = (status: number, probe: string): boolean => status === 400 && probeOf(probe).isUnreadable !== true

/** The same, unless it is the response to a probe. */
export const authenticatedCall = (observation: Observation): ObservedResponse | null =>
  isProbeRequest(observation.request) ? null : authenticatedResponse(observation)

/** The body as a JSON object; null: it is not one. */
export function jsonObject(response: ObservedResponse | null): Readonly<Record<string, unknown>> | null {
  if (response?.body.kind !== 'json') return null
  return toObject(response.body.value)
}

/** Whether a response has a status that only replays have. */
export const hasReplayStatus = (
  { status }: ObservedResponse,
  { idempotency }: Pick<Contract, 'idempotency'>,
): boolean => status === idempotency.replayStatus

/** Whether a response is marked as a replay. */
export const isReplayed = (
  { response, repeatsBody }: Pick<Observation, 'response' | 'repeatsBody'>,
  { idempotency }: Pick<Contract, 'idempotency'>,
): boolean => repeatsBody === true || (response !== null && hasReplayMark(response, idempotency))
