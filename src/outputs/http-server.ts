import { createServer, type RequestListener, type ServerResponse } from 'node:http'
import { UsageError } from '../lib/usage-error.ts'

/** The text that Prometheus scrapes, in a format that the `Accept` header of the request names. */
export type Exposition = (accept: string) => Promise<{ readonly contentType: string; readonly text: string }>

export type HttpServer = { readonly port: number; readonly close: () => Promise<void> }

/** Serves `/metrics`, on the loopback interface unless `host` is given. Rejects if it cannot listen. */
export function startHttpServer(
  address: { readonly host?: string; readonly port: number },
  render: Exposition,
): Promise<HttpServer> {
  return listen(address, (request, response) => {
    const path = request.url?.split('?')[0]
    if (path !== '/metrics') return respond(response, 404, 'text/plain', 'The metrics are at /metrics.\n')
    if (request.method !== 'GET' && request.method !== 'HEAD')
      return respond(response, 405, 'text/plain', 'Only GET and HEAD are allowed.\n')
    render(request.headers.accept ?? '').then(
      ({ contentType, text }) => respond(response, 200, contentType, text),
      (fault: unknown) => respond(response, 500, 'text/plain', `${fault}\n`),
    )
  })
}

/** A browser opens at most six connections. More would only take file descriptors from the load. */
const maxConnections = 128

/** Serves requests, on the loopback interface unless `host` is given. Rejects if it cannot listen. */
export function listen(
  { host = '127.0.0.1', port }: { readonly host?: string; readonly port: number },
  handle: RequestListener,
): Promise<HttpServer> {
  const server = createServer(handle)
  server.maxConnections = maxConnections
  return new Promise((resolve, reject) => {
    // A connection that cannot be accepted later, as without file descriptors, must not end the run.
    server.on('error', reject)
    server.listen(port, host, () => {
      const address = server.address()
      const bound = address !== null && typeof address === 'object' ? address.port : port
      resolve({
        port: bound,
        close: () =>
          new Promise(closed => {
            server.close(() => closed())
            // A scraper keeps its connection open, and the server would wait for it.
            server.closeAllConnections()
          }),
      })
    })
  })
}

export function respond(
  response: ServerResponse,
  status: number,
  contentType: string,
  body: string,
  headers: Readonly<Record<string, string>> = {},
): void {
  response.writeHead(status, { ...headers, 'content-type': contentType }).end(body)
}

export type Address = { readonly host: string; readonly port: number }

/** The address `[host]:port` of a flag; with `allowsPort`, also a port alone. Throws a UsageError. */
export function parseAddress(
  flag: string,
  given: string,
  { usualPort, allowsPort }: { readonly usualPort: number; readonly allowsPort: boolean },
): Address {
  const isPort = /^\d{1,5}$/.test(given)
  const address = isPort && allowsPort ? `:${given}` : given
  const match = /^([^\s:]*|\[[0-9a-f:.]+\]):(\d{1,5})$/i.exec(address)
  const port = Number(match?.[2])
  if (match !== null && port <= 65_535) return { host: match[1]?.replace(/^\[|\]$/g, '') || '127.0.0.1', port }
  const hint = isPort && !allowsPort ? { hint: `did you mean ":${given}"?` } : {}
  const expected = `[host]:port with a port of at most 65535, such as :${usualPort}`
  throw new UsageError({ where: flag, got: JSON.stringify(given), expected, ...hint })
}

/** Listens at the address of a flag until the returned function is called. Throws a UsageError if it cannot listen. */
export async function reserveAddress(flag: string, address: Address): Promise<() => Promise<void>> {
  const server = await listen(address, () => {}).catch(cause => {
    throw listenMistake(cause, { ...address, hostFlag: flag, portFlag: flag })
  })
  return server.close
}

/** An address to listen on, and the flags that state it. */
type Listening = Address & { readonly hostFlag: string; readonly portFlag: string }

/** The UsageError for an address that this program cannot listen on, with the number of the port. */
export function listenMistake(cause: unknown, { host, port, hostFlag, portFlag }: Listening): UsageError {
  const code = String((cause as NodeJS.ErrnoException).code)
  if (['ENOTFOUND', 'EADDRNOTAVAIL', 'EAI_AGAIN', 'EINVAL'].includes(code))
    return new UsageError({ where: hostFlag, got: JSON.stringify(host), expected: 'an address of this machine' })
  const why = { EADDRINUSE: 'another program uses', EACCES: 'only an administrator may use' }[code]
  const got = why === undefined ? `port ${port} (${code})` : `port ${port}, which ${why}`
  return new UsageError({ where: portFlag, got, expected: 'a free port, or 0 for any free one' })
}
