import { UpstreamError } from './failure.ts'

/** A server that the service forwards to. */
export type Upstream = {
  /** Posts JSON. Rejects with an `UpstreamError`; also when `signal` aborts. */
  readonly post: (place: Place, body: string, signal: AbortSignal) => Promise<UpstreamReply>
  /** Tells the operator of the service about a failure. Callers do not see it. */
  readonly warn: (note: string) => void
  readonly close: () => Promise<void>
}

/** What follows the URL, and what replaces `{network}` in it. */
type Place = { readonly path?: string; readonly network?: string }

export type UpstreamReply = {
  readonly status: number
  readonly contentType: string
  /** The header `Retry-After`; null if there is none. */
  readonly retryAfter: string | null
  /** Iterating rejects with an `UpstreamError`. Ending it early closes the connection. */
  readonly body: AsyncIterable<Buffer>
}

/** The whole body as a text. Throws an `UpstreamError` if it is longer than `maxBytes`. */
export async function wholeText({ body }: UpstreamReply, maxBytes: number): Promise<string> {
  const parts: Buffer[] = []
  let bytes = 0
  for await (const part of body) {
    bytes += part.length
    if (bytes > maxBytes) throw new UpstreamError(500, `An upstream sent more than ${maxBytes} bytes.`)
    parts.push(part)
  }
  return Buffer.concat(parts).toString('utf8')
}

/** The data of an event of a stream, or a comment that keeps it alive. */
export type ServerEvent = { readonly kind: 'data' | 'comment'; readonly text: string }

const maxEventCharacters = 4_194_304

/** The events of a stream, as many at a time as one read completes. */
export async function* serverEvents(body: AsyncIterable<Buffer>): AsyncIterable<readonly ServerEvent[]> {
  const decoder = new TextDecoder()
  let rest = ''
  for await (const part of body) {
    rest += decoder.decode(part, { stream: true })
    // A carriage return may be the first half of a line end.
    const held = rest.endsWith('\r') ? '\r' : ''
    const lines = rest
      .slice(0, rest.length - held.length)
      .replaceAll('\r\n', '\n')
      .replaceAll('\r', '\n')
    const end = lines.lastIndexOf('\n\n')
    rest = (end < 0 ? lines : lines.slice(end + 2)) + held
    if (rest.length > maxEventCharacters) throw new UpstreamError(500, 'An upstream sent an event without an end.')
    if (end >= 0) yield lines.slice(0, end).split('\n\n').flatMap(eventOf)
  }
  const last = (rest + decoder.decode()).trim()
  if (last !== '') yield eventOf(last)
}

function eventOf(text: string): readonly ServerEvent[] {
  const lines = text.split('\n')
  const data = lines.filter(line => line.startsWith('data:')).map(line => line.slice(5).replace(/^ /, ''))
  if (data.length > 0) return [{ kind: 'data', text: data.join('\n') }]
  return lines.filter(line => line.startsWith(':')).map(line => ({ kind: 'comment', text: line }) as const)
}
