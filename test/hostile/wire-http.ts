import { gzipSync } from 'node:zlib'
import { drip, flood, type RawOptions, repeat, response } from './raw-target.ts'

/** A target, and the words in the report of a run against it. */
export type HostileTarget = readonly [name: string, target: RawOptions, words: RegExp]

const head = (lines: string): string => `HTTP/1.1 200 OK\r\n${lines}\r\n`
const json = 'content-type: application/json\r\n'
const chunked = `${json}transfer-encoding: chunked\r\n`
const always = (answer: string | Buffer): RawOptions => ({ onRequest: () => answer })
/** Writes this and ends the connection. */
const finally_ = (answer: string | Buffer): RawOptions => ({ onRequest: socket => void socket.end(answer, 'latin1') })

export const connectionTargets: readonly HostileTarget[] = [
  ['closes each connection', { onConnect: socket => socket.end() }, /connection-lost/],
  ['resets each connection', { onConnect: socket => socket.resetAndDestroy() }, /connection-lost/],
  ['never responds', {}, /headers-timeout/],
  ['closes without a response', { onRequest: socket => void socket.end() }, /connection-lost/],
  ['resets without a response', { onRequest: socket => void socket.resetAndDestroy() }, /connection-lost/],
  [
    'resets on the first byte of the request',
    { onConnect: socket => void socket.once('data', () => socket.resetAndDestroy()) },
    /connection-lost/,
  ],
  ['never reads the request', { onConnect: socket => void socket.pause() }, /headers-timeout/],
  ['sends its end and keeps reading', { onConnect: socket => void socket.end() }, /connection-lost/],
  [
    'responds before the request',
    { onConnect: socket => void socket.write(response('{}')) },
    /violation|connection-lost|protocol/,
  ],
  [
    'responds before the request and ends',
    { onConnect: socket => void socket.end(response('{}')) },
    /violation|connection-lost|protocol/,
  ],
]

export const headTargets: readonly HostileTarget[] = [
  ['another protocol', always('SSH-2.0-OpenSSH_9.6\r\n'), /protocol/],
  ['an HTTP/0.9 response', finally_('<html>hello</html>'), /protocol|connection-lost/],
  [
    'an HTTP/2 preface',
    finally_(Buffer.from([0, 0, 18, 4, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 100])),
    /protocol|connection-lost/,
  ],
  ['HTTP/3.0 in the status line', always('HTTP/3.0 200 OK\r\ncontent-length: 2\r\n\r\n{}'), /protocol/],
  ['a status of two digits', always('HTTP/1.1 99 No\r\ncontent-length: 2\r\n\r\n{}'), /protocol/],
  ['a status of four digits', always('HTTP/1.1 2000 OK\r\ncontent-length: 2\r\n\r\n{}'), /protocol/],
  ['a status of letters', always('HTTP/1.1 abc OK\r\ncontent-length: 2\r\n\r\n{}'), /protocol/],
  ['status 999', always('HTTP/1.1 999 No\r\ncontent-length: 2\r\n\r\n{}'), /999/],
  ['status 600 without a body', always('HTTP/1.1 600 No\r\ncontent-length: 0\r\n\r\n'), /600/],
  [
    'a status line without end',
    { onRequest: socket => flood(socket, 'HTTP/1.1 200 OKOKOKOKOK') },
    /protocol|headers-timeout/,
  ],
  ['a status line byte by byte', { onRequest: socket => drip(socket, 'HTTP/1.1 200 OK', 100) }, /headers-timeout/],
  ['100 and then nothing', always('HTTP/1.1 100 Continue\r\n\r\n'), /connection-lost|protocol|headers-timeout/],
  ['102 without end', { onRequest: socket => repeat(socket, 'HTTP/1.1 102 Wait\r\n\r\n', 50) }, /headers-timeout/],
  ['103 and then the end', finally_('HTTP/1.1 103 Early\r\nlink: </x>\r\n\r\n'), /connection-lost/],
  [
    '101 to a request without an upgrade',
    always('HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: upgrade\r\n\r\n'),
    /connection-lost|protocol/,
  ],
  [
    '204 with a body',
    always('HTTP/1.1 204 No Content\r\ncontent-length: 2\r\n\r\n{}'),
    /violation|protocol|connection-lost/,
  ],
  ['304 with a body', always('HTTP/1.1 304 Not Modified\r\ncontent-length: 2\r\n\r\n{}'), /violation/],
  ['a redirect to itself', always('HTTP/1.1 302 Found\r\nlocation: /\r\ncontent-length: 0\r\n\r\n'), /302|violation/],
  [
    'headers without end',
    { onRequest: socket => flood(socket, `${head('')}`.slice(0, -2) + 'x-a: b\r\n'.repeat(1_000)) },
    /protocol/,
  ],
  [
    'a header every 100 ms',
    {
      onRequest: socket => {
        socket.write('HTTP/1.1 200 OK\r\n')
        repeat(socket, 'x-a: b\r\n', 100)
      },
    },
    /headers-timeout/,
  ],
  ['a header without a colon', always(head('not a header\r\n')), /protocol/],
  ['a header without a name', always(`${head(': b\r\ncontent-length: 2\r\n')}{}`), /protocol/],
  ['a space before the colon', always(`${head('x-a : b\r\ncontent-length: 2\r\n')}{}`), /protocol/],
  ['a NUL in a header', always(`${head('x-a: b\0c\r\ncontent-length: 2\r\n')}{}`), /protocol/],
  ['a lone CR in a header', always(`${head('x-a: b\rc\r\ncontent-length: 2\r\n')}{}`), /protocol/],
  ['bytes above ASCII in a header', always(response('{}', `${json}x-a: \xff\xfe\x80\r\n`)), /violation/],
  ['a folded header', always(response('{}', `${json}x-a: b\r\n c\r\n`)), /violation|protocol/],
  ['a header value of 60 KiB', always(response('{}', `${json}x-a: ${'b'.repeat(60_000)}\r\n`)), /violation/],
  ['a header value of 70 KiB', always(response('{}', `${json}x-a: ${'b'.repeat(70_000)}\r\n`)), /protocol/],
  [
    'three hundred headers',
    always(response('{}', json + Array.from({ length: 300 }, (_, i) => `x-${i}: b\r\n`).join(''))),
    /violation/,
  ],
  ['each header twice', always(response('{}', `${json + json}x-request-id: a\r\nX-Request-Id: b\r\n`)), /violation/],
  [
    'headers named like properties',
    always(response('{}', `${json}__proto__: a\r\nconstructor: b\r\ntoString: c\r\nhasOwnProperty: d\r\n`)),
    /violation/,
  ],
  ['LF alone as line end', always('HTTP/1.1 200 OK\ncontent-length: 2\n\n{}'), /protocol/],
]

export const bodyTargets: readonly HostileTarget[] = [
  ['two different lengths', always(`${head('content-length: 2\r\ncontent-length: 3\r\n')}{}`), /protocol/],
  ['a negative length', always(`${head('content-length: -2\r\n')}{}`), /protocol/],
  ['a hexadecimal length', always(`${head('content-length: 0x2\r\n')}{}`), /protocol|violation/],
  ['a length above 64 bits', always(`${head('content-length: 99999999999999999999999\r\n')}{}`), /protocol/],
  ['a length and chunks', always(`${head(`content-length: 2\r\n${chunked}`)}2\r\n{}\r\n0\r\n\r\n`), /protocol/],
  ['an unknown transfer encoding', finally_(`${head(`${json}transfer-encoding: rot13\r\n`)}{}`), /violation/],
  ['a body shorter than its length', finally_(`${head(`${json}content-length: 50\r\n`)}{}`), /connection-lost/],
  ['a body that stops', always(`${head(`${json}content-length: 50\r\n`)}{}`), /idle-timeout/],
  ['a chunk without a size', always(`${head(chunked)}xyz\r\n{}\r\n`), /protocol/],
  ['a chunk size above 64 bits', always(`${head(chunked)}fffffffffffffffffff\r\n{}\r\n`), /protocol/],
  ['a chunk longer than its size', always(`${head(chunked)}1\r\n{}\r\n0\r\n\r\n`), /protocol/],
  [
    'chunks without end',
    {
      onRequest: socket => {
        socket.write(head(chunked))
        repeat(socket, '1\r\n \r\n', 50)
      },
    },
    /total-timeout/,
  ],
  ['trailers', always(`${head(chunked)}2\r\n{}\r\n0\r\nx-request-id: late\r\n\r\n`), /violation/],
  [
    'trailers without end',
    { onRequest: socket => flood(socket, `${head(chunked)}0\r\n${'x-a: b\r\n'.repeat(10_000)}`) },
    /protocol|total-timeout|idle-timeout/,
  ],
  [
    'a reset inside the body',
    {
      onRequest: socket => {
        socket.write(`${head(`${json}content-length: 50\r\n`)}{"a`, () =>
          setTimeout(() => socket.resetAndDestroy(), 20),
        )
      },
    },
    /connection-lost/,
  ],
  [
    'a body byte by byte',
    { onRequest: socket => drip(socket, `${head(`${json}content-length: 500\r\n`)}${' '.repeat(500)}`, 2) },
    /total-timeout|idle-timeout|headers-timeout/,
  ],
  [
    'a body without end',
    {
      onRequest: socket => {
        socket.write(head(json))
        flood(socket, 'x'.repeat(65_536))
      },
    },
    /body-too-large/,
  ],
  ['a body of 5 MiB', always(response(' '.repeat(5 * 1_048_576))), /body-too-large/],
  [
    'a gzip bomb',
    always(response(gzipSync(Buffer.alloc(200_000_000)), `${json}content-encoding: gzip\r\n`)),
    /violation/,
  ],
  ['bytes that are not gzip', always(response('{}', `${json}content-encoding: gzip\r\n`)), /violation/],
  [
    'half of a gzip body',
    always(response(gzipSync('{}').subarray(0, 12), `${json}content-encoding: gzip\r\n`)),
    /violation/,
  ],
  [
    'an unknown content encoding',
    always(response('{}', `${json}content-encoding: ${'z'.repeat(400)}\r\n`)),
    /violation/,
  ],
  ['a second response after the first', always(Buffer.concat([response('{}'), response('{}')])), /violation/],
  ['rubbish after each response', always(Buffer.concat([response('{}'), Buffer.from('rubbish')])), /violation/],
  ['the end after each response', finally_(response('{}', `${json}connection: close\r\n`)), /violation/],
  ['an unannounced end after each response', finally_(response('{}')), /violation/],
]
