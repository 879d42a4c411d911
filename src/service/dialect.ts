import type { Contract } from '../contract/contract.ts'
import { type LimitForm, limitForms, type WritingTime } from '../contract/limit-headers/forms.ts'
import {
  type LimitHeaders,
  type LimitStatement,
  limitHeadersOf,
  limitStatements,
  readStatement,
  retryAfterHeader,
} from '../contract/limit-headers/limit-headers.ts'
import { isLimitStatus } from '../contract/limits.ts'
import { type AddedSecrets, missingAddition } from '../contract/requests/additions.ts'
import { keyHeader } from '../contract/requests/credentials.ts'
import { is2xx } from '../lib/numbers.ts'
import type { Reply, ServiceRequest } from './message.ts'

type Headers = Readonly<Record<string, string>>

/** Headers about limits that the document has beside the statements of its limits. */
const documentedOnly = ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset', 'x-ratelimit-type']

/**
 * The service, and its lies, know the headers of the document alone. In a dialect, its replies are translated last: so each
 * lie about a header is told in each dialect.
 */
export function createDialect(contract: Contract): {
  /** The contract with the headers of the document. */
  readonly spoken: Contract
  readonly translate: (headers: Headers, status: number, nowMs: number) => Headers
} {
  const { limits } = contract
  const to = limitHeadersOf(limits)
  if (to.isDocumented) return { spoken: contract, translate: headers => headers }
  const own = { dialect: null, headers: {}, retryAfter: null } as const
  const resets = { requestsReset: 'unix-milliseconds', tokensReset: 'unix-milliseconds' } as const
  const spoken = { ...contract, limits: { ...limits, ...own, ...resets } }
  const from = limitHeadersOf(spoken.limits)
  const statements = limitStatements.map(({ unit, part }) => ({ source: from[unit][part], target: to[unit][part] }))
  const removed = new Set([...documentedOnly, ...statements.flatMap(({ source }) => source?.header ?? [])])
  return {
    spoken,
    translate: (headers, status, nowMs) => {
      const now = { nowMs, windowMs: limits.windowMs }
      const kept: Record<string, string> = Object.fromEntries(
        Object.entries(headers).filter(([name]) => !removed.has(name)),
      )
      for (const { source, target } of statements)
        if (source !== null && target !== null) write(kept, target, headers, source, now)
      return isLimitStatus(status, contract) ? withWait(kept, to, nowMs) : kept
    },
  }
}

/** Writes one statement as another one. What is not a number stays as it is. */
function write(
  headers: Record<string, string>,
  { header, form, member }: LimitStatement,
  given: Headers,
  source: LimitStatement,
  now: WritingTime,
): void {
  const text = given[source.header]
  if (text === undefined) return
  const value = readStatement(source, given)
  const written = value === null ? text : (limitForms[form] as LimitForm).write(value, now)
  headers[header] = member === null ? written : withMember(headers[header], member, written, now)
}

/** A structured field with one more member: parameters of one item, or a dictionary if their names are words. */
export function withMember(
  known: string | undefined,
  member: string,
  value: string,
  { windowMs }: WritingTime,
  { name, unit }: { readonly name: string; readonly unit: string } = { name: 'default', unit: 'requests' },
): string {
  if (member.length > 1) return known === undefined ? `${member}=${value}` : `${known}, ${member}=${value}`
  const item = `${known ?? `"${name}"`};${member}=${value}`
  if (member !== 'q') return item
  return `${item};w=${windowMs / 1_000}${unit === 'requests' ? '' : `;qu="${unit}"`}`
}

/** The wait of a 429 in the form of the dialect, instead of the seconds that the document leaves open. */
function withWait({ 'retry-after': seconds, ...headers }: Headers, limits: LimitHeaders, nowMs: number): Headers {
  const name = retryAfterHeader(limits)
  if (seconds === undefined || name === null) return headers
  const inForm = {
    seconds: () => seconds,
    ms: () => String(Number(seconds) * 1_000),
    'http-date': () => new Date(nowMs + Number(seconds) * 1_000).toUTCString(),
    none: () => '',
  } as const
  return { ...headers, [name]: inForm[limits.retryAfter]() }
}

/**
 * The service, and its lies, know keys as bearer tokens. Where a profile has another header or scheme, each request is
 * translated first, so that a bearer token is not a key there. What a profile adds to each request is demanded.
 */
export function createReader(contract: Contract, values: AddedSecrets): (request: ServiceRequest) => ServiceRequest {
  const { scheme } = contract.auth
  const header = keyHeader(contract.auth)
  const isBearer = header === 'authorization' && scheme?.toLowerCase() === 'bearer'
  const replayKey = contract.idempotency.header.toLowerCase()
  return sent => {
    const lacks = missingAddition(sent, contract, values)
    const request = lacks === null ? sent : { ...sent, lacks }
    if (isBearer && replayKey === 'idempotency-key') return request
    const value = request.headers[header]
    const { authorization: _, 'idempotency-key': __, ...others } = request.headers
    const headers = {
      ...others,
      ...(value !== undefined && { authorization: isBearer ? value : asBearer(value, scheme) }),
      ...(request.headers[replayKey] !== undefined && { 'idempotency-key': request.headers[replayKey] }),
    }
    return { ...request, headers }
  }
}

/** A reply, whose mark of a replay is that of the document, with the mark of the profile. */
export function createReplayMark({ idempotency }: Contract): (reply: Reply) => Reply {
  const { replayHeader, replayValue, replayStatus } = idempotency
  const documented = 'idempotent-replayed'
  const value = replayValue ?? 'true'
  if (replayHeader?.toLowerCase() === documented && value === 'true' && replayStatus === null) return reply => reply
  return reply => {
    const { [documented]: mark, ...headers } = reply.headers
    if (mark === undefined) return reply
    // A lie about the mark stays one.
    const own = replayHeader === null ? {} : { [replayHeader.toLowerCase()]: mark === 'true' ? value : mark }
    const status = replayStatus !== null && mark === 'true' && is2xx(reply.status) ? replayStatus : reply.status
    return { ...reply, status, headers: { ...headers, ...own } }
  }
}

/** A value without the scheme stays no key. */
function asBearer(value: string, scheme: string | null): string {
  if (scheme === null) return `Bearer ${value}`
  const [word = '', ...rest] = value.split(' ')
  return word.toLowerCase() === scheme.toLowerCase() ? ['Bearer', ...rest].join(' ') : `other ${value}`
}
