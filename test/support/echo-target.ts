import { createServer, type Socket } from 'node:net'
import { brotliCompressSync, gzipSync } from 'node:zlib'

/** A request as a target reads it. */
export type ReadRequest = { readonly path: string; readonly wantsStream: boolean }

/** The bytes of a response with a text in it. `end`: the connection ends after them. */
export type Response = { readonly bytes: Buffer; readonly end: boolean }

/** A place in a response. `accepts`: whether the text may stand there. */
export type Place = {
  readonly name: string
  readonly accepts: (text: string) => boolean
  readonly respond: (text: string, request: ReadRequest) => Response
}

type Parts = {
  readonly status?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body: Buffer | string
}

export function http({ status = '400 Bad Request', headers = {}, body }: Parts): Response {
  const all = { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(body)), ...headers }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  const head = Buffer.from(`HTTP/1.1 ${status}\r\n${lines.join('')}\r\n`, 'latin1')
  return { bytes: Buffer.concat([head, Buffer.from(body)]), end: false }
}

const anywhere = () => true
const oneLine = (text: string): boolean => /^[\t\x20-\x7e]*$/.test(text)
const isToken = (text: string): boolean => /^[\w!#$%&'*+.^`|~-]+$/.test(text)

/** An error, with the text written into its JSON as it is, where that is valid JSON. */
const errorBody = (text: string): string => JSON.stringify({ error: { message: `Invalid key: ${text}`, code: 'KEY' } })

const completion = (text: string, more: object = {}) => ({
  id: 'chatcmpl-1',
  object: 'chat.completion',
  created: 1_700_000_000,
  model: 'm',
  choices: [{ index: 0, finish_reason: 'stop', logprobs: null, message: { role: 'assistant', content: text } }],
  usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
  ...more,
})

const chunkOf = (delta: object, more: object = {}): string =>
  JSON.stringify({ id: 'c', object: 'chat.completion.chunk', model: 'm', choices: [{ index: 0, delta }], ...more })

/** A stream of these events; an error of the same content for a request that wants no stream. */
const events = (request: ReadRequest, text: string, list: readonly string[]): Response =>
  request.wantsStream
    ? http({
        status: '200 OK',
        headers: { 'content-type': 'text/event-stream' },
        body: [...list, '[DONE]'].map(event => `data: ${event}\n\n`).join(''),
      })
    : http({ body: errorBody(text) })

const pieces = (text: string, size: number): readonly string[] => text.match(new RegExp(`.{1,${size}}`, 'gs')) ?? []

/** The places in which a target could send back a key. */
export const places: readonly Place[] = [
  {
    name: 'header values',
    accepts: oneLine,
    respond: text =>
      http({
        headers: { 'x-echo': text, 'set-cookie': `a=${text}`, 'x-service-version': text, 'cf-ray': text },
        body: '{}',
      }),
  },
  {
    name: 'long header values',
    accepts: oneLine,
    respond: text =>
      http({
        headers: Object.fromEntries(
          [460, 480, 490, 500, 505].map(length => [`x-long-${length}`, `${'x '.repeat(length / 2)}${text}`]),
        ),
        body: '{}',
      }),
  },
  { name: 'a header name', accepts: isToken, respond: text => http({ headers: { [`x-${text}`]: 'a' }, body: '{}' }) },
  { name: 'an error message', accepts: anywhere, respond: text => http({ body: errorBody(text) }) },
  {
    name: 'raw JSON',
    accepts: text => oneLine(text) && !/["\\]/.test(text.replace(/\\u[0-9a-f]{4}|\\\//gi, '')),
    respond: text => http({ body: `{"error":"Invalid key: ${text}"}` }),
  },
  {
    name: 'the names of JSON',
    accepts: anywhere,
    respond: text => http({ body: JSON.stringify({ error: 'No', [text]: { [text]: 1 } }) }),
  },
  {
    name: 'a completion with status 200',
    accepts: oneLine,
    respond: text =>
      http({
        status: '200 OK',
        headers: { 'x-service-model-id': text, 'x-service-model-name': text },
        body: JSON.stringify([completion(text, { id: text, model: text, [text]: text })][0]),
      }),
  },
  {
    name: 'a page',
    accepts: anywhere,
    respond: text => http({ headers: { 'content-type': 'text/html' }, body: `<p title="${text}">${text}</p>` }),
  },
  {
    name: 'a cut in a text',
    accepts: anywhere,
    respond: text =>
      http({ headers: { 'content-type': 'text/plain' }, body: `${' '.repeat(495 - (text.length % 7))}${text}` }),
  },
  {
    name: 'a cut in long JSON',
    accepts: anywhere,
    respond: text =>
      http({
        body: JSON.stringify({ error: `${'x '.repeat(112 + (text.length % 16))}${text}`, pad: 'p'.repeat(5_000) }),
      }),
  },
  { name: 'malformed JSON', accepts: anywhere, respond: text => http({ body: `{"error": ${text}, "n": ` }) },
  {
    name: 'a body that breaks off',
    accepts: anywhere,
    respond: text => {
      const whole = http({ headers: { 'content-length': '99999' }, body: `{"error":"Invalid key: ${text}` })
      return { bytes: whole.bytes, end: true }
    },
  },
  {
    name: 'compressed bodies',
    accepts: anywhere,
    respond: (text, { wantsStream }) =>
      wantsStream
        ? http({ headers: { 'content-encoding': 'br' }, body: brotliCompressSync(errorBody(text)) })
        : http({ headers: { 'content-encoding': 'gzip' }, body: gzipSync(errorBody(text)) }),
  },
  {
    name: 'the content type',
    accepts: oneLine,
    respond: text => http({ headers: { 'content-type': `text/plain; charset=${text}` }, body: 'no' }),
  },
  {
    name: 'the content encoding',
    accepts: oneLine,
    respond: text => http({ headers: { 'content-encoding': text }, body: 'no' }),
  },
  {
    name: 'a redirect',
    accepts: oneLine,
    respond: text => http({ status: '302 Found', headers: { location: `/login?key=${text}` }, body: '' }),
  },
  { name: 'the status text', accepts: oneLine, respond: text => http({ status: `500 ${text}`, body: '{}' }) },
  {
    name: 'trailers',
    accepts: oneLine,
    respond: text => ({
      bytes: Buffer.from(
        `HTTP/1.1 400 Bad Request\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\ntrailer: x-echo\r\n\r\n2\r\n{}\r\n0\r\nx-echo: ${text}\r\n\r\n`,
      ),
      end: false,
    }),
  },
  {
    name: 'no HTTP at all',
    accepts: oneLine,
    respond: text => ({ bytes: Buffer.from(`HTTP/1.1 200 OK\r\nx ${text}: : :\r\n${text}\r\n\r\n`), end: true }),
  },
  {
    name: 'deltas of a stream',
    accepts: anywhere,
    respond: (text, request) =>
      events(request, text, [
        chunkOf({ role: text, content: text }),
        ...pieces(text, 5).map(content => chunkOf({ content })),
        ...pieces(text, 11).map(content => chunkOf({ reasoning_content: content })),
      ]),
  },
  {
    name: 'events of a stream',
    accepts: anywhere,
    respond: (text, request) =>
      events(request, text, [
        chunkOf({ content: 'a' }, { id: text, model: text, object: text, [text]: 1 }),
        chunkOf({ tool_calls: [{ index: 0, function: { name: text } }] }),
        JSON.stringify({ choices: [{ index: text, finish_reason: text, stop_reason: text, delta: {} }] }),
        chunkOf({}, { usage: { [text]: text }, cost: { usd: text } }),
        `{"malformed": ${text.replace(/[\r\n]/g, '')}`,
      ]),
  },
  {
    name: 'an error in a stream',
    accepts: anywhere,
    respond: (text, request) =>
      events(request, text, [
        chunkOf({ content: 'a' }),
        JSON.stringify({ error: { type: text, code: text, message: text } }),
      ]),
  },
]

/** The key of a request, from its head. */
const keyIn = (head: string): string => (/\r\nauthorization: (.*)\r\n/i.exec(head)?.[1] ?? '').replace(/^\w+ /, '')

/**
 * A target that sends back the key of each request, each time in the next of these encodings, in one place. Listens on
 * a free port of this machine. `secretIn` reads something else than the key from the head of a request; where it gives a
 * response, nothing is sent back.
 */
export async function startEchoTarget(
  place: Place,
  encode: readonly ((key: string) => string)[],
  secretIn: (head: string) => string | Response = keyIn,
): Promise<{
  readonly port: number
  readonly sent: () => number
  readonly paths: () => readonly string[]
  readonly close: () => void
}> {
  let sent = 0
  const paths: string[] = []
  const sockets = new Set<Socket>()
  const server = createServer(socket => {
    sockets.add(socket)
    let text = ''
    socket.on('error', () => socket.destroy())
    socket.on('data', data => {
      text += data.toString('latin1')
      for (;;) {
        const head = /^[A-Z]+ (\S+) HTTP\/1\.1\r\n[\s\S]*?\r\n\r\n/.exec(text)
        if (head === null) return
        const length = Number(/\r\ncontent-length: (\d+)/i.exec(head[0])?.[1] ?? 0)
        if (text.length < head[0].length + length) return
        const body = text.slice(head[0].length, head[0].length + length)
        text = text.slice(head[0].length + length)
        const secret = secretIn(head[0])
        const request = { path: head[1] ?? '', wantsStream: body.includes('"stream":true') }
        paths.push(request.path)
        const textOf = (key: string): string => {
          const texts = encode.map(each => each(key)).filter(place.accepts)
          return texts[sent++ % texts.length] ?? ''
        }
        const response = typeof secret === 'string' ? place.respond(textOf(secret), request) : secret
        // In two reads, so that the text is split.
        const half = Math.floor(response.bytes.length / 2)
        socket.write(response.bytes.subarray(0, half))
        socket.write(response.bytes.subarray(half), () => {
          if (response.end) socket.destroy()
        })
      }
    })
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  return {
    port: typeof address === 'object' ? (address?.port ?? 0) : 0,
    sent: () => sent,
    paths: () => paths,
    close: () => {
      for (const socket of sockets) socket.destroy()
      server.close()
    },
  }
}
