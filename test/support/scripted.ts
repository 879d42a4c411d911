import { isObject, parseJson } from '../../src/lib/json.ts'
import type { Exchange, HttpRequest, Transport } from '../../src/produce/transport/transport.ts'
import { answerByProtocol } from '../../src/service/rpc/item.ts'

export type Scripted = {
  readonly status?: number
  readonly type?: string
  readonly body?: string
  readonly events?: readonly string[]
}

/** A target that answers every request at once. */
export const scripted =
  (answer: (request: HttpRequest, body: unknown) => Scripted): Transport =>
  async request => {
    const {
      status = 200,
      type = 'application/json',
      body = '',
      events,
    } = answer(request, parseJson(request.body ?? ''))
    if (events !== undefined) request.onStreamBytes?.(Buffer.from(events.map(data => `data: ${data}\n\n`).join('')), 0)
    const headers = { 'content-type': events === undefined ? type : 'text/event-stream' }
    return exchange({ status, headers, body: Buffer.from(body) })
  }

export const exchange = (more: Partial<Exchange>): Exchange => ({
  sentMs: 0,
  headersMs: 0,
  endMs: 0,
  status: 200,
  headers: {},
  body: Buffer.alloc(0),
  bytes: 0,
  failure: null,
  ...more,
})

/** Answers as a node does: with a result or an error, at any path. */
export const nodeServer = scripted(({ method, body: text }, body) => {
  if (method === 'GET') return { status: 405 }
  const run = ({ id }: { readonly id: unknown }) => ({ jsonrpc: '2.0', id, result: '0x1' })
  const isKnown = (name: string) => name !== 'eth_noSuchMethod'
  const byProtocol = answerByProtocol(text ?? '', { batchLimit: 2_000, isKnown, run })
  if (byProtocol !== null) return { body: byProtocol }
  const answer = (item: unknown) => {
    const { id = null, method: name } = isObject(item) ? item : {}
    return name === 'eth_blockNumber'
      ? { jsonrpc: '2.0', id, result: '0x1' }
      : { jsonrpc: '2.0', id, error: { code: -32601, message: 'the method does not exist' } }
  }
  return { body: JSON.stringify(Array.isArray(body) ? body.map(answer) : answer(body)) }
})
