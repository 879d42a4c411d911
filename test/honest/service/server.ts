import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Settings } from './accounts.ts'
import type { Lie } from './lies.ts'
import type { Wire } from './reply.ts'
import { base, createHonestService } from './service.ts'
import type { Variant } from './variant.ts'

export type Running = { readonly target: string; readonly close: () => Promise<void> }

const pause = (ms: number): Promise<void> => new Promise(resolve => setTimeout(resolve, ms))

/** Starts the service on a free port of this machine. */
export async function startService(
  variant: Variant,
  changes: Partial<Settings> = {},
  lies: readonly Lie[] = [],
): Promise<Running> {
  const world = { nowMs: () => Date.now(), pause, chance: () => Math.random() }
  const service = createHonestService(variant, changes, lies, world)
  const handle = async (request: IncomingMessage, response: ServerResponse) => {
    const { method = 'GET', url: path = '/', headers } = request
    await send(await service({ method, path, headers, body: await bodyOf(request) }), response)
  }
  const server = createServer((request, response) => {
    void handle(request, response).catch(() => response.destroy())
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

async function send({ status, headers, parts }: Wire, response: ServerResponse): Promise<void> {
  response.sendDate = false
  response.writeHead(status, [...headers])
  for (const { bytes, pauseMs } of parts) {
    if (response.destroyed) return
    response.write(bytes)
    if (pauseMs > 0) await pause(pauseMs)
  }
  response.end()
}
