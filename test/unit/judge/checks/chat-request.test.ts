import { describe, expect, test } from 'vitest'
import type { Contract } from '../../../../src/contract/contract.ts'
import { documented } from '../../../../src/contract/documented.ts'
import type { ChatDescriptor } from '../../../../src/observation/observation.ts'
import {
  accusations,
  accusesEach,
  chatDescriptor,
  completion,
  judgedCount,
  observed,
  refused,
  responseOf,
  sparesEach,
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
const said = (...content: readonly unknown[]) => ({ messages: [{ role: 'user', content }] })
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

const unlike = (chat: Partial<Contract['chat']>): Contract => ({ ...documented, chat: { ...documented.chat, ...chat } })
const withLogprobs: Contract = {
  ...documented,
  models: documented.models.map(model => ({ ...model, logprobs: true })),
}

const message = (body: Body, status = 400) =>
  `a request with ${JSON.stringify(body)} got status ${status} "{\\"error\\":\\"No\\"}", expected a success`

describe('requests that are right', () => {
  sparesEach({
    'one that is taken': taken({ frequency_penalty: 2 }),
    'one that is out of its range': denied({ frequency_penalty: 2.01 }),
    'one of the wrong type': denied({ max_temp: '1' }),
    'one that two members could be the reason of': denied({ frequency_penalty: 2, max_temp: 2 }),
    'one with a member that is public but not documented': denied({ temperature: 0.5 }),
    'one with options of the service, which are judged by others': refused(
      { ...chatDescriptor, options: { ...options, parameters: { enable_x_search: true } } },
      400,
      { error: 'No' },
      tokenHeaders,
    ),
    'one that this model cannot do': denied({ n: 2 }, 400, { error: 'n is not supported by this model' }),
    'one whose prompt may be too long for any model': refused({ ...chatDescriptor, promptTokens: 200_000 }, 400, {
      error: 'No',
    }),
    'log probabilities of a model that is not said to have them': denied({ logprobs: true }),
    'an image, which only some models see': denied(said({ type: 'image_url', image_url: { url: 'data:' } })),
    'a ttl, which takes a header that is not documented': denied(
      said({ type: 'text', text: 'a', cache_control: { type: 'ephemeral', ttl: '1h' } }),
    ),
    'messages that are no list': denied({ messages: 'hello' }),
    'a role that is not documented': denied({ messages: [{ role: 'developer', content: 'hello' }] }),
    'a service that has other reasons': denied({ n: 2 }, 503),
    'a caller who asked too often': denied({ n: 2 }, 429, { error: 'Too many failed attempts' }),
    'a caller without money': denied({ n: 2 }, 402),
    'a media type that is not liked': denied({ n: 2 }, 415),
    'fewer choices than were asked for': taken({ n: 2 }),
    'as many choices as were asked for': taken({ n: 2 }, choices(0, 1)),
    'choices without an index': taken({ n: 2 }, choices(undefined, undefined)),
    'a completion that ends by itself at once': taken(
      { max_tokens: 0 },
      { ...cut(1), choices: [{ ...choice, finish_reason: 'stop' }] },
    ),
    'a completion that is cut by the bound of the model': taken({ max_tokens: 0 }, cut(120)),
  })

  accusesEach({
    'a plain request that is refused': [
      'chat.request',
      message({}),
      refused(chatDescriptor, 400, { error: 'No' }, tokenHeaders),
    ],
    'a request of the same prompt that is refused': ['chat.request', message({}, 422), denied({}, 422)],
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
    'an older bound': ['chat.request.max-tokens', message({ max_tokens: -1 }), denied({ max_tokens: -1 })],
    'a key for the cache': [
      'chat.request.prompt-cache-key',
      message({ prompt_cache_key: 'a' }),
      denied({ prompt_cache_key: 'a' }),
    ],
    'no log probabilities': ['chat.request.logprobs', message({ logprobs: false }), denied({ logprobs: false })],
    'one letter': [
      'chat.request.text-part',
      expect.any(String) as unknown as string,
      denied(said({ type: 'text', text: 'a' })),
    ],
    'a part that may be cached': [
      'chat.request.cache-control',
      expect.any(String) as unknown as string,
      denied(said({ type: 'text', text: 'a', cache_control: { type: 'ephemeral' } })),
    ],
    'a member that nobody knows': [
      'chat.request.unknown-member',
      message({ no_such_member: 1 }),
      denied({ no_such_member: 1 }),
    ],
    'more choices than were asked for': [
      'chat.request.n',
      '3 choices with the indices [0,1,2] were returned, expected at most 2, each with its own index',
      taken({ n: 2 }, choices(0, 1, 2)),
    ],
    'two choices of one index': [
      'chat.request.n',
      '2 choices with the indices [0,0] were returned, expected at most 2, each with its own index',
      taken({ n: 2 }, choices(0, 0)),
    ],
    'two choices that nobody asked for': [
      'chat.request.n',
      '2 choices with the indices [0,1] were returned, expected at most 1, each with its own index',
      observed(chatDescriptor, responseOf(200, choices(0, 1), tokenHeaders)),
    ],
    'a completion that is cut by an older bound of nothing': [
      'chat.request.max-tokens',
      'a completion was cut after 1 tokens, expected max_tokens of 0 to be ignored',
      taken({ max_tokens: 0 }, cut(1)),
    ],
  })

  test('are judged by the option that they are about, and by no other', () => {
    const one = taken({ frequency_penalty: -2 })
    expect(judgedCount('chat.request.frequency-penalty', one)).toBe(1)
    expect(judgedCount('chat.request', one)).toBe(0)
  })

  test('log probabilities have to be taken by a model that has them', () => {
    const pair = { logprobs: true, top_logprobs: 0 }
    expect(Object.keys(accusations(denied({ logprobs: true }), withLogprobs))).toEqual(['chat.request.logprobs'])
    expect(Object.keys(accusations(denied(pair), withLogprobs))).toEqual(['chat.request.top-logprobs'])
  })

  test('an unknown member has to be refused where the profile says so, and may be where it is silent', () => {
    const [yes, no] = [taken({ no_such_member: 1 }), denied({ no_such_member: 1 })]
    expect(accusations(yes, unlike({ unknownMembers: 'refused' }))).toEqual({
      'chat.request.unknown-member': 'a request with {"no_such_member":1} was accepted, expected 400',
    })
    expect(accusations(no, unlike({ unknownMembers: 'refused' }))).toEqual({})
    for (const each of [yes, no]) expect(accusations(each, unlike({ unknownMembers: null }))).toEqual({})
  })
})
