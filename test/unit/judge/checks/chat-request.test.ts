import { describe, expect, test } from 'vitest'
import type { Contract } from '../../../../src/contract/contract.ts'
import { documentedContract } from '../../../../src/contract/documented.ts'
import type { ChatDescriptor } from '../../../../src/observation/requests/chat.ts'
import {
  chatDescriptor,
  completion,
  failedClauses,
  failsEach,
  judgedCount,
  observed,
  passesEach,
  refused,
  responseOf,
  streamObserved,
  tokenHeaders,
} from './observed.ts'

type Body = Readonly<Record<string, unknown>>

const options = { body: {}, parameters: {}, suffix: null, encoding: null, samePrompt: false }
const asking = (body: Body, more: Partial<ChatDescriptor> = {}): ChatDescriptor => ({
  ...chatDescriptor,
  options: { ...options, body },
  ...more,
})
const taken = (body: Body, response: unknown = completion) =>
  observed(asking(body), responseOf(200, response, tokenHeaders))
const denied = (body: Body, status = 400, error?: unknown) => refused(asking(body), status, error, tokenHeaders)
const withPart = (...content: readonly unknown[]) => ({ messages: [{ role: 'user', content }] })
const [choice] = completion.choices
const choices = (...indices: readonly unknown[]) => ({
  ...completion,
  choices: indices.map(index => ({ ...choice, index })),
})
const cut = (tokens: number) => ({
  ...completion,
  choices: [{ ...choice, finish_reason: 'length', stop_reason: null }],
  usage: { prompt_tokens: 200, completion_tokens: tokens, total_tokens: 200 + tokens },
  cost: { usd: 0.0001 + tokens * 0.000002, diem: 0 },
})

/** A stream that was cut after this many tokens. */
const streamed = (body: Body, tokens: number) => {
  const { usage, cost } = cut(tokens)
  const grammar = [
    ['role', 1],
    ['content', tokens],
    ['finish', 1],
    ['usage', 1],
    ['done', 1],
  ] as const
  const request = asking(body, { stream: true })
  return streamObserved({ usage, cost, grammar, finishReasons: ['length'], contentCharacters: 4 * tokens }, { request })
}

const unlike = (chat: Partial<Contract['chat']>): Contract => ({
  ...documentedContract,
  chat: { ...documentedContract.chat, ...chat },
})
const withLogprobs: Contract = {
  ...documentedContract,
  models: documentedContract.models.map(model => ({ ...model, logprobs: true })),
}

const message = (body: Body, status = 400) =>
  `a request with ${JSON.stringify(body)} got status ${status} "{\\"error\\":\\"No\\"}", expected a success`

describe('valid requests', () => {
  passesEach({
    'an accepted request': taken({ frequency_penalty: 2 }),
    'a value out of its range': denied({ frequency_penalty: 2.01 }),
    'a value of the wrong type': denied({ max_temp: '1' }),
    'a rejection that two fields could cause': denied({ frequency_penalty: 2, max_temp: 2 }),
    'a public but undocumented field': denied({ temperature: 0.5 }),
    'service options, which another check judges': refused(
      { ...chatDescriptor, options: { ...options, parameters: { enable_x_search: true } } },
      400,
      { error: 'No' },
      tokenHeaders,
    ),
    'a feature that this model does not support': denied({ n: 2 }, 400, { error: 'n is not supported by this model' }),
    'a prompt that may be too long for any model': refused({ ...chatDescriptor, promptTokens: 200_000 }, 400, {
      error: 'No',
    }),
    'log probabilities of a model that may not support them': denied({ logprobs: true }),
    'an image, which only some models accept': denied(withPart({ type: 'image_url', image_url: { url: 'data:' } })),
    'a ttl, which needs an undocumented header': denied(
      withPart({ type: 'text', text: 'a', cache_control: { type: 'ephemeral', ttl: '1h' } }),
    ),
    'messages that are not a list': denied({ messages: 'hello' }),
    'an undocumented role': denied({ messages: [{ role: 'developer', content: 'hello' }] }),
    'a service that rejects for another reason': denied({ n: 2 }, 503),
    'a caller with too many requests': denied({ n: 2 }, 429, { error: 'Too many failed attempts' }),
    'a caller without balance': denied({ n: 2 }, 402),
    'an unsupported media type': denied({ n: 2 }, 415),
    'fewer choices than requested': taken({ n: 2 }),
    'the requested number of choices': taken({ n: 2 }, choices(0, 1)),
    'choices without an index': taken({ n: 2 }, choices(undefined, undefined)),
    'a completion that ends by itself immediately': taken(
      { max_tokens: 0 },
      { ...cut(1), choices: [{ ...choice, finish_reason: 'stop' }] },
    ),
    'a completion cut by the limit of the model': taken({ max_tokens: 0 }, cut(120)),
    'a stream cut by the limit of the model': streamed({ max_tokens: 0 }, 120),
    'a stream cut by the older limit': streamed({ max_tokens: 1 }, 1),
  })

  failsEach({
    'a rejected plain request': [
      'chat.request',
      message({}),
      refused(chatDescriptor, 400, { error: 'No' }, tokenHeaders),
    ],
    'a rejected request with the same prompt': ['chat.request', message({}, 422), denied({}, 422)],
    'the highest penalty': [
      'chat.request.frequency-penalty',
      message({ frequency_penalty: 2 }),
      denied({ frequency_penalty: 2 }),
    ],
    'the lowest penalty': [
      'chat.request.frequency-penalty',
      message({ frequency_penalty: -2 }),
      denied({ frequency_penalty: -2 }),
    ],
    'the highest temperature': ['chat.request.max-temp', message({ max_temp: 2 }), denied({ max_temp: 2 })],
    'the lowest temperature': ['chat.request.max-temp', message({ max_temp: 0 }), denied({ max_temp: 0 })],
    'the older token limit': ['chat.request.max-tokens', message({ max_tokens: -1 }), denied({ max_tokens: -1 })],
    'a cache key': [
      'chat.request.prompt-cache-key',
      message({ prompt_cache_key: 'a' }),
      denied({ prompt_cache_key: 'a' }),
    ],
    'no log probabilities': ['chat.request.logprobs', message({ logprobs: false }), denied({ logprobs: false })],
    'a text of one letter': [
      'chat.request.text-part',
      expect.any(String) as unknown as string,
      denied(withPart({ type: 'text', text: 'a' })),
    ],
    'a part with cache_control': [
      'chat.request.cache-control',
      expect.any(String) as unknown as string,
      denied(withPart({ type: 'text', text: 'a', cache_control: { type: 'ephemeral' } })),
    ],
    'an undocumented field': [
      'chat.request.unknown-member',
      message({ no_such_member: 1 }),
      denied({ no_such_member: 1 }),
    ],
    'more choices than requested': [
      'chat.request.n',
      '3 choices were returned, expected at most 2',
      taken({ n: 2 }, choices(0, 1, 2)),
    ],
    'two choices with one index': [
      'chat.request.n',
      'choices with the indices [0,0] were returned, expected a different index for each',
      taken({ n: 2 }, choices(0, 0)),
    ],
    'two choices without a request for them': [
      'chat.request.n',
      '2 choices were returned, expected at most 1',
      observed(chatDescriptor, responseOf(200, choices(0, 1), tokenHeaders)),
    ],
    'a completion cut by an older token limit of 0': [
      'chat.request.max-tokens',
      'a completion was cut after 1 tokens, expected max_tokens of 0 to be ignored',
      taken({ max_tokens: 0 }, cut(1)),
    ],
    'a stream cut by an older token limit of 0': [
      'chat.request.max-tokens',
      'a completion was cut after 1 tokens, expected max_tokens of 0 to be ignored',
      streamed({ max_tokens: 0 }, 1),
    ],
  })

  test('are judged only by the clause of their option', () => {
    const one = taken({ frequency_penalty: -2 })
    expect(judgedCount('chat.request.frequency-penalty', one)).toBe(1)
    expect(judgedCount('chat.request', one)).toBe(0)
  })

  test('log probabilities must be accepted by a model that has them', () => {
    const pair = { logprobs: true, top_logprobs: 0 }
    expect(Object.keys(failedClauses(denied({ logprobs: true }), withLogprobs))).toEqual(['chat.request.logprobs'])
    expect(Object.keys(failedClauses(denied(pair), withLogprobs))).toEqual(['chat.request.top-logprobs'])
  })

  test('an unknown field must be rejected if the profile says so, and may be if it says nothing', () => {
    const [yes, no] = [taken({ no_such_member: 1 }), denied({ no_such_member: 1 })]
    expect(failedClauses(yes, unlike({ unknownMembers: 'refused' }))).toEqual({
      'chat.request.unknown-member': 'a request with {"no_such_member":1} was accepted, expected 400',
    })
    expect(failedClauses(no, unlike({ unknownMembers: 'refused' }))).toEqual({})
    for (const each of [yes, no]) expect(failedClauses(each, unlike({ unknownMembers: null }))).toEqual({})
  })
})
