import { createHash, timingSafeEqual } from 'node:crypto'
import { isLoopback } from '../lib/loopback.ts'

/** What decides whether a page may be read or may act. */
export type PageRequest = {
  readonly host: string | undefined
  readonly origin: string | undefined
  /** `Sec-Fetch-Site`, which browsers send. */
  readonly site: string | undefined
  readonly authorization: string | undefined
  /** The address of the other end of the connection. */
  readonly peer: string | undefined
}

/** No other site may read, frame or guess the content of a page. */
export const safeHeaders = {
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
}

const addressLiteral = /^(\d{1,3}(\.\d{1,3}){3}|\[[0-9a-f:.]+\])$/i

/**
 * Whether a request names this server and not another one. A page of another site can make its own name lead here (DNS
 * rebinding), but cannot make a browser send another name than its own.
 */
export function namesThisServer({ host }: Pick<PageRequest, 'host'>, listensAt: string): boolean {
  const url = urlOf(`http://${host ?? ''}`)
  if (url === null || host === undefined || url.host !== withoutDefaultPort(host)) return false
  if (isLoopback(url.href)) return true
  const isLocal = isLoopback(`http://${bracketed(listensAt)}`)
  return !isLocal && (url.hostname === listensAt.toLowerCase() || addressLiteral.test(url.hostname))
}

/**
 * Whether a request may end the run: it comes from the page of this server, and from this machine or with the token.
 * `token`: null for none.
 */
export function mayAct(request: PageRequest, token: string | null): boolean {
  if (!comesFromOwnPage(request)) return false
  return isFromThisMachine(request) || (token !== null && isSame(request.authorization ?? '', `Bearer ${token}`))
}

/** Browsers send the origin with every POST. */
function comesFromOwnPage({ host, origin, site }: PageRequest): boolean {
  if (host === undefined || origin === undefined || (site !== undefined && site !== 'same-origin')) return false
  return urlOf(origin)?.host === withoutDefaultPort(host)
}

/** By its connection and by the name that it uses: a proxy on this machine forwards requests of others. */
export function isFromThisMachine({ host, peer }: Pick<PageRequest, 'host' | 'peer'>): boolean {
  const name = urlOf(`http://${host ?? ''}`)
  const isNear = peer !== undefined && isLoopback(`http://${bracketed(peer)}`)
  return isNear && name !== null && isLoopback(name.href)
}

const bracketed = (address: string): string => (address.includes(':') ? `[${address}]` : address)

const withoutDefaultPort = (host: string): string => host.toLowerCase().replace(/:80$/, '')

function urlOf(text: string): URL | null {
  return URL.canParse(text) ? new URL(text) : null
}

/** Compares digests, so that the time does not reveal the token. */
const isSame = (given: string, expected: string): boolean => timingSafeEqual(digest(given), digest(expected))

const digest = (text: string): Buffer => createHash('sha256').update(text).digest()
