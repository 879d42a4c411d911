import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'

type Response = { readonly status: number; readonly type: string; readonly body: string }
type Change = (response: Response, request: string) => Partial<Response>

/** What `use` makes of a target behind a proxy that changes its responses. */
export async function behindProxy<Result>(
  origin: string,
  change: Change,
  use: (origin: string) => Promise<Result>,
): Promise<Result> {
  const server = createServer(async (incoming, outgoing) => {
    const request = await text(incoming)
    const response = await fetch(`${origin}${incoming.url}`, {
      method: incoming.method ?? 'GET',
      headers: { 'content-type': 'application/json' },
      body: request === '' ? null : request,
    })
    const body = await response.text()
    const honest = { status: response.status, type: response.headers.get('content-type') ?? '', body }
    const { status, type, body: sent } = { ...honest, ...change(honest, request) }
    outgoing.writeHead(status, { 'content-type': type })
    outgoing.end(sent)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  try {
    return await use(originOf(server))
  } finally {
    server.closeAllConnections()
    server.close()
  }
}

export const originOf = (server: Server): string => `http://127.0.0.1:${(server.address() as AddressInfo).port}`
