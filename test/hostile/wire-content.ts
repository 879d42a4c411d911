import { chunk, flood, type RawOptions, repeat, response, stream, streamHead } from './raw-target.ts'
import type { HostileTarget } from './wire-http.ts'

const body = (text: string | Buffer): RawOptions => ({ onRequest: () => response(text) })
const events = (text: string | Buffer): RawOptions => ({ onRequest: stream(text) })

const token = chunk({ index: 0, delta: { content: 'a' } })
const usage = (value: string): string =>
  `{"id":"c","object":"chat.completion","created":1,"model":"m","choices":[],"usage":${value},"cost":${value}}`
/** `String` throws for it. */
const noText = { toString: 1, valueOf: 1 }
const rpc = { jsonrpc: '2.0', id: 1, result: '0x1' }

const completionOf = (any: unknown): string => {
  const message = { role: any, content: any, reasoning_content: any, tool_calls: [any] }
  const choices = [{ index: any, finish_reason: any, stop_reason: any, logprobs: any, message }]
  return JSON.stringify({ id: any, object: any, created: any, model: any, choices, usage: any, cost: any, error: any })
}

export const jsonTargets: readonly HostileTarget[] = [
  ['an empty body', body(''), /violation/],
  ['null', body('null'), /violation/],
  ['a number', body('1'), /violation/],
  ['half of an object', body('{"id":'), /violation/],
  ['100,000 nested lists', body('['.repeat(100_000) + ']'.repeat(100_000)), /violation/],
  ['100,000 nested objects', body(`${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`), /violation/],
  ['2,000 nested lists', body('['.repeat(2_000) + ']'.repeat(2_000)), /violation/],
  [
    'a completion with a text and 100,000 nested lists',
    body(`{"id":"a","object":"chat.completion","choices":[{"message":${'['.repeat(100_000)}${']'.repeat(100_000)}}]}`),
    /violation/,
  ],
  [
    'a result of 2,000 nested lists',
    body(`{"jsonrpc":"2.0","id":1,"result":${'['.repeat(1_900)}${']'.repeat(1_900)}}`),
    /violation/,
  ],
  ['10,000 responses to a batch', body(JSON.stringify(Array(10_000).fill(rpc))), /violation/],
  [
    '10,000 distinct responses to a batch',
    body(JSON.stringify(Array.from({ length: 10_000 }, (_, id) => ({ ...rpc, id })))),
    /violation/,
  ],
  ['a million numbers', body(`[${'1,'.repeat(1_000_000)}1]`), /violation/],
  ['50,000 members', body(`{${Array.from({ length: 50_000 }, (_, i) => `"k${i}":1`).join()}}`), /violation/],
  ['a text of 4 MB', body(JSON.stringify({ id: 'x'.repeat(4_000_000) })), /violation/],
  ['a member name of 4 MB', body(JSON.stringify({ ['x'.repeat(4_000_000)]: 1 })), /violation/],
  [
    'a number above any double',
    body(usage('{"prompt_tokens":1e999,"completion_tokens":-1e999,"total_tokens":1e999,"usd":1e999,"diem":-1e999}')),
    /violation/,
  ],
  [
    'a number of 10,000 digits',
    body(usage(`{"prompt_tokens":${'9'.repeat(10_000)},"usd":0.${'1'.repeat(10_000)}}`)),
    /violation/,
  ],
  [
    'the smallest numbers',
    body(usage('{"prompt_tokens":5e-324,"completion_tokens":-0,"total_tokens":-0.0,"usd":5e-324,"diem":-0}')),
    /violation/,
  ],
  [
    'negative numbers',
    body(usage('{"prompt_tokens":-1,"completion_tokens":-1,"total_tokens":-2,"usd":-5,"diem":-5}')),
    /violation/,
  ],
  [
    'texts as numbers',
    body(usage('{"prompt_tokens":"1e9","completion_tokens":"NaN","total_tokens":"","usd":"1e400","diem":"x"}')),
    /violation/,
  ],
  ['repeated members', body('{"id":1,"id":"x","jsonrpc":"2.0","jsonrpc":"1.0","result":1,"result":2}'), /violation/],
  [
    'members of the prototype',
    body('{"__proto__":{"usage":1},"constructor":{"prototype":{"x":1}},"toString":1,"hasOwnProperty":1}'),
    /violation/,
  ],
  ['a completion of objects without text', body(completionOf(noText)), /violation/],
  ['a batch of ids without text', body(JSON.stringify([{ ...rpc, id: noText, error: noText }])), /violation/],
  ['a list where objects are expected', body('[{"__proto__":[]},[[]],null,1,"x"]'), /violation/],
  ['lone surrogates', body('{"id":"\\ud800","error":{"message":"\\udfff","code":"\\ud83d"}}'), /violation/],
  ['a byte order mark', body('\ufeff{}'), /violation/],
  ['invalid UTF-8', body(Buffer.from([0x7b, 0x22, 0xff, 0xfe, 0x80, 0x22, 0x3a, 0x31, 0x7d])), /violation/],
  ['NULs', body(Buffer.alloc(1_000)), /violation/],
  [
    'control characters in an error',
    { onRequest: () => response('{"error":"\\u001b[2J\\u202e\\r\\n::error::x"}', undefined, '400 Bad Request') },
    /violation/,
  ],
]

export const streamTargets: readonly HostileTarget[] = [
  [
    'an event of 100,000 nested lists',
    events(`data: {"choices":${'['.repeat(100_000)}${']'.repeat(100_000)}}\n\ndata: [DONE]\n\n`),
    /violation/,
  ],
  [
    'deltas of objects without text',
    events(
      chunk({ index: noText, delta: { content: noText, reasoning_content: noText, reasoning: 'a', role: noText } }),
    ),
    /violation/,
  ],
  ['only the done marker', events('data: [DONE]\n\n'), /violation/],
  ['no event', events(''), /violation/],
  ['a line of 3 MB without end', events(`data: ${'x'.repeat(3_000_000)}`), /violation/],
  ['a line of 10 MB without end', events(`data: ${'x'.repeat(10_000_000)}`), /body-too-large/],
  ['an event of 2 MB', events(`data: {"a":"${'x'.repeat(2_000_000)}"}\n\ndata: [DONE]\n\n`), /violation/],
  ['a million empty lines', events('\n'.repeat(1_000_000)), /violation/],
  ['500,000 events without data', events('data:\n\n'.repeat(500_000)), /violation/],
  ['100,000 objects without members', events('data: {}\n\n'.repeat(100_000)), /violation/],
  ['an event of 300,000 data lines', events(`${'data: x\n'.repeat(300_000)}\n`), /violation/],
  [
    'comments without end',
    {
      onRequest: socket => {
        socket.write(streamHead)
        repeat(socket, ': wait\n\n', 100)
      },
    },
    /total-timeout/,
  ],
  [
    'tokens without end',
    {
      onRequest: socket => {
        socket.write(streamHead)
        repeat(socket, token, 50)
      },
    },
    /total-timeout/,
  ],
  [
    'tokens as fast as possible',
    {
      onRequest: socket => {
        socket.write(streamHead)
        flood(socket, token.repeat(1_000))
      },
    },
    /body-too-large|total-timeout/,
  ],
  [
    'parts in turn without end',
    {
      onRequest: socket => {
        socket.write(streamHead)
        flood(socket, (token + chunk({ index: 0, delta: { role: 'assistant' }, finish_reason: 'stop' })).repeat(500))
      },
    },
    /body-too-large|total-timeout/,
  ],
  ['a stream that stops', { onRequest: socket => void socket.write(streamHead + token) }, /idle-timeout/],
  [
    'a stream that is reset',
    {
      onRequest: socket => {
        socket.write(streamHead + token, () => setTimeout(() => socket.resetAndDestroy(), 20))
      },
    },
    /connection-lost/,
  ],
  [
    'an event with 10,000 choices',
    events(
      `data: ${JSON.stringify({ choices: Array.from({ length: 10_000 }, (_, index) => ({ index, delta: { content: 'x' }, finish_reason: `r${index}` })) })}\n\ndata: [DONE]\n\n`,
    ),
    /violation/,
  ],
  [
    '10,000 different ids',
    events(
      `${Array.from({ length: 10_000 }, (_, id) => `data: {"id":${id},"model":"${id}","choices":[{"index":${id}}]}\n\n`).join('')}data: [DONE]\n\n`,
    ),
    /violation/,
  ],
  [
    'members of the prototype',
    events('data: {"__proto__":{"choices":[]},"constructor":1,"choices":{"__proto__":[]}}\n\ndata: [DONE]\n\n'),
    /violation/,
  ],
  [
    'wrong types everywhere',
    events(
      'data: {"choices":[null,1,"x",{"delta":[]},{"delta":{"content":{},"tool_calls":[null,{"function":1}]}}],"usage":[],"cost":"x","error":0}\n\ndata: [DONE]\n\n',
    ),
    /violation/,
  ],
  [
    'numbers above any double',
    events(
      'data: {"choices":[],"created":1e999,"usage":{"prompt_tokens":1e999},"cost":{"usd":1e999,"diem":1e999}}\n\ndata: [DONE]\n\n',
    ),
    /violation/,
  ],
  [
    '100,000 nested lists',
    events(`data: {"choices":${'['.repeat(100_000)}${']'.repeat(100_000)}}\n\ndata: [DONE]\n\n`),
    /violation/,
  ],
  ['NULs', events(Buffer.alloc(10_000)), /violation/],
  [
    'invalid UTF-8',
    events(
      Buffer.concat([
        Buffer.from('data: {"choices":[{"delta":{"content":"'),
        Buffer.from([0xff, 0xc0, 0x80]),
        Buffer.from('"}}]}\n\n'),
      ]),
    ),
    /violation/,
  ],
  [
    'lone surrogates',
    events('data: {"id":"\\ud800","choices":[{"index":0,"delta":{"content":"\\udfff"}}]}\n\ndata: [DONE]\n\n'),
    /violation/,
  ],
  [
    'an error event',
    events(`${token}data: {"error":{"message":"x","type":"\\u001b[2J","code":null}}\n\n`),
    /stream-error/,
  ],
  [
    'a stream that claims to be compressed',
    {
      onRequest: socket => {
        socket.write(streamHead.replace('\r\n\r\n', '\r\ncontent-encoding: gzip\r\n\r\n'))
        socket.end(token)
      },
    },
    /violation/,
  ],
]
