import type { WireRequest } from './transport.ts'

/** Where requests go: their `host`, and what is put in front of their paths. */
export type Base = { readonly host: string; readonly pathPrefix: string }

/** A request as it goes over a connection of HTTP/1.1 that is kept open. */
export function requestText(
  { method, path, headers, body }: Pick<WireRequest, 'method' | 'path' | 'headers' | 'body'>,
  { host, pathPrefix }: Base,
): string {
  let text = `${method} ${pathPrefix}${path} HTTP/1.1\r\nhost: ${host}\r\nconnection: keep-alive\r\n`
  for (const name in headers) text += `${name}: ${headers[name]}\r\n`
  return body === null ? `${text}\r\n` : `${text}content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
}
