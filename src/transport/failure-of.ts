import { errors } from 'undici'
import type { FailureReason } from '../observation/observation.ts'

export type Failure = { readonly reason: FailureReason; readonly detail: string }

/** How far the connection had come, and whether the other side had ended it, when the error showed. */
export type ConnectionState = 'opening' | 'open' | 'ended'

/**
 * What an error of a socket, of TLS or of undici means, by its code: a message is for people and may change. An unknown
 * code means that no connection came about, or that one was lost, by its state.
 */
export function failureOf(error: unknown, state: ConnectionState): Failure {
  const code = codeOf(error)
  if (code === null) return { reason: 'cancelled', detail: `${nameOf(error)} in the harness` }
  return { reason: reasonOf(code, state), detail: describe(code, error) }
}

const reasons: Readonly<Record<string, FailureReason>> = {
  ECONNREFUSED: 'connect-refused',
  EHOSTUNREACH: 'connect-refused',
  ENETUNREACH: 'connect-refused',
  UND_ERR_CONNECT_TIMEOUT: 'connect-timeout',
  ENOTFOUND: 'name-not-resolved',
  EAI_AGAIN: 'name-not-resolved',
  ECONNRESET: 'connection-lost',
  EPIPE: 'connection-lost',
  UND_ERR_SOCKET: 'connection-lost',
  // The connection ended before a body of announced length did.
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: 'connection-lost',
  UND_ERR_HEADERS_TIMEOUT: 'headers-timeout',
  UND_ERR_BODY_TIMEOUT: 'idle-timeout',
  UND_ERR_HEADERS_OVERFLOW: 'protocol',
  EPROTO: 'tls',
  HOSTNAME_MISMATCH: 'tls',
  INVALID_CA: 'tls',
  INVALID_PURPOSE: 'tls',
  PATH_LENGTH_EXCEEDED: 'tls',
  // Never sent, or ended from this side.
  UND_ERR_ABORTED: 'cancelled',
  UND_ERR_CLOSED: 'cancelled',
  UND_ERR_DESTROYED: 'cancelled',
  UND_ERR_INVALID_ARG: 'cancelled',
  UND_ERR_NOT_SUPPORTED: 'cancelled',
}

function reasonOf(code: string, state: ConnectionState): FailureReason {
  if (Object.hasOwn(reasons, code)) return reasons[code] ?? 'protocol'
  // What was parsed at the end of a connection was not wrong, only not all.
  if (code === parserError || code.startsWith('HPE_')) return state === 'ended' ? 'connection-lost' : 'protocol'
  if (/^ERR_(TLS|SSL)_|^UNABLE_TO_|CERT|CRL/.test(code)) return 'tls'
  // The system's own limit, and that of an attempt at one of several addresses.
  if (code === 'ETIMEDOUT') return state === 'opening' ? 'connect-timeout' : 'connection-lost'
  return state === 'opening' ? 'connect-refused' : 'connection-lost'
}

// undici 7 means to give these errors the code of its parser and gives them none.
const parserError = 'HTTPParserError'

/** Several addresses that failed make one AggregateError; it has no code where they failed differently. */
function codeOf(error: unknown): string | null {
  if (!(error instanceof Error)) return null
  if ('code' in error && typeof error.code === 'string') return error.code
  if (error instanceof errors.HTTPParserError) return parserError
  if (!(error instanceof AggregateError)) return null
  for (const each of error.errors) {
    const code = codeOf(each)
    if (code !== null) return code
  }
  return null
}

/** Messages with a code are the platform's own words; one without could quote what was being read, so it is left out. */
function describe(code: string, error: unknown): string {
  const message = error instanceof Error ? error.message : ''
  const text = message.includes(code) ? message : `${code}: ${message}`
  return text.replace(/\s+/g, ' ').slice(0, 160)
}

const nameOf = (error: unknown): string => (error instanceof Error ? error.name : typeof error)
