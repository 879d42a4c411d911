import { describe, expect, test } from 'vitest'
import type { StreamPart, StreamRecord } from '../../../../src/observation/observation.ts'
import {
  accusations,
  accusesEach,
  chatDescriptor,
  completion,
  judgedCount,
  observed,
  responseOf,
  sparesEach,
  streamObserved,
  tokenHeaders,
} from './observed.ts'

const failed = (reason: 'stream-truncated' | 'stream-malformed' | 'stream-error' | 'connection-lost') => ({
  outcome: { kind: 'failed' as const, reason, detail: '' },
})
const parts = (text: string): Pick<StreamRecord, 'grammar'> => ({
  grammar: text.split(' ').map(part => [part as StreamPart, 1] as const),
})
/** As a server writes that sends a chunk without a token between any two with one. */
const restless = Array.from({ length: 64 }, (_, index) => [index % 2 === 0 ? 'content' : 'empty', 1] as const)

describe('streams', () => {
  sparesEach({
    'a stream as documented': streamObserved({}),
    'usage in the chunk with the finish reason': streamObserved(parts('role content finish usage done')),
    'reasoning before the answer': streamObserved(parts('role reasoning content finish usage done')),
    'tool calls': streamObserved({ ...parts('role tool-call finish usage done'), finishReasons: ['tool_calls'] }),
    'chunks without a token in between': streamObserved(
      parts('role empty content empty content finish empty usage done'),
    ),
    'a stream whose beginning alone was kept': streamObserved({ grammar: restless }),
    'no cost': streamObserved({ cost: null }),
    'an error that the service reported, which is a failure': streamObserved(
      {
        ...parts('role content error done'),
        finishReasons: [],
        usage: null,
        cost: null,
        error: { type: 'server_error' },
      },
      failed('stream-error'),
    ),
    'a connection that was lost': streamObserved(
      { ...parts('role content'), finishReasons: [], usage: null, cost: null },
      failed('connection-lost'),
    ),
  })

  accusesEach({
    'a stream that comes as JSON': [
      'chat.stream.content-type',
      'content-type is "application/json", expected text/event-stream',
      observed({ ...chatDescriptor, stream: true }, responseOf(200, completion, tokenHeaders)),
    ],
    'two ids': [
      'chat.stream.chunk',
      'chunks have object ["chat.completion.chunk"], id ["a","b"], model ["ref-small-24b"], expected one of each, object chat.completion.chunk',
      streamObserved({ ids: ['a', 'b'] }),
    ],
    'an object of its own': [
      'chat.stream.chunk',
      'chunks have object ["chunk"], id ["chatcmpl-1"], model ["ref-small-24b"], expected one of each, object chat.completion.chunk',
      streamObserved({ objects: ['chunk'] }),
    ],
    'an event that is cut off': [
      'chat.stream.chunk',
      'an event is "{\\"id\\":", expected a JSON object',
      streamObserved(
        { ...parts('role content malformed finish usage done'), malformed: ['{"id":'] },
        failed('stream-malformed'),
      ),
    ],
    'a stream without its marker': [
      'chat.stream.done',
      'the stream is role content finish usage, expected one [DONE] at its end',
      streamObserved(parts('role content finish usage'), failed('stream-truncated')),
    ],
    'usage behind the marker': [
      'chat.stream.done',
      'the stream is role content finish done after-done, expected one [DONE] at its end',
      streamObserved({ ...parts('role content finish done after-done'), usage: null, cost: null }),
    ],
    'a finish reason that is told twice': [
      'chat.stream.finish',
      'the stream is role content finish×2 usage done, expected one finish reason after the last token',
      streamObserved({
        grammar: [
          ['role', 1],
          ['content', 1],
          ['finish', 2],
          ['usage', 1],
          ['done', 1],
        ],
      }),
    ],
    'no finish reason': [
      'chat.stream.finish',
      'the stream is role content usage done, expected one finish reason after the last token',
      streamObserved({ ...parts('role content usage done'), finishReasons: [] }),
    ],
    'a token behind the finish reason': [
      'chat.stream.finish',
      'the stream is role content finish content usage done, expected one finish reason after the last token',
      streamObserved(parts('role content finish content usage done')),
    ],
    'no usage': [
      'chat.stream.usage',
      'the stream is role content finish done, expected usage once',
      streamObserved({ ...parts('role content finish done'), usage: null, cost: null }),
    ],
    'usage twice': [
      'chat.stream.usage',
      'the stream is role content finish usage usage done, expected usage once',
      streamObserved(parts('role content finish usage usage done')),
    ],
    'a finish reason that is not documented': [
      'chat.choice.finish-reason',
      'finish_reason is "max_tokens", expected stop, length or tool_calls',
      streamObserved({ finishReasons: ['max_tokens'] }),
    ],
    'a total that is no sum': [
      'chat.usage.sum',
      '200 + 100 tokens have the stated total 100, expected 300',
      streamObserved({ usage: { ...completion.usage, total_tokens: 100 }, cost: null }),
    ],
    'an id that is missing': ['chat.id', 'id is "", expected a text', streamObserved({ ids: [''] })],
    'created of another day': [
      'chat.created',
      `created is ${completion.created - 86_400}, expected the Unix time of the request in seconds`,
      streamObserved({ created: completion.created - 86_400 }),
    ],
  })

  test('of a stream whose beginning alone was kept, the end is not judged, but what it used is', () => {
    const cut = streamObserved({ grammar: restless, usage: { ...completion.usage, total_tokens: 1 }, cost: null })
    expect(judgedCount('chat.stream.done', cut)).toBe(0)
    expect(accusations(cut)).toEqual({ 'chat.usage.sum': '200 + 100 tokens have the stated total 1, expected 300' })
  })
})
