import { describe, expect, test } from 'vitest'
import type { Contract } from '../../../../src/contract/contract.ts'
import { documentedContract } from '../../../../src/contract/documented.ts'
import {
  chatDescriptor,
  chatObserved,
  completion,
  failedClauses,
  failsEach,
  judgedCount,
  observed,
  passesEach,
  responseOf,
  streamObserved,
  tokenHeaders,
} from './observed.ts'

const [choice] = completion.choices
const withChoice = (changes: object) => chatObserved({ ...completion, choices: [{ ...choice, ...changes }] })
const withMessage = (message: object) => withChoice({ message })
const withUsage = (usage: object, cost: unknown = undefined) => chatObserved({ ...completion, usage, cost })
const reasoningOnly = (finish: string) => ({
  finish_reason: finish,
  stop_reason: null,
  message: { role: 'assistant', content: null, reasoning_content: 'Hm.' },
})
const calls = [{ id: 'call_1', type: 'function', function: { name: 'weather', arguments: '{}' } }]

const withIndices = (...indices: readonly unknown[]) =>
  observed(
    { ...chatDescriptor, options: { body: { n: 2 }, parameters: {}, suffix: null, encoding: null, samePrompt: false } },
    responseOf(
      200,
      { ...completion, choices: indices.map(index => ({ ...completion.choices[0], index })) },
      tokenHeaders,
    ),
  )

describe('completions', () => {
  passesEach({
    'a single choice without an index': withChoice({ index: undefined }),
    'two choices in another order': withIndices(1, 0),
    'two choices, of which one has no index': withIndices(0, undefined),
    'a documented completion': chatObserved(completion),
    'a completion without choices': chatObserved({ ...completion, choices: undefined }),
    'an empty list of choices': chatObserved({ ...completion, choices: [] }),
    'null content next to tool calls': withChoice({
      finish_reason: 'tool_calls',
      stop_reason: null,
      message: { role: 'assistant', content: null, tool_calls: calls },
    }),
    'missing content next to tool calls': withMessage({ role: 'assistant', tool_calls: calls }),
    'null tool calls next to content': withMessage({ role: 'assistant', content: 'Hi', tool_calls: null }),
    'content in parts': withMessage({ role: 'assistant', content: [{ type: 'text', text: 'Hi' }] }),
    'empty content': withMessage({ role: 'assistant', content: '', reasoning_content: 'Hm.' }),
    'null content, if the reasoning took all tokens': chatObserved({
      ...completion,
      cost: undefined,
      usage: { prompt_tokens: 10, completion_tokens: 120, total_tokens: 130 },
      choices: [{ ...choice, ...reasoningOnly('length') }],
    }),
    'a tool message': withMessage({ role: 'tool', content: '21 °C', tool_call_id: 'call_1' }),
    'a choice without its optional fields': chatObserved({
      ...completion,
      choices: [{ finish_reason: 'stop', logprobs: null, message: choice?.message }],
    }),
    'undocumented fields': chatObserved({ ...completion, system_fingerprint: 'fp', object2: 1 }),
    'null usage details': withUsage({
      ...completion.usage,
      prompt_tokens_details: null,
      completion_tokens_details: null,
    }),
    'no cost': chatObserved({ ...completion, cost: undefined }),
    'a cost in DIEM': chatObserved({ ...completion, cost: { usd: 0, diem: 0.0003 } }),
    'a cost with floating-point noise': chatObserved({
      ...completion,
      cost: { usd: 0.00030000000000000003, diem: 0 },
    }),
    'a cost rounded to the smallest balance difference': withUsage(
      { prompt_tokens: 3, completion_tokens: 1, total_tokens: 4 },
      { usd: 0.00000351, diem: 0 },
    ),
    'a media type with a charset, in capitals': chatObserved(completion, {
      'content-type': 'Application/JSON; charset=utf-8',
    }),
    'all of the requested tokens': withUsage({
      prompt_tokens: 200,
      completion_tokens: 120,
      total_tokens: 320,
    }),
    'an alias served by another model': observed(
      { ...chatDescriptor, model: 'default' },
      responseOf(200, completion, tokenHeaders),
    ),
    'a Date that a busy server reuses for a second too long': chatObserved(completion, {
      date: 'Thu, 15 Jan 2026 12:00:00 GMT',
    }),
    'a rejection, which is not a completion': observed(chatDescriptor, responseOf(404, { error: 'No' })),
  })

  failsEach({
    'a completion that is text/plain': [
      'chat.content-type',
      'content-type is "text/plain", expected application/json',
      chatObserved(completion, { 'content-type': 'text/plain' }),
    ],
    'an event stream that was not requested': [
      'chat.content-type',
      'content-type is "application/jsonl", expected application/json',
      chatObserved(completion, { 'content-type': 'application/jsonl' }),
    ],
    'another object': [
      'chat.object',
      'object is "text_completion", expected "chat.completion"',
      chatObserved({ ...completion, object: 'text_completion' }),
    ],
    'an id that is a number': ['chat.id', 'id is 7, expected a text', chatObserved({ ...completion, id: 7 })],
    'the name of a backend': [
      'chat.model',
      'model is "backend/ref-small-24b", expected "ref-small-24b"',
      chatObserved({ ...completion, model: 'backend/ref-small-24b' }),
    ],
    'created in milliseconds': [
      'chat.created',
      `created is ${completion.created * 1000}, expected the Unix time of the request in seconds`,
      chatObserved({ ...completion, created: completion.created * 1000 }),
    ],
    'created of a cached response': [
      'chat.created',
      `created is ${completion.created - 60}, expected the Unix time of the request in seconds`,
      chatObserved({ ...completion, created: completion.created - 60 }),
    ],
    'choices that are null': [
      'chat.choice',
      'choices is null, expected a list',
      chatObserved({ ...completion, choices: null }),
    ],
    'a finished choice with reasoning only': [
      'chat.message',
      'a message has neither content nor tool_calls, expected one of them',
      withChoice(reasoningOnly('stop')),
    ],
    'a choice without logprobs': [
      'chat.choice',
      'a choice has no key logprobs, expected the key with null or an object',
      withChoice({ logprobs: undefined }),
    ],
    'an index that is null': [
      'chat.choice',
      'a choice has index null, expected a position among 1',
      withChoice({ index: null }),
    ],
    'an index beyond the list': [
      'chat.choice',
      'a choice has index 1, expected a position among 1',
      withChoice({ index: 1 }),
    ],
    'an index that is a text': [
      'chat.choice',
      'a choice has index "0", expected a position among 1',
      withChoice({ index: '0' }),
    ],
    'an undocumented finish reason': [
      'chat.choice.finish-reason',
      'finish_reason is "eos", expected stop, length or tool_calls',
      withChoice({ finish_reason: 'eos' }),
    ],
    'a finish reason that is null': [
      'chat.choice.finish-reason',
      'finish_reason is null, expected stop, length or tool_calls',
      withChoice({ finish_reason: null }),
    ],
    'a message of the user': [
      'chat.message',
      'a message has role "user", expected assistant or tool',
      withMessage({ role: 'user', content: 'Hi' }),
    ],
    'a message with neither content nor tool calls': [
      'chat.message',
      'a message has neither content nor tool_calls, expected one of them',
      withMessage({ role: 'assistant', content: null, tool_calls: null }),
    ],
    'parts that are not text parts': [
      'chat.message',
      'a message has content [{"type":"image_url"}], expected a text, a list of text parts, or null',
      withMessage({ role: 'assistant', content: [{ type: 'image_url' }] }),
    ],
    'a tool message without the id of its call': [
      'chat.message',
      'a message has role tool and tool_call_id nothing, expected a text',
      withMessage({ role: 'tool', content: '21 °C' }),
    ],
    'token counts as strings': [
      'chat.usage',
      'usage is {"prompt_tokens":"200","completion_tokens":100,"total_tokens":300}, expected three whole token counts',
      withUsage({ ...completion.usage, prompt_tokens: '200' }),
    ],
    'a total that is not the sum': [
      'chat.usage.sum',
      '200 + 100 tokens have the stated total 301, expected 300',
      withUsage({ ...completion.usage, total_tokens: 301 }),
    ],
    'more tokens than requested': [
      'chat.max-completion-tokens',
      '121 tokens were generated, expected at most the requested 120',
      withUsage({ prompt_tokens: 200, completion_tokens: 121, total_tokens: 321 }),
    ],
    'a cost below zero': [
      'chat.cost',
      'cost is {"usd":-0.0003,"diem":0}, expected usd and diem, both non-negative numbers',
      chatObserved({ ...completion, cost: { usd: -0.0003, diem: 0 } }),
    ],
    'a cost without DIEM': [
      'chat.cost',
      'cost is {"usd":0.0003}, expected usd and diem, both non-negative numbers',
      chatObserved({ ...completion, cost: { usd: 0.0003 } }),
    ],
    'a cost without one token': [
      'chat.cost.amount',
      'cost is {"usd":0.000298,"diem":0}, expected 0.0003 by the list price for 200 + 100 tokens',
      chatObserved({ ...completion, cost: { usd: 0.000298, diem: 0 } }),
    ],
    'a cost in both currencies': [
      'chat.cost.amount',
      'cost is {"usd":0.0003,"diem":0.0003}, expected 0.0003 by the list price for 200 + 100 tokens',
      chatObserved({ ...completion, cost: { usd: 0.0003, diem: 0.0003 } }),
    ],
  })

  test('a success without a body has none of the required fields', () => {
    const empty = observed(chatDescriptor, responseOf(204, '', { ...tokenHeaders, 'content-type': undefined }))
    expect(Object.keys(failedClauses(empty))).toEqual([
      'header.content-type',
      'chat.status',
      'chat.content-type',
      'chat.id',
      'chat.object',
      'chat.created',
      'chat.model',
      'chat.usage',
    ])
  })

  test('a truncated response is not judged', () => {
    const lost = { kind: 'failed', reason: 'connection-lost', detail: '' } as const
    expect(judgedCount('chat.object', chatObserved('{"id":', {}, { outcome: lost }))).toBe(0)
  })

  test('no amount is asserted if the price is unknown', () => {
    const models = documentedContract.models.map(model => ({ ...model, usdPerMillion: null }))
    const contract = { ...documentedContract, models }
    const dear = chatObserved({ ...completion, cost: { usd: 5, diem: 0 } })
    expect(failedClauses(dear, contract)).toEqual({})
    expect(judgedCount('chat.cost.amount', dear, contract)).toBe(0)
  })
})

const position = { token: 'Hi', logprob: -0.1, bytes: [72, 105] }
const full = { ...position, top_logprobs: [position, { token: 'Ho', logprob: -2 }] }
const options = { parameters: {}, suffix: null, encoding: null, samePrompt: false }

const given = (logprobs: unknown, body: Readonly<Record<string, unknown>> = { logprobs: true }, more: object = {}) =>
  observed(
    { ...chatDescriptor, options: { ...options, body } },
    responseOf(200, { ...completion, ...more, choices: [{ ...choice, logprobs }] }, tokenHeaders),
  )

const has = (logprobs: boolean | null): Contract => ({
  ...documentedContract,
  models: documentedContract.models.map(model => ({ ...model, logprobs })),
})

describe('log probabilities', () => {
  passesEach({
    'a single position object': given(full),
    'a list of positions': given({ content: [full, position] }),
    'a list next to its first position': given({ ...full, content: [full, position] }),
    'a null list': given({ content: null, refusal: null }, {}),
    'a token without bytes': given({ content: [{ ...position, bytes: null }] }),
    'none from a model without them': given(null),
    'anything if only top_logprobs was sent': given(full, { top_logprobs: 2 }),
    'the requested number of tokens': given(full, { logprobs: true, top_logprobs: 2 }),
    'more positions than a function call can have arguments': given(
      { content: Array.from({ length: 200_000 }, () => position) },
      { logprobs: true, top_logprobs: 2 },
    ),
    'fewer tokens than requested': given({ ...position, top_logprobs: [] }, { logprobs: true, top_logprobs: 5 }),
    'a prompt with log probabilities': given(null, {}, { prompt_logprobs: { '0': null } }),
    'a prompt without log probabilities': given(null, {}, { prompt_logprobs: null }),
  })

  failsEach({
    'a text': ['chat.logprobs', 'logprobs is "-0.1": no object', given('-0.1')],
    'a list': ['chat.logprobs', 'logprobs is [-0.1]: no object', given([-0.1])],
    'a token that is a number': [
      'chat.logprobs',
      'logprobs is {"token":7,"logprob":-0.1,"bytes":[72,105]}: token is 7, expected a text',
      given({ ...position, token: 7 }),
    ],
    'bytes as a string': [
      'chat.logprobs',
      'logprobs is {"token":"Hi","logprob":-0.1,"bytes":"Hi"}: bytes is "Hi", expected a list of numbers',
      given({ ...position, bytes: 'Hi' }),
    ],
    'a candidate without a probability': [
      'chat.logprobs',
      'logprobs is {"token":"Hi","logprob":-0.1,"bytes":null,"top_logprobs":[{"token":"Ho"}]}: logprob is nothing, expected a number',
      given({ ...position, bytes: null, top_logprobs: [{ token: 'Ho' }] }),
    ],
    'a position that is null': [
      'chat.logprobs',
      'logprobs is {"content":[null]}: token is nothing, expected a text',
      given({ content: [null] }),
    ],
    'some that were not requested': [
      'chat.logprobs.asked',
      'the response has log probabilities, expected none, since none were requested',
      given(full, {}),
    ],
    'one token too many': [
      'chat.logprobs.top',
      'a position lists 2 tokens, expected at most 1',
      given({ content: [full] }, { logprobs: true, top_logprobs: 1 }),
    ],
    'a token when none was requested': [
      'chat.logprobs.top',
      'a position lists 2 tokens, expected at most 0',
      given(full, { logprobs: true, top_logprobs: 0 }),
    ],
    'prompt log probabilities as a list': [
      'chat.prompt-logprobs',
      'prompt_logprobs is [], expected null or an object',
      given(null, {}, { prompt_logprobs: [] }),
    ],
  })

  test('are required only from a model that has them', () => {
    expect(failedClauses(given(null), has(true))).toEqual({
      'chat.logprobs.asked': 'ref-small-24b returned no log probabilities, expected the requested ones',
    })
    for (const known of [false, null]) expect(failedClauses(given(null), has(known))).toEqual({})
  })
})

describe('a choice of a server that may leave the key logprobs out', () => {
  const { chat } = documentedContract
  passesEach(
    { 'a choice without logprobs': withChoice({ logprobs: undefined }) },
    { ...documentedContract, chat: { ...chat, logprobsKey: 'optional' } },
  )
})

test('a choice, and a chunk, of a server whose choices have an index', () => {
  const { chat } = documentedContract
  const indexed: Contract = { ...documentedContract, chat: { ...chat, choiceIndex: 'required' } }
  expect(failedClauses(withChoice({ index: 0 }), indexed)).toEqual({})
  expect(failedClauses(withChoice({ index: undefined }), indexed)).toEqual({
    'chat.choice': 'a choice has no index, expected one',
  })
  expect(failedClauses(streamObserved({ indices: [0] }), indexed)).toEqual({})
  expect(failedClauses(streamObserved({ indices: [null] }), indexed)).toEqual({
    'chat.stream.index': 'choices have the indices [null], expected 0',
  })
})

// 101 and 100 tokens cost $0.0002505.
test.each<[usd: number, balance: string, failed: string[]]>([
  [0.000251, '9.500000', []],
  [0.00025, '9.500000', []],
  [0.000252, '9.500000', ['chat.cost.amount']],
  [0.000251, '9.50000000', ['chat.cost.amount']],
  [0.000251, '9.5', ['chat.cost.amount']],
  [0.0002511, '9.500000', ['chat.cost.amount']],
])('a service may count in millionths of a dollar, if nothing shows less: %f beside %s', (usd, balance, failed) => {
  const body = { ...completion, usage: { prompt_tokens: 101, completion_tokens: 100, total_tokens: 201 } }
  const headers = { 'x-service-balance-usd': balance, 'x-service-balance-diem': '0.000000' }
  expect(Object.keys(failedClauses(chatObserved({ ...body, cost: { usd, diem: 0 } }, headers)))).toEqual(failed)
})
