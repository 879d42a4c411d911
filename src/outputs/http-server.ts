import { createServer, type RequestListener, type ServerResponse } from 'node:http'

/** The text that Prometheus scrapes. */
export type Exposition = { readonly contentType: string; readonly render: () => Promise<string> }

export type HttpServer = { readonly port: number; readonly close: () => Promise<void> }

/** Serves `/metrics`, on the loopback interface unless `host` is given. Rejects if it cannot listen. */
export function startHttpServer(
  options: Exposition & { readonly host?: string; readonly port: number },
): Promise<HttpServer> {
  const { contentType, render, ...address } = options
  return listen(address, (request, response) => {
    const path = request.url?.split('?')[0]
    if (path !== '/metrics') return respond(response, 404, 'text/plain', 'The metrics are at /metrics.\n')
    if (request.method !== 'GET' && request.method !== 'HEAD')
      return respond(response, 405, 'text/plain', 'Only GET and HEAD are allowed.\n')
    render().then(
      text => respond(response, 200, contentType, text),
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
