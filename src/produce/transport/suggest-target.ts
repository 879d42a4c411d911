import type { Clock } from '../../lib/clock.ts'
import { is2xx } from '../../lib/numbers.ts'
import { type ControlBounds, type Exchange, getJson } from './transport.ts'

/** A list that the target did not give: the request, and its response or failure. */
export type Refusal = { readonly path: string; readonly exchange: Exchange }

/** Sends a GET without a key to a path under a base address. */
type AskAt = (baseUrl: string, path: string) => Promise<Exchange>

/** Each question opens a connection of its own, because the next goes to another address. */
export const asker =
  (clock: Clock, bounds: ControlBounds): AskAt =>
  async (baseUrl, path) => {
    const { undiciTransport } = await import('./undici.ts')
    const { send, close } = undiciTransport({ baseUrl, clock, maxConnections: 1 })
    try {
      return await send(getJson(path, {}, bounds), new AbortController().signal)
    } finally {
      await close()
    }
  }

/** What a user should know before a run, and after a plan. */
export const notThere = (target: string, suggested: string): string =>
  `The service does not answer at ${target}. Did you mean ${suggested}?`

/** Where such services usually are, under the root of a host or behind a gateway. */
const usualBases = ['/api/v1', '/v1', '/api'] as const
const endpoints = /\/(chat\/completions|chat|completions|models|crypto\/rpc(\/.*)?)$/

/**
 * A similar address at which the service seems to be, if the target refused every list; null: none was found. It asks at
 * most seven times, never with a key, and never another host.
 */
export async function suggestTarget(target: string, refusals: readonly Refusal[], ask: AskAt): Promise<string | null> {
  const [first] = refusals
  if (first === undefined) return null
  const { failure, status, headers } = first.exchange
  if (failure !== null) return await otherProtocol(target, first, ask)
  const location = headers.location
  if (status !== null && status >= 300 && status < 400 && location !== undefined)
    return baseOfLocation(target, first.path, location)
  if (!refusals.every(({ exchange }) => isWrongPath(exchange))) return null
  for (const base of otherBases(target)) if (isService(await ask(base, first.path))) return base
  return null
}

const isWrongPath = ({ status, headers }: Exchange): boolean =>
  status === 404 || status === 405 || status === 410 || /^text\/html/i.test(headers['content-type'] ?? '')

/** A list, or a refusal for want of a key. */
const isService = ({ status, headers }: Exchange): boolean =>
  (is2xx(status) || status === 401 || status === 402) && /json/i.test(headers['content-type'] ?? '')

function otherBases(target: string): readonly string[] {
  const { origin, pathname } = new URL(target)
  const path = pathname.replace(/\/+$/, '')
  const bases = [path.replace(endpoints, ''), ...usualBases, ...usualBases.map(base => `${path}${base}`)]
  const known = new Set([path])
  return bases.flatMap(base => {
    if (known.has(base)) return []
    known.add(base)
    return `${origin}${base}`
  })
}

/** `https` for a plain port, or `http` for a port with TLS. */
async function otherProtocol(target: string, { path, exchange }: Refusal, ask: AskAt): Promise<string | null> {
  const reason = exchange.failure?.reason
  const isHttps = target.startsWith('https:')
  // A plain port may reset the connection before its bytes are seen to be no TLS.
  if (reason !== 'connection-lost' && reason !== 'protocol' && !(isHttps && reason === 'tls')) return null
  const other = isHttps ? target.replace('https:', 'http:') : target.replace('http:', 'https:')
  const { status, failure } = await ask(other, path)
  // Even a certificate that this machine does not trust shows that the port has TLS.
  const hasCertificate = failure?.reason === 'tls' && !/EPROTO|wrong version|packet length/i.test(failure.detail)
  return status !== null || (!isHttps && hasCertificate) ? other : null
}

/** The address that a redirect of `path` leads to, without that path. */
function baseOfLocation(target: string, path: string, location: string): string | null {
  if (!URL.canParse(location, `${target}/`)) return null
  const { origin, pathname } = new URL(location, `${new URL(target).origin}/`)
  const base = pathname.replace(/\/+$/, '')
  return base.endsWith(path) ? `${origin}${base.slice(0, -path.length)}` : null
}
