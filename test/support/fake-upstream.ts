import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'

export type UpstreamRequest = {
  readonly path: string
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  // biome-ignore lint/suspicious/noExplicitAny: a test reads what it expects
  readonly body: any
}

type Respond = (request: UpstreamRequest, response: ServerResponse) => void | Promise<void>

export type FakeUpstream = {
  readonly origin: string
  /** All requests so far. */
  readonly requests: readonly UpstreamRequest[]
  /** Replaces the responder. */
  readonly become: (respond: Respond) => void
  readonly close: () => Promise<void>
}

/** A server on loopback that responds as a test wants. */
export async function startFakeUpstream(first: Respond): Promise<FakeUpstream> {
  const requests: UpstreamRequest[] = []
  let respond = first
  const server = createServer(async (incoming: IncomingMessage, response: ServerResponse) => {
    const body = await text(incoming)
    const request = { path: incoming.url ?? '', headers: incoming.headers, body: body === '' ? null : JSON.parse(body) }
    requests.push(request)
    await respond(request, response)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    become: next => {
      respond = next
    },
    close: () =>
      new Promise(resolve => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

export const sendJson = (response: ServerResponse, value: unknown, status = 200): void =>
  void response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value))

export const event = (value: unknown): string =>
  `data: ${typeof value === 'string' ? value : JSON.stringify(value)}\n\n`

export const chunk = (delta: unknown, more: object = {}) => ({
  id: 'fake',
  object: 'chat.completion.chunk',
  created: 1,
  model: 'fake-model',
  choices: [{ index: 0, delta, finish_reason: null, ...more }],
})

/** An OpenAI-compatible server: as many words as `max_tokens` allows, at most 12, each one token. */
export const openAiServer: Respond = ({ body }, response) => {
  const words = Array.from({ length: Math.min(12, body.max_tokens) }, (_, index) => `word${index}`)
  const usage = {
    prompt_tokens: 20,
    completion_tokens: words.length,
    total_tokens: 20 + words.length,
    prompt_tokens_details: { cached_tokens: 4 },
  }
  const finish = body.max_tokens > 12 ? 'stop' : 'length'
  if (body.stream !== true) {
    const message = { role: 'assistant', content: words.join(' '), refusal: null }
    const choices = [{ index: 0, message, finish_reason: finish, logprobs: null }]
    sendJson(response, { id: 'fake', object: 'chat.completion', created: 1, model: body.model, choices, usage })
    return
  }
  response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' })
  const events = [
    chunk({ role: 'assistant', content: '' }),
    ...words.map((word, index) => chunk({ content: index === 0 ? word : ` ${word}` })),
    chunk({}, { finish_reason: finish }),
    ...(body.stream_options?.include_usage === true ? [{ ...chunk({}), choices: [], usage }] : []),
    '[DONE]',
  ]
  for (const each of events) response.write(event(each))
  response.end()
}

type Item = { readonly id: number; readonly method: string; readonly params: readonly unknown[] }

/** A node that returns the method. It fails what has the parameter "invalid", and answers a batch in reverse order. */
export const rpcServer: Respond = ({ body }, response) => {
  const answer = ({ id, method, params }: Item) =>
    params[0] === 'invalid'
      ? { jsonrpc: '2.0', id, error: { code: -32_000, message: 'bad address', data: [1] } }
      : { jsonrpc: '2.0', id, result: method }
  sendJson(response, Array.isArray(body) ? body.map(answer).reverse() : answer(body))
}
