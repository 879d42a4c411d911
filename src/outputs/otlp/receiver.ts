import { parseObject, toObject } from '../../lib/json.ts'
import { UsageError } from '../../lib/usage-error.ts'
import { type MoreHeaders, type PushRules, parseReceiver, type Receiver } from '../remote-write/receiver.ts'

/** Where metrics and spans go. */
export type OtlpReceiver = { readonly metrics: Receiver; readonly traces: Receiver }

/** Headers of OTLP requests that OpenTelemetry programs share: `name=value,name=value`, the values percent-encoded. */
export const headersVariable = 'OTEL_EXPORTER_OTLP_HEADERS'
const credentialsVariable = 'TURNPIKE_OTLP_CREDENTIALS'

/**
 * The receiver at a base address, such as `http://127.0.0.1:4318`, to which the path of each signal is added, or at the
 * full address of one signal. Throws a UsageError, which never contains a secret.
 */
export function parseOtlpReceiver(
  address: string,
  environment: Readonly<Record<string, string | undefined>>,
): OtlpReceiver {
  const more = parseHeaders(environment[headersVariable] ?? '')
  const given = parseReceiver('--otlp', address, credentialsVariable, environment[credentialsVariable], more)
  const base = given.address.replace(/\/v1\/(metrics|traces)\/?$/, '').replace(/\/+$/, '')
  const at = (path: string): Receiver => ({ ...given, address: `${base}${path}` })
  return { metrics: at('/v1/metrics'), traces: at('/v1/traces') }
}

/** The values of the headers, for masks. */
export const otlpHeaderSecrets = (text: string): readonly string[] =>
  text.split(',').flatMap(pair => formsOf(pair.slice(pair.indexOf('=') + 1).trim()))

/** A value as it is written and as it is sent, also without a scheme such as `Bearer`. */
function formsOf(written: string): readonly string[] {
  const value = decoded(written) ?? written
  return [...new Set([written, value, value.slice(value.lastIndexOf(' ') + 1)])].filter(form => form !== '')
}

function parseHeaders(text: string): MoreHeaders {
  const pairs = text
    .split(',')
    .map(pair => pair.trim())
    .filter(pair => pair !== '')
  const entries = pairs.map((pair, index) => {
    const [, name = '', written = ''] = /^([^=]*)=(.*)$/s.exec(pair) ?? []
    const value = decoded(written.trim())
    if (!/^[!#$%&'*+.^_`|~\w-]+$/.test(name.trim()) || value === null || !/^[\x20-\x7e]*$/.test(value))
      throw new UsageError({
        where: headersVariable,
        got: `something else at its header ${index + 1}`,
        expected: 'name=value,name=value with percent-encoded values',
      })
    return [name.trim().toLowerCase(), value] as const
  })
  return { headers: Object.fromEntries(entries), secrets: otlpHeaderSecrets(text) }
}

function decoded(text: string): string | null {
  try {
    return decodeURIComponent(text)
  } catch {
    return null
  }
}

const retried: readonly number[] = [429, 502, 503, 504]

/** OTLP/HTTP retries only these statuses. A response of 200 may reject points or spans. */
export const otlpRules: PushRules = {
  isRetried: status => retried.includes(status),
  rejected: body => {
    const partial = toObject(parseObject(body.toString('utf8'))?.partialSuccess)
    if (partial === null) return null
    const count = Number(partial.rejectedDataPoints ?? partial.rejectedSpans ?? 0)
    const message = typeof partial.errorMessage === 'string' ? partial.errorMessage : ''
    const isCount = Number.isSafeInteger(count) && count > 0
    return isCount || message !== '' ? { count: isCount ? count : 0, message } : null
  },
}
