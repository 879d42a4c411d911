import { Agent, request } from 'undici'
import { UpstreamError } from './failure.ts'
import type { Upstream } from './upstream.ts'

type UpstreamOptions = {
  /** What messages call it. */
  readonly name: string
  /** Without a slash at its end. `{key}` is replaced by the key. */
  readonly url: string
  /** Sent as a bearer token, unless the URL holds it. null: none. */
  readonly key: string | null
  /** The longest time until the headers, and between two parts of the body. */
  readonly timeoutMs: number
  readonly warn: (note: string) => void
}

const connectMs = 10_000
const timeouts = ['UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT', 'UND_ERR_CONNECT_TIMEOUT', 'ETIMEDOUT']

export function createUpstream({ name, url, key, timeoutMs, warn }: UpstreamOptions): Upstream {
  const agent = new Agent({ connect: { timeout: connectMs }, headersTimeout: timeoutMs, bodyTimeout: timeoutMs })
  const base = url.replaceAll('{key}', encodeURIComponent(key ?? ''))
  const inHeader = key !== null && !url.includes('{key}')
  const headers = {
    'content-type': 'application/json',
    'user-agent': 'turnpike',
    ...(inHeader && { authorization: `Bearer ${key}` }),
  }
  const failed = (cause: unknown): UpstreamError => {
    if (cause instanceof UpstreamError) return cause
    const code = cause instanceof Error && 'code' in cause ? String(cause.code) : 'an unknown error'
    return timeouts.includes(code)
      ? new UpstreamError(504, `The ${name} upstream timed out (${code}).`)
      : new UpstreamError(503, `The ${name} upstream did not respond (${code}).`)
  }

  async function* partsOf(body: AsyncIterable<Buffer>): AsyncIterable<Buffer> {
    try {
      yield* body
    } catch (cause) {
      throw failed(cause)
    }
  }

  return {
    post: async ({ path = '', network = '' }, body, signal) => {
      try {
        const url = base.replaceAll('{network}', encodeURIComponent(network)) + path
        const response = await request(url, { method: 'POST', headers, body, signal, dispatcher: agent })
        const [contentType, retryAfter] = [response.headers['content-type'], response.headers['retry-after']]
        return {
          status: response.statusCode,
          contentType: String(contentType ?? ''),
          retryAfter: typeof retryAfter === 'string' ? retryAfter : null,
          body: partsOf(response.body),
        }
      } catch (cause) {
        throw failed(cause)
      }
    },
    warn,
    close: () => agent.destroy(),
  }
}
