import { describe, expect, test } from 'vitest'
import { noChatOptions } from '../../../../src/contract/chat-options.ts'
import type { StreamPart, StreamRecord } from '../../../../src/observation/observation.ts'
import {
  chatDescriptor,
  completion,
  failedClauses,
  failsEach,
  observed,
  passesEach,
  responseOf,
  streamObserved,
  tokenHeaders,
} from './observed.ts'

const failed = (reason: 'stream-truncated' | 'stream-malformed' | 'stream-error' | 'connection-lost') => ({
  outcome: { kind: 'failed' as const, reason, detail: '' },
})
const parts = (text: string): Pick<StreamRecord, 'grammar'> => ({
  grammar: text.split(' ').map(part => [part as StreamPart, 1] as const),
})
/** A server that sends a chunk without a token between any two tokens, with these parts after its 64 recorded runs. */
const restless = (...rest: StreamRecord['grammar']): Pick<StreamRecord, 'grammar'> => ({
  grammar: [...Array.from({ length: 64 }, (_, index) => [index % 2 === 0 ? 'content' : 'empty', 1] as const), ...rest],
})
const shown = `the stream is ${'content empty '.repeat(6)}...`

describe('streams', () => {
  passesEach({
    'a documented stream': streamObserved({}),
    'usage in the chunk with the finish reason': streamObserved(parts('role content finish usage done')),
    'reasoning before the content': streamObserved(parts('role reasoning content finish usage done')),
    'tool calls': streamObserved({ ...parts('role tool-call finish usage done'), finishReasons: ['tool_calls'] }),
    'a role beside each token': streamObserved({ deltaTypes: [['role', 'string', '"assistant"']] }),
    'an empty role': streamObserved({ deltaTypes: [['role', 'string', '""']] }),
    'chunks without a token between others': streamObserved(
      parts('role empty content empty content finish empty usage done'),
    ),
    'a long stream with chunks without a token': streamObserved(
      restless(['empty', 90], ['content', 90], ['finish', 1], ['usage', 1], ['done', 1]),
    ),
    'usage so far in each chunk': streamObserved(parts('role usage content usage content usage finish usage done')),
    'no cost': streamObserved({ cost: null }),
    'an error reported by the service, which is a failure': streamObserved(
      {
        ...parts('role content error done'),
        finishReasons: [],
        usage: null,
        cost: null,
        error: { type: 'server_error' },
      },
      failed('stream-error'),
    ),
    'an error and usage so far': streamObserved(
      { ...parts('role content error usage done'), finishReasons: [], error: { type: 'server_error' } },
      failed('stream-error'),
    ),
    'an error at the end, in a chunk with a finish reason': streamObserved(
      { ...parts('role content finish error done'), finishReasons: ['error'], error: { type: 'server_error' } },
      failed('stream-error'),
    ),
    'an error without a marker': streamObserved(
      { ...parts('error'), finishReasons: [], ids: [], models: [], objects: [], error: 'overloaded' },
      failed('stream-error'),
    ),
    'a lost connection': streamObserved(
      { ...parts('role content'), finishReasons: [], usage: null, cost: null },
      failed('connection-lost'),
    ),
  })

  failsEach({
    'the role of a user': [
      'chat.stream.delta',
      'a delta has role "user", expected "assistant" or "tool"',
      streamObserved({ deltaTypes: [['role', 'string', '"user"']] }),
    ],
    'a stream with the type of JSON': [
      'chat.stream.content-type',
      'content-type is "application/json", expected text/event-stream',
      observed({ ...chatDescriptor, stream: true }, responseOf(200, completion, tokenHeaders)),
    ],
    'two ids': [
      'chat.stream.chunk',
      'chunks have object ["chat.completion.chunk"], id ["a","b"], model ["ref-small-24b"], expected one of each, object chat.completion.chunk',
      streamObserved({ ids: ['a', 'b'] }),
    ],
    'an undocumented object': [
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
    'tokens after an error': [
      'chat.stream.finish',
      'the stream is role content error content finish usage done, expected its end after the error',
      streamObserved(
        { ...parts('role content error content finish usage done'), error: { type: 'server_error' } },
        failed('stream-error'),
      ),
    ],
    'a finish reason after an error': [
      'chat.stream.finish',
      'the stream is role content error finish usage done, expected its end after the error',
      streamObserved({ ...parts('role content error finish usage done'), error: 'overloaded' }, failed('stream-error')),
    ],
    'a tool call after an error': [
      'chat.stream.finish',
      'the stream is role error tool-call, expected its end after the error',
      streamObserved({ ...parts('role error tool-call'), error: 'overloaded' }, failed('stream-error')),
    ],
    'a stream without its marker': [
      'chat.stream.done',
      'the stream is role content finish usage, expected one [DONE] at its end',
      streamObserved(parts('role content finish usage'), failed('stream-truncated')),
    ],
    'usage after the marker': [
      'chat.stream.done',
      'the stream is role content finish done after-done, expected one [DONE] at its end',
      streamObserved({ ...parts('role content finish done after-done'), usage: null, cost: null }),
    ],
    'a finish reason that is stated twice': [
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
    'a token after the finish reason': [
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
    'an undocumented finish reason': [
      'chat.choice.finish-reason',
      'finish_reason is "max_tokens", expected stop, length or tool_calls',
      streamObserved({ finishReasons: ['max_tokens'] }),
    ],
    'a total that is not the sum': [
      'chat.usage.sum',
      '200 + 100 tokens have the stated total 100, expected 300',
      streamObserved({ usage: { ...completion.usage, total_tokens: 100 }, cost: null }),
    ],
    'a missing id': ['chat.id', 'id is "", expected a text', streamObserved({ ids: [''] })],
    'created of another day': [
      'chat.created',
      `created is ${completion.created - 86_400}, expected the Unix time of the request in seconds`,
      streamObserved({ created: completion.created - 86_400 }),
    ],
  })

  failsEach({
    'a long stream without its marker': [
      'chat.stream.done',
      `${shown} ${'content empty '.repeat(4)}empty×90 content×90 finish usage, expected one [DONE] at its end`,
      streamObserved(restless(['empty', 90], ['content', 90], ['finish', 1], ['usage', 1]), failed('stream-truncated')),
    ],
    'a long stream with two finish reasons': [
      'chat.stream.finish',
      `${shown} empty content empty content empty content empty empty×90 content×90 finish×2 usage done, expected one finish reason after the last token`,
      streamObserved(restless(['empty', 90], ['content', 90], ['finish', 2], ['usage', 1], ['done', 1])),
    ],
    'a long stream with a token after its finish reason': [
      'chat.stream.finish',
      `${shown} empty content empty content empty content empty empty×90 finish content×90 usage done, expected one finish reason after the last token`,
      streamObserved(restless(['empty', 90], ['finish', 1], ['content', 90], ['usage', 1], ['done', 1])),
    ],
  })
})

describe('chunks of a request for two choices', () => {
  const options = { body: { n: 2 }, parameters: {}, suffix: null, encoding: null, samePrompt: false }
  const indexFailure = (indices: readonly unknown[], finishReasons: readonly string[]) => {
    const observation = streamObserved(
      { indices, finishReasons },
      { request: { ...chatDescriptor, stream: true, options } },
    )
    return failedClauses(observation)['chat.stream.index']
  }

  test.each([[[null]], [[0, null]]])('cannot be told apart by the indices %j', indices => {
    expect(indexFailure(indices, ['stop', 'stop'])).toBe(
      `choices have the indices ${JSON.stringify(indices)}, expected 0 to 1`,
    )
  })

  test('need no index if only one choice came', () => {
    expect(indexFailure([null], ['stop'])).toBeUndefined()
    expect(indexFailure([1, 0], ['stop', 'stop'])).toBeUndefined()
  })
})

describe('the text of a stream', () => {
  const counting = (completionTokens: number, reasoning: number | null, more: Partial<StreamRecord> = {}) =>
    streamObserved({
      usage: {
        ...{ prompt_tokens: 200, completion_tokens: completionTokens, total_tokens: 200 + completionTokens },
        completion_tokens_details: reasoning === null ? null : { reasoning_tokens: reasoning },
      },
      cost: null,
      ...more,
    })
  const empty = { contentCharacters: 0 }

  passesEach({
    'that runs of spaces fill': counting(20, 0, { contentCharacters: 20 * 128 }),
    'of glyphs with several tokens each': counting(100, 0, { contentCharacters: 25 }),
    'that is shorter than any of its marks': counting(15, 0, empty),
    'that is nothing but hidden reasoning': counting(100, 100, empty),
    'whose reasoning may be hidden': counting(100, null, empty),
    'whose reasoning is a summary': counting(100, 98, { ...empty, reasoningCharacters: 3 }),
    'that is a call of a tool': counting(100, 0, {
      ...{ ...empty, ...parts('role tool-call finish usage done'), finishReasons: ['tool_calls'] },
    }),
    'whose reasoning has details': counting(100, 0, { ...empty, deltaTypes: [['reasoning_details', 'array', '[]']] }),
    'that lost its reasoning on request': {
      ...counting(100, 0, empty),
      request: {
        ...{ ...chatDescriptor, stream: true },
        options: { ...noChatOptions, parameters: { strip_thinking_response: true } },
      },
    },
  })

  failsEach({
    'that is missing': [
      'chat.usage.text',
      'the text of 100 completion tokens has 0 characters, expected at least 7',
      counting(100, 0, empty),
    ],
    'that is missing beside hidden reasoning': [
      'chat.usage.text',
      'the text of 60 completion tokens has 0 characters, expected at least 4',
      counting(100, 40, empty),
    ],
    // These violate only the clause about ends, which a profile may leave out.
    'that a filter took away': [
      'chat.choice.finish-reason',
      'finish_reason is "content_filter", expected stop, length or tool_calls',
      counting(100, 0, { ...empty, finishReasons: ['content_filter'] }),
    ],
    'that a filter wrote': [
      'chat.choice.finish-reason',
      'finish_reason is "content_filter", expected stop, length or tool_calls',
      counting(0, null, { contentCharacters: 600, finishReasons: ['content_filter'] }),
    ],
    'that is longer than any tokens': [
      'chat.usage.text',
      'the text of 3 completion tokens has 600 characters, expected at most 512',
      counting(3, null, { contentCharacters: 600 }),
    ],
  })
})
