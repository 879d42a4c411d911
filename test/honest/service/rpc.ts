import { charge, funds, type Kept, rounded } from './accounts.ts'
import type { Chain } from './catalog.ts'
import { noBalance, otherLimit } from './chat.ts'
import { isObject } from './chat-request.ts'
import { type Draw, digest, drawRequest, type Exchange, showLimits } from './exchange.ts'
import { execute, multiplierOf, unsupported } from './nodes.ts'
import { invalid, type Refusal } from './refusals.ts'
import { type Header, type Json, json, type Reply, withHeader } from './reply.ts'
import type { Variant } from './variant.ts'

export const isReply = (answer: Reply | Refusal): answer is Reply => 'body' in answer

/** Answers a POST to the proxy of a network. */
export async function rpc(exchange: Exchange, slug: string): Promise<Reply | Refusal> {
  const { service, account, headers } = exchange
  if (account === null) return invalid('no account')
  const { variant, settings, catalog } = service
  const draw: Draw = {
    name: 'rpc',
    counter: variant.rpcWindows === 'per-network' ? `rpc ${slug}` : 'rpc',
    limit: catalog.rpcRequests,
    isRpc: true,
  }
  const key = headers['idempotency-key']
  const kept = typeof key === 'string' ? account.kept.get(key) : undefined
  const content = `${slug} ${digest(exchange.body)}`
  const isReplay = kept !== undefined && kept.content === content && kept.at + settings.keptMs > exchange.now
  const isFree = isReplay && !variant.replaysCount
  const early = variant.invalidCount && !isFree ? drawRequest(exchange, draw) : null
  if (early !== null) return early
  showLimits(exchange, draw)
  const chain = catalog.chains.find(other => other.slug === slug)
  if (chain === undefined) return invalid(`Unsupported RPC network: ${slug}`)
  if (typeof key === 'string' && !/^[A-Za-z0-9_-]{1,255}$/.test(key)) {
    return invalid('Idempotency-Key must have 1 to 255 letters, digits, underscores and hyphens')
  }
  const items = parseItems(exchange.body, chain, settings.batchItems, variant.methodLists)
  if ('message' in items) return items
  const late = !variant.invalidCount && !isFree ? drawRequest(exchange, draw) : null
  if (late !== null) return late
  if (typeof key !== 'string') return run(exchange, chain, items)
  if (kept !== undefined && kept.at + settings.keptMs > exchange.now) {
    if (kept.content !== content) return invalid('This idempotency key was used with another body')
    if (kept.reply === null && variant.races === 'waits') await kept.done
    if (kept.reply !== null) return replayed(exchange, kept.reply)
    if (variant.races === 'conflict') {
      return { status: 409, message: 'A request with this key is in progress', code: 'IN_PROGRESS' }
    }
    // It is not a replay, so it counts.
    return (isFree ? drawRequest(exchange, draw) : null) ?? run(exchange, chain, items)
  }
  let settle = () => {}
  const done = new Promise<void>(resolve => {
    settle = resolve
  })
  const entry: Kept = { content, at: exchange.now, reply: null, done }
  account.kept.set(key, entry)
  const answer = await run(exchange, chain, items)
  if (isReply(answer)) entry.reply = answer
  else account.kept.delete(key)
  settle()
  return answer
}

function replayed({ service }: Exchange, reply: Reply): Reply {
  const { replayCredits, replayRequestId } = service.variant
  let again = withHeader(reply, 'Idempotent-Replayed', 'true')
  if (replayCredits === 'zero') {
    again = withHeader(withHeader(again, 'X-Service-RPC-Credits', '0'), 'X-Service-RPC-Cost-USD', '0.00000000')
  }
  return replayRequestId === 'new' ? withHeader(again, 'X-Request-ID', service.nextId()) : again
}

type Items = { readonly batch: boolean; readonly list: readonly Json[] }

/** The items of the body, or why the whole request is refused. */
function parseItems(text: string, chain: Chain, most: number, lists: Variant['methodLists']): Items | Refusal {
  let body: unknown
  try {
    body = JSON.parse(text)
  } catch {
    return invalid('The body is not JSON')
  }
  const list: readonly unknown[] = Array.isArray(body) ? body : [body]
  if (list.length === 0) return invalid('A batch must not be empty')
  if (list.length > most) return invalid(`A batch may have at most ${most} items`)
  const wrong = list.find(
    item =>
      !isObject(item) ||
      typeof item.method !== 'string' ||
      (item.jsonrpc !== undefined && item.jsonrpc !== '2.0') ||
      (item.params !== undefined && !Array.isArray(item.params)),
  )
  if (wrong !== undefined) return invalid('Each item needs a method as text, jsonrpc "2.0", and params as a list')
  const items = list as readonly Json[]
  const methods = new Set(items.map(({ method }) => `${method}`))
  const offending = [...methods].filter(method => unsupported(chain, method, lists))
  if (offending.length > 0) return invalid(`Unsupported methods on ${chain.slug}: ${offending.join(', ')}`)
  return { batch: Array.isArray(body), list: items }
}

/** Asks the node, charges the caller, and builds the response. */
async function run(exchange: Exchange, chain: Chain, { batch, list }: Items): Promise<Reply | Refusal> {
  const { service, account } = exchange
  if (account === null) return invalid('no account')
  const { variant, settings, catalog } = service
  const full = list.map(({ method }) => chain.base * multiplierOf(`${method}`))
  const estimate = full.reduce((sum, credits) => sum + credits, 0) * catalog.credit
  if (funds(account) < estimate) return noBalance()
  await service.pause(2 + service.chance() * 8)
  const answers = list.map(item => execute(chain, item, exchange.now))
  const discounted = batch || variant.singleError === 'five'
  const credits = answers
    .map((answer, index) => ('error' in answer && discounted ? settings.errorItemCredits : (full[index] ?? 0)))
    .reduce((sum, item) => sum + item, 0)
  const amount = credits * catalog.credit
  charge(account, amount, variant)
  const headers: readonly Header[] = [
    ['X-Service-RPC-Credits', `${credits}`],
    ['X-Service-RPC-Cost-USD', rounded(amount, variant.costDecimals)],
    ['X-Request-ID', service.nextId()],
  ]
  return json(200, batch ? ordered(answers, exchange) : answers[0], headers)
}

function ordered(answers: readonly Json[], { service }: Exchange): readonly Json[] {
  switch (service.variant.batchOrder) {
    case 'as-sent':
      return answers
    case 'reversed':
      return answers.toReversed()
    case 'shuffled':
      return answers
        .map(answer => ({ answer, at: service.chance() }))
        .toSorted((a, b) => a.at - b.at)
        .map(({ answer }) => answer)
  }
}

/** The limit of everything that is neither text nor RPC nor media. */
export function drawOther(exchange: Exchange): Refusal | null {
  return drawRequest(exchange, otherLimit(exchange))
}
