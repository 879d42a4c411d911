import { randomUUID } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import {
  type Account,
  accountIdOf,
  decimal,
  documentedSettings,
  noteFailure,
  openAccount,
  type Settings,
} from './accounts.ts'
import { catalogOf } from './catalog.ts'
import { chat, otherLimit } from './chat.ts'
import { drawRequest, type Exchange, type Service, showLimits } from './exchange.ts'
import type { Lie } from './lies.ts'
import { models, networks, rateLimitLogs, rateLimits } from './lists.ts'
import { media, mediaPaths, paged } from './media.ts'
import { abuseRefusal, invalid, type Refusal, refusalReply, topUpOffer, walletInvitation } from './refusals.ts'
import { type Header, json, onWire, type Reply, type Wire } from './reply.ts'
import { isReply, rpc } from './rpc.ts'
import type { Variant } from './variant.ts'

export const base = '/api/v1'

const denied: Refusal = { status: 401, message: 'Authentication failed', code: 'AUTHENTICATION_FAILED' }
const missing: Refusal = { status: 404, message: 'There is no such path', code: 'NOT_FOUND' }

/** The time and the chance of a service. */
export type World = Pick<Service, 'pause' | 'chance'> & {
  /** Unix milliseconds. */
  readonly nowMs: () => number
}

function makeService(variant: Variant, settings: Settings, { nowMs, pause, chance }: World): Service {
  let count = 0
  return {
    variant,
    settings,
    catalog: catalogOf(variant, settings.tokensOfM),
    clock: () => nowMs() + 1000 * variant.clockOffsetSeconds,
    pause,
    chance,
    nextId: () => {
      count++
      const uuid = randomUUID()
      return { uuid, hex: uuid.replaceAll('-', ''), counter: `n${count}` }[variant.ids]
    },
    accounts: new Map(),
  }
}

/** A request with the headers that Node.js would show. */
export type Asked = {
  readonly method: string
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

/** A service that answers requests, over whatever connects to it. */
export function createHonestService(
  variant: Variant,
  changes: Partial<Settings>,
  lies: readonly Lie[],
  world: World,
): (asked: Asked) => Promise<Wire> {
  const settings = { ...documentedSettings, ...changes, ...Object.assign({}, ...lies.map(lie => lie.settings)) }
  const service = makeService(variant, settings, world)
  return asked => answer(service, lies, asked)
}

/** The account of the credentials: null for none at all, `denied` for wrong ones. */
function authenticate(
  service: Service,
  headers: IncomingHttpHeaders,
): { account: Account; keyId: string } | 'denied' | null {
  const { authorization } = headers
  const signIn = headers['sign-in-with-x'] ?? headers['x-sign-in-with-x']
  if (authorization === undefined) return signIn === undefined ? null : 'denied'
  const key = /^Bearer (\S+)$/i.exec(authorization)?.[1]
  const id = key === undefined ? null : accountIdOf(key, service.variant)
  if (key === undefined || id === null) return 'denied'
  const known = service.accounts.get(id)
  const account = known ?? openAccount(id, service.variant, service.settings)
  if (known === undefined) service.accounts.set(id, account)
  return { account, keyId: key.slice(-6) }
}

async function answer(service: Service, lies: readonly Lie[], { method, path, headers, body }: Asked): Promise<Wire> {
  const { variant, settings } = service
  const url = new URL(path, 'http://localhost')
  const now = service.clock()
  const known = authenticate(service, headers)
  const account = known === null || known === 'denied' ? null : known.account
  const exchange: Exchange = {
    service,
    method,
    path: url.pathname.startsWith(base) ? url.pathname.slice(base.length) : url.pathname,
    query: url.searchParams,
    headers,
    body,
    now,
    account,
    keyId: known === null || known === 'denied' ? '' : known.keyId,
    limitHeaders: [],
  }
  const balances: readonly Header[] =
    account === null
      ? []
      : [
          ['x-service-balance-usd', decimal(account.usd, variant.balanceDecimals)],
          ['x-service-balance-diem', decimal(account.diem, variant.balanceDecimals)],
        ]
  const isBlocked = account !== null && now < account.blockedUntil
  const outcome = isBlocked ? blocked(exchange) : await route(exchange, known)
  const reply = isReply(outcome) ? outcome : refusalReply(outcome, variant)
  if (account !== null && reply.status >= 400 && !isBlocked) {
    noteFailure(account, service.clock(), settings)
  }
  const dressed = dress(exchange, reply, balances)
  const sent = lies.reduce((changed, { change }) => change?.(changed, exchange) ?? changed, dressed)
  return onWire(sent, variant)
}

function blocked(exchange: Exchange): Refusal {
  const { service, path } = exchange
  showLimits(exchange, otherLimit(exchange))
  return abuseRefusal(service.variant, Math.round(service.settings.blockMs / 1000), path.startsWith('/crypto/rpc/'))
}

const version = '20261105.101530'

/** Adds the headers that every response has. */
function dress(exchange: Exchange, reply: Reply, balances: readonly Header[]): Reply {
  const { service, limitHeaders, headers } = exchange
  const stamp = headers['x-service-request-timestamp-ms']
  const common: Header[] = [
    ['Date', new Date(service.clock()).toUTCString()],
    ['CF-RAY', `${service.nextId().slice(-16)}-ZRH`],
    ['x-service-version', version],
    ...balances,
    ...limitHeaders,
  ]
  if (service.variant.timestamps) common.push(['x-service-timestamp', new Date(service.clock()).toISOString()])
  if (reply.status >= 400) common.push(['x-service-host-name', 'edge-7'])
  if (typeof stamp === 'string') common.push(['x-service-request-timestamp-ms', stamp])
  return { ...reply, headers: [...common, ...reply.headers] }
}

async function route(exchange: Exchange, known: ReturnType<typeof authenticate>): Promise<Reply | Refusal> {
  const { method, path, service } = exchange
  const at = `${method} ${path}`
  if (known === 'denied') return denied
  const isList = at === 'GET /models' || at === 'GET /crypto/rpc/networks'
  if (known !== null && isList) {
    const refusal = drawRequest(exchange, otherLimit(exchange))
    if (refusal !== null) return refusal
  }
  if (known === null && service.variant.listAccess === 'with-key' && isList) return denied
  if (at === 'GET /models') return models(exchange)
  if (at === 'GET /crypto/rpc/networks') return networks(exchange)
  if (at === 'POST /x402/top-up') return topUpOffer()
  const slug = method === 'POST' ? /^\/crypto\/rpc\/([^/]+)$/.exec(path)?.[1] : undefined
  const isInference = at === 'POST /chat/completions' || (method === 'POST' && mediaPaths.includes(path))
  if (known === null) {
    const invites = service.variant.noCredentials === 402 && (isInference || slug !== undefined)
    return invites ? walletInvitation(path, exchange.now) : denied
  }
  if (at === 'POST /chat/completions') return chat(exchange)
  if (slug !== undefined) return rpc(exchange, decodeURIComponent(slug))
  if (isInference) return media(exchange)
  const refusal = drawRequest(exchange, otherLimit(exchange))
  if (refusal !== null) return refusal
  switch (at) {
    case 'GET /api_keys/rate_limits':
      return rateLimits(exchange)
    case 'GET /api_keys/rate_limit_logs':
      return rateLimitLogs(exchange)
    case 'GET /characters':
    case 'GET /billing/usage-history':
      return paged(exchange)
    case 'GET /billing/balance':
      return json(200, { usd: (exchange.account?.usd ?? 0) / 1e9, diem: (exchange.account?.diem ?? 0) / 1e9 })
    default:
      return path.startsWith('/x402/balance/') ? invalid('This wallet is not known') : missing
  }
}
