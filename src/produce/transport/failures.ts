import { errors } from 'undici'
import { ownMember } from '../../lib/json.ts'
import type { FailureReason, LocalFault } from '../../observation/observation.ts'
import type { TransportFailure } from './transport.ts'

/** The state of the connection when the error occurred; `ended` by the target. */
export type ConnectionState = 'opening' | 'open' | 'ended'

/**
 * Maps an error of a socket, TLS or undici to a failure by its code, because messages may change. An unknown code means
 * that the connection was not made, or that it was lost, depending on the state.
 */
export function transportFailureOf(error: unknown, state: ConnectionState): TransportFailure {
  const code = codeOf(error)
  if (code === null) return { reason: 'cancelled', detail: `${nameOf(error)} in the harness` }
  return { reason: localFaultOf(code, state) ?? reasonOf(code, state), detail: describe(code, error) }
}

/** Errors of the machine that runs Turnpike. */
const localFaultCodes: Readonly<Record<string, LocalFault>> = {
  EMFILE: 'no-file-descriptors',
  ENFILE: 'no-file-descriptors',
  EADDRNOTAVAIL: 'no-local-ports',
  EADDRINUSE: 'no-local-ports',
  ENOBUFS: 'no-memory',
  ENOMEM: 'no-memory',
  EACCES: 'not-permitted',
  EPERM: 'not-permitted',
}

/** Until a connection is open, it is certain that no byte was sent. */
const localFaultOf = (code: string, state: ConnectionState): LocalFault | null =>
  state === 'opening' ? ownMember(localFaultCodes, code) : null

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
  UND_ERR_HEADERS_TIMEOUT: 'headers-timeout',
  UND_ERR_BODY_TIMEOUT: 'idle-timeout',
  UND_ERR_HEADERS_OVERFLOW: 'protocol',
  EPROTO: 'tls',
  HOSTNAME_MISMATCH: 'tls',
  INVALID_CA: 'tls',
  INVALID_PURPOSE: 'tls',
  PATH_LENGTH_EXCEEDED: 'tls',
  // Memory ran out on the machine that runs Turnpike, after the request had begun.
  ENOBUFS: 'cancelled',
  ENOMEM: 'cancelled',
  // Not sent, or cancelled by Turnpike.
  UND_ERR_ABORTED: 'cancelled',
  UND_ERR_CLOSED: 'cancelled',
  UND_ERR_DESTROYED: 'cancelled',
  UND_ERR_INVALID_ARG: 'cancelled',
  UND_ERR_NOT_SUPPORTED: 'cancelled',
}

function reasonOf(code: string, state: ConnectionState): FailureReason {
  const reason = ownMember(reasons, code)
  if (reason !== null) return reason
  // A parser error at the end of a connection means that the rest is missing, also of a body of announced length.
  if (parserErrors.includes(code) || code.startsWith('HPE_')) return state === 'ended' ? 'connection-lost' : 'protocol'
  if (/^ERR_(TLS|SSL)_|^UNABLE_TO_|CERT|CRL/.test(code)) return 'tls'
  // The operating system's own timeout, also for one of several addresses.
  if (code === 'ETIMEDOUT') return state === 'opening' ? 'connect-timeout' : 'connection-lost'
  return state === 'opening' ? 'connect-refused' : 'connection-lost'
}

// undici 7 should give these errors the code of its parser, but does not.
const parserError = 'HTTPParserError'
const parserErrors: readonly string[] = [parserError, 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH']

/** If several addresses failed, the error is an AggregateError, without a code if they failed in different ways. */
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

/** Only for errors with a code: their message comes from the platform. Other messages could quote the response. */
function describe(code: string, error: unknown): string {
  const message = error instanceof Error ? error.message : ''
  const text = message.includes(code) ? message : `${code}: ${message}`
  return text.replace(/\s+/g, ' ').slice(0, 160)
}

const nameOf = (error: unknown): string => (error instanceof Error ? error.name : typeof error)
