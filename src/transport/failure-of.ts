import type { FailureReason } from '../observation/observation.ts'

export type Failure = { readonly reason: FailureReason; readonly detail: string }

/**
 * What an error of a socket, of TLS or of undici means, by its code: a message is for people and may change. `connected`
 * decides what an unknown code is: that no connection came about, or that one was lost.
 */
export function failureOf(error: unknown, connected: boolean): Failure {
  const code = codeOf(error)
  if (code === null) return { reason: 'cancelled', detail: `${nameOf(error)} in the harness` }
  return { reason: reasonOf(code, connected), detail: describe(code, error) }
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
  // The connection ended before the body did: the first where its length was announced, the second where it was not.
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: 'connection-lost',
  HPE_INVALID_EOF_STATE: 'connection-lost',
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

function reasonOf(code: string, connected: boolean): FailureReason {
  if (Object.hasOwn(reasons, code)) return reasons[code] ?? 'protocol'
  if (code.startsWith('HPE_')) return 'protocol'
  if (/^ERR_(TLS|SSL)_|CERT|CRL/.test(code)) return 'tls'
  // The system's own limit, and that of an attempt at one of several addresses.
  if (code === 'ETIMEDOUT') return connected ? 'connection-lost' : 'connect-timeout'
  return connected ? 'connection-lost' : 'connect-refused'
}

/** Several addresses that failed make one AggregateError; it has no code where they failed differently. */
function codeOf(error: unknown): string | null {
  if (!(error instanceof Error)) return null
  if ('code' in error && typeof error.code === 'string') return error.code
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
