import { randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
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
import { type Header, json, type Reply, send } from './reply.ts'
import { isReply, rpc } from './rpc.ts'
import type { Variant } from './variant.ts'

export type Running = { readonly target: string; readonly close: () => Promise<void> }

const base = '/api/v1'

const denied: Refusal = { status: 401, message: 'Authentication failed', code: 'AUTHENTICATION_FAILED' }
const missing: Refusal = { status: 404, message: 'There is no such path', code: 'NOT_FOUND' }

function makeService(variant: Variant, settings: Settings, offsetMs: number): Service {
  let count = 0
  return {
    variant,
    settings,
    catalog: catalogOf(variant, settings.tokensOfM),
    clock: () => Date.now() + offsetMs,
    chance: () => Math.random(),
    nextId: () => {
      count++
      const uuid = randomUUID()
      return { uuid, hex: uuid.replaceAll('-', ''), counter: `n${count}` }[variant.ids]
    },
    accounts: new Map(),
  }
}

/** Starts the service on a free port of this machine. */
export async function startService(
  variant: Variant,
  changes: Partial<Settings> = {},
  lies: readonly Lie[] = [],
): Promise<Running> {
  const settings = { ...documentedSettings, ...changes, ...Object.assign({}, ...lies.map(lie => lie.settings)) }
  const service = makeService(variant, settings, 1000 * variant.clockOffsetSeconds)
  const server = createServer((request, response) => {
    void handle(service, lies, request, response).catch(() => response.destroy())
  })
  server.maxHeadersCount = 500
  server.keepAliveTimeout = variant.connections === 'one-second' ? 1000 : 65_000
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    target: `http://127.0.0.1:${port}${base}`,
    close: () =>
      new Promise(resolve => {
        server.closeAllConnections()
        server.close(() => resolve())
      }),
  }
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = []
  for await (const part of request) parts.push(part as Buffer)
  return Buffer.concat(parts).toString('utf8')
}

/** The account of the credentials: null for none at all, `denied` for wrong ones. */
function authenticate(
  service: Service,
  request: IncomingMessage,
): { account: Account; keyId: string } | 'denied' | null {
  const { authorization } = request.headers
  const signIn = request.headers['sign-in-with-x'] ?? request.headers['x-sign-in-with-x']
  if (authorization === undefined) return signIn === undefined ? null : 'denied'
  const key = /^Bearer (\S+)$/i.exec(authorization)?.[1]
  const id = key === undefined ? null : accountIdOf(key, service.variant)
  if (key === undefined || id === null) return 'denied'
  const known = service.accounts.get(id)
  const account = known ?? openAccount(id, service.variant)
  if (known === undefined) service.accounts.set(id, account)
  return { account, keyId: key.slice(-6) }
}

async function handle(
  service: Service,
  lies: readonly Lie[],
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const body = await bodyOf(request)
  const { variant, settings } = service
  const url = new URL(request.url ?? '/', 'http://localhost')
  const now = service.clock()
  const known = authenticate(service, request)
  const account = known === null || known === 'denied' ? null : known.account
  const exchange: Exchange = {
    service,
    method: request.method ?? 'GET',
    path: url.pathname.startsWith(base) ? url.pathname.slice(base.length) : url.pathname,
    query: url.searchParams,
    headers: request.headers,
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
  const answer = isBlocked ? blocked(exchange) : await route(exchange, known)
  const reply = isReply(answer) ? answer : refusalReply(answer, variant)
  if (account !== null && reply.status >= 400 && !isBlocked) {
    noteFailure(account, service.clock(), settings)
  }
  const dressed = dress(exchange, reply, balances)
  const sent = lies.reduce((changed, { change }) => change?.(changed, exchange) ?? changed, dressed)
  await send(sent, response, variant)
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
  if (known !== null && (at === 'GET /models' || at === 'GET /crypto/rpc/networks')) {
    const refusal = drawRequest(exchange, otherLimit(exchange))
    if (refusal !== null) return refusal
  }
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
