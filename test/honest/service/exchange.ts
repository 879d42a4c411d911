import { createHash } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { type Account, limiterOf, type Settings } from './accounts.ts'
import type { Catalog } from './catalog.ts'
import type { LimitView } from './limiters.ts'
import type { Refusal } from './refusals.ts'
import type { Header } from './reply.ts'
import type { Variant } from './variant.ts'

/** What the service is, and what it remembers. */
export type Service = {
  readonly variant: Variant
  readonly settings: Settings
  readonly catalog: Catalog
  /** Unix milliseconds by the clock of the service. */
  readonly clock: () => number
  readonly pause: (ms: number) => Promise<void>
  /** From 0 to 1. */
  readonly chance: () => number
  readonly nextId: () => string
  readonly accounts: Map<string, Account>
}

/** One request and what the answer needs to know about it. */
export type Exchange = {
  readonly service: Service
  readonly method: string
  readonly path: string
  readonly query: URLSearchParams
  readonly headers: IncomingHttpHeaders
  readonly body: string
  readonly now: number
  /** null: no credentials were needed, and none were sent. */
  readonly account: Account | null
  readonly keyId: string
  /** The limit headers of the answer. */
  limitHeaders: readonly Header[]
}

export const digest = (text: string): string => createHash('sha256').update(text).digest('hex')

/** A limit that a request counts against. `counter`: what shares it, if that is more or less than its name says. */
export type Draw = {
  readonly name: string
  readonly counter?: string
  readonly limit: number
  readonly tokens?: number
  readonly isRpc?: boolean
}

const seconds = (ms: number, { resetForm }: Variant): string =>
  resetForm === 'whole' ? `${Math.ceil(ms / 1000)}` : (Math.ceil(ms) / 1000).toFixed(3)

function requestHeaders({ limit, remaining, resetAt, retryAt }: LimitView, variant: Variant): Header[] {
  return [
    ['x-ratelimit-limit-requests', `${limit}`],
    ['x-ratelimit-remaining-requests', `${remaining}`],
    ['x-ratelimit-reset-requests', seconds(remaining > 0 ? resetAt : retryAt, variant)],
  ]
}

function tokenHeaders({ limit, remaining, resetAt }: LimitView, now: number, variant: Variant): Header[] {
  return [
    ['x-ratelimit-limit-tokens', `${limit}`],
    ['x-ratelimit-remaining-tokens', `${Math.floor(remaining)}`],
    ['x-ratelimit-reset-tokens', seconds(Math.max(0, resetAt - now), variant)],
  ]
}

/** The limit headers of an RPC refusal, in the spelling of the variant. */
function rpcHeaders({ limit, retryAt }: LimitView, now: number, variant: Variant): Header[] {
  const reset = seconds(retryAt, variant)
  switch (variant.rpc429) {
    case 'three':
      return [
        ['X-RateLimit-Limit', `${limit}`],
        ['X-RateLimit-Remaining', '0'],
        ['X-RateLimit-Reset', reset],
      ]
    case 'requests-family':
      return []
    case 'draft-and-one':
      return [
        ['RateLimit-Limit', `${limit}`],
        ['RateLimit-Remaining', '0'],
        ['RateLimit-Reset', `${Math.ceil((retryAt - now) / 1000)}`],
        ['X-RateLimit-Reset', reset],
      ]
    case 'reset-only':
      return [['X-RateLimit-Reset', reset]]
    case 'spelled':
      return [
        ['X-RateLimit-Limit-Minute', `${limit}`],
        ['X-RateLimit-Remaining-Minute', '0'],
      ]
  }
}

const viewOf = ({ service, now }: Exchange, account: Account, name: string, limit: number): LimitView =>
  limiterOf(account, name, limit, service.variant, service.settings).view(now)

/** Writes the state of the limits into the headers of the answer. */
export function showLimits(exchange: Exchange, { name, counter = name, limit, tokens }: Draw): void {
  const { account, service, now } = exchange
  if (account === null) return
  const { variant } = service
  const requests = viewOf(exchange, account, counter, limit)
  const shown = requestHeaders(requests, variant)
  if (tokens !== undefined)
    shown.push(...tokenHeaders(viewOf(exchange, account, `${counter} tokens`, tokens), now, variant))
  if (variant.limitType === 'always') shown.push(['x-ratelimit-type', 'user'])
  exchange.limitHeaders = shown
}

/** Whether the limit has room. A liar allows more than that, or less. */
function allows({ account, service }: Exchange, name: string, { remaining }: LimitView): boolean {
  const { excess } = service.settings
  if (remaining > Math.max(0, -excess)) return true
  const overdrawn = account?.overdrawn.get(name) ?? 0
  if (overdrawn >= excess) return false
  account?.overdrawn.set(name, overdrawn + 1)
  return true
}

/** Counts the request against its limits; a refusal if one of them is used up. */
export function drawRequest(exchange: Exchange, draw: Draw): Refusal | null {
  const { account, service, now } = exchange
  if (account === null) return null
  const { variant, settings } = service
  const { counter = draw.name } = draw
  const limiter = limiterOf(account, counter, draw.limit, variant, settings)
  const requests = limiter.view(now)
  const tokens = draw.tokens === undefined ? null : viewOf(exchange, account, `${counter} tokens`, draw.tokens)
  if (allows(exchange, counter, requests) && (tokens === null || tokens.remaining > 0)) {
    if (requests.remaining > 0) limiter.draw(now, 1)
    if (variant.otherWindows === 'of-the-account' && draw.name !== 'account')
      limiterOf(account, 'account', service.catalog.others.other, variant, settings).draw(now, 1)
    showLimits(exchange, draw)
    return null
  }
  if (requests.remaining === 0) limiter.refuse(now)
  else if (variant.refusedCount) limiter.draw(now, 1)
  const exhausted = requests.remaining === 0 ? limiter.view(now) : (tokens ?? requests)
  showLimits(exchange, draw)
  const reset = ['x-ratelimit-reset-requests', seconds(exhausted.retryAt, variant)] as const
  exchange.limitHeaders = exchange.limitHeaders.map(header => (header[0] === reset[0] ? reset : header))
  const kind = requests.remaining === 0 ? 'RPM' : 'TPM'
  account.log.push({ keyId: exchange.keyId, subject: draw.name, kind, at: now })
  const message = `Rate limit of ${exhausted.limit} per minute exceeded for ${draw.name}`
  const type: readonly Header[] = variant.limitType === 'on-429' ? [['x-ratelimit-type', 'user']] : []
  return {
    status: 429,
    message,
    code: 'RATE_LIMIT_EXCEEDED',
    more: draw.isRpc ? { customMessage: message } : {},
    headers: draw.isRpc ? [...type, ...rpcHeaders(exhausted, now, variant)] : type,
  }
}

/** Counts the tokens of an accepted request. */
export function spendTokens(exchange: Exchange, { name, counter = name, tokens }: Draw, amount: number): void {
  const { account, service, now } = exchange
  if (account === null || tokens === undefined) return
  limiterOf(account, `${counter} tokens`, tokens, service.variant, service.settings).draw(now, amount)
}
