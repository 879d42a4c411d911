import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import express, { type Request, type RequestHandler, type Response } from 'express'
import { rateLimit } from 'express-rate-limit'
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible'
import type { TestContext } from 'vitest'

/** The limiter of a public package, and the standard of its headers. */
export const limiters = [
  ...(['legacy', 'draft-6', 'draft-7', 'draft-8'] as const),
  ...(['rate-limiter-flexible', 'rate-limiter-flexible-evenly', 'rate-limiter-flexible-blocking'] as const),
] as const
export type Limiter = (typeof limiters)[number]

/** What a gateway does to a response, or instead of its limiter. */
export type Bug = {
  /** The limit that it enforces; by default the one that it states. */
  readonly enforces?: number
  /** Changes the headers of a response before they are sent. */
  readonly headers?: (response: Response) => void
  /** Replaces the limiter. */
  readonly instead?: () => RequestHandler
}

export const limit = 6
export const windowMs = 5_000

const keyOf = (request: Request): string => request.headers.authorization ?? 'anonymous'

/** What it does beside a fixed window: it delays requests, so that they are spread over it, or a refusal lasts longer. */
const flexibly = {
  'rate-limiter-flexible': {},
  'rate-limiter-flexible-evenly': { execEvenly: true, execEvenlyMinDelayMs: 20 },
  'rate-limiter-flexible-blocking': { blockDuration: 8 },
} as const

const flexible = (kind: keyof typeof flexibly, points: number): RequestHandler => {
  const limiter = new RateLimiterMemory({ points, duration: windowMs / 1_000, ...flexibly[kind] })
  return async (request, response, next) => {
    const state = await limiter.consume(keyOf(request)).catch((refused: unknown) => refused)
    if (!(state instanceof RateLimiterRes)) return next(state)
    response.set({
      'X-RateLimit-Limit': String(limit),
      'X-RateLimit-Remaining': String(state.remainingPoints),
      'X-RateLimit-Reset': String(Math.ceil((Date.now() + state.msBeforeNext) / 1_000)),
    })
    if (state.consumedPoints <= points) return next()
    response.set('Retry-After', String(Math.ceil(state.msBeforeNext / 1_000)))
    response.status(429).json({ error: { message: 'Too many requests' } })
  }
}

const usual = (kind: Exclude<Limiter, keyof typeof flexibly>, enforced: number): RequestHandler =>
  rateLimit({
    windowMs,
    limit: enforced,
    legacyHeaders: kind === 'legacy',
    standardHeaders: kind === 'legacy' ? false : kind,
    keyGenerator: keyOf,
    validate: false,
    message: { error: { message: 'Too many requests' } },
  })

const hash = `0x${'1'.repeat(64)}`
const chain: Readonly<Record<string, unknown>> = {
  ...{ eth_blockNumber: '0x0', eth_chainId: '0x7a69', eth_gasPrice: '0x1', eth_getTransactionCount: '0x0' },
  ...{ eth_getBalance: '0x0', eth_call: '0x', eth_getLogs: [] },
  eth_getBlockByNumber: { number: '0x0', hash, parentHash: `0x${'0'.repeat(64)}`, stateRoot: hash, transactions: [] },
}
const parameters: Readonly<Record<string, number>> = { eth_getBalance: 1, eth_getTransactionCount: 1, eth_call: 1 }

function node(item: unknown): object {
  const { id = null, method = '', params = [] } = (item ?? {}) as Record<string, unknown>
  const head = { jsonrpc: '2.0', id }
  const result = chain[String(method)]
  if (result === undefined) return { ...head, error: { code: -32601, message: 'Method not found' } }
  const isComplete = Array.isArray(params) && params.length >= (parameters[String(method)] ?? 0)
  return isComplete ? { ...head, result } : { ...head, error: { code: -32602, message: 'Invalid params' } }
}

/** An OpenAI-compatible gateway as a startup would write it, on a free port of this machine. At `/` it is a node. */
export async function startGateway(
  kind: Limiter,
  bug: Bug = {},
): Promise<{ readonly url: string; readonly server: Server }> {
  const app = express()
  app.use(express.json())
  app.use((_, response, next) => {
    const { writeHead } = response
    // The headers of a limiter are known when the head is written.
    response.writeHead = ((_status: number, ...given: []) => {
      bug.headers?.(response)
      return writeHead.apply(response, [response.statusCode, ...given])
    }) as typeof writeHead
    next()
  })
  app.get('/v1/models', (_, response) => {
    response.json({ object: 'list', data: [{ id: 'tiny', object: 'model', created: 1_700_000_000, owned_by: 'acme' }] })
  })
  const enforced = bug.enforces ?? limit
  app.use(
    '/v1/chat',
    bug.instead?.() ??
      (kind in flexibly
        ? flexible(kind as keyof typeof flexibly, enforced)
        : usual(kind as Exclude<Limiter, keyof typeof flexibly>, enforced)),
  )
  let made = 0
  app.post('/v1/chat/completions', (request, response) => {
    const head = { id: `chatcmpl-${++made}`, created: Math.floor(Date.now() / 1_000), model: 'tiny' }
    const usage = { prompt_tokens: 5, completion_tokens: 1, total_tokens: 6 }
    const { stream = false, stream_options: options } = request.body as Record<string, unknown>
    if (stream !== true) {
      const choice = { index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }
      return response.json({ ...head, object: 'chat.completion', choices: [choice], usage })
    }
    response.setHeader('Content-Type', 'text/event-stream')
    const send = (choices: readonly object[], more = {}) =>
      response.write(`data: ${JSON.stringify({ ...head, object: 'chat.completion.chunk', choices, ...more })}\n\n`)
    send([{ index: 0, delta: { role: 'assistant', content: 'Hi' }, finish_reason: null }])
    send([{ index: 0, delta: {}, finish_reason: 'stop' }])
    if (typeof options === 'object') send([], { usage })
    return response.end('data: [DONE]\n\n')
  })
  // A development chain without a block.
  app.post('/', (request, response) => {
    const answers = [request.body].flat().map(node)
    response.json(Array.isArray(request.body) ? answers : answers[0])
  })
  app.use((_, response) => {
    response.status(404).json({ error: { message: 'No such path' } })
  })
  const server = await new Promise<Server>(resolve => {
    const listening: Server = app.listen(0, '127.0.0.1', () => resolve(listening))
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`, server }
}

/** The address of such a gateway, which ends with the test. */
export async function gatewayForTest(
  onTestFinished: TestContext['onTestFinished'],
  ...terms: Parameters<typeof startGateway>
): Promise<string> {
  const { url, server } = await startGateway(...terms)
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return url
}
