import { describe, expect, test } from 'vitest'
import type { Contract } from '../../../../src/contract/contract.ts'
import { documentedContract } from '../../../../src/contract/documented.ts'
import type { Observation, StreamRecord } from '../../../../src/observation/observation.ts'
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
const withMembers = (members: object) => withChoice({ message: { ...choice?.message, ...members } })
const withDetails = (completion_tokens_details: unknown) =>
  chatObserved({ ...completion, usage: { ...completion.usage, completion_tokens_details } })
const usageOf = (tokens: number, details: unknown = null) => ({
  prompt_tokens: 200,
  completion_tokens: tokens,
  total_tokens: 200 + tokens,
  completion_tokens_details: details,
})
const cut = { ...choice, finish_reason: 'length', stop_reason: 'length' }
/** Cut after a number of tokens, with a limit of 120. */
const cutAfter = (tokens: number, details: unknown = null) =>
  chatObserved({ ...completion, choices: [cut], usage: usageOf(tokens, details), cost: undefined })
const bounded = (bound: number, body: object = {}) => ({
  ...chatDescriptor,
  maxCompletionTokens: bound,
  options: { body: { ...body }, parameters: {}, suffix: null, encoding: null, samePrompt: false },
})
const calls = [{ id: 'call_1', type: 'function', function: { name: 'weather', arguments: '{}' } }]
const called = { finish_reason: 'tool_calls', stop_reason: null }
const grammarOf = (...parts: readonly ('role' | 'content' | 'tool-call' | 'finish' | 'usage' | 'done')[]) => ({
  grammar: parts.map(part => [part, 1] as const),
})

/** The types of the deltas in most streams. */
const usual: StreamRecord['deltaTypes'] = [
  ['role', 'string', '"assistant"'],
  ['content', 'string', '"a"'],
]

/** A stream with two requested choices that end in two ways. */
function streamOfTwo(stream: Partial<StreamRecord>): Observation {
  const two = { finishReasons: ['stop', 'length'], stopReasons: ['length', 'stop'], ...stream }
  return { ...streamObserved(two), request: { ...bounded(120, { n: 2 }), stream: true } }
}

describe('the end of a response', () => {
  passesEach({
    'no stop reason': withChoice({ stop_reason: undefined }),
    'a stop reason that is null': withChoice({ stop_reason: null }),
    'a stop reason next to tool calls': withChoice({
      finish_reason: 'tool_calls',
      stop_reason: 'stop',
      message: { role: 'assistant', content: null, tool_calls: calls },
    }),
    'a tool call named by the caller, which ends with stop': withChoice({
      message: { role: 'assistant', content: null, tool_calls: calls },
    }),
    'a response cut at its limit': cutAfter(120),
    'reasoning tokens counted in addition to a response cut at its limit': cutAfter(70, { reasoning_tokens: 50 }),
    'a response cut at the limit of its model, which may be unknown': observed(
      bounded(8_192),
      responseOf(200, { ...completion, choices: [cut] }, tokenHeaders),
    ),
    'a response cut at a limit with another name': observed(
      bounded(120, { max_tokens: 100 }),
      responseOf(200, { ...completion, choices: [cut] }, tokenHeaders),
    ),
    'the first of two responses cut at its limit': observed(
      bounded(120, { n: 2 }),
      responseOf(200, { ...completion, choices: [cut, { ...choice, index: 1 }] }, tokenHeaders),
    ),
    'a stream that ends with a tool call': streamObserved({
      ...grammarOf('role', 'tool-call', 'finish', 'usage', 'done'),
      finishReasons: ['tool_calls'],
      stopReasons: ['stop'],
    }),
    'a stream of two choices, one of which continues after the other has ended': streamOfTwo({
      ...grammarOf('role', 'content', 'finish', 'content', 'finish', 'usage', 'done'),
      indices: [1, 0],
    }),
    'a stream of one choice when two were allowed': streamOfTwo({
      ...grammarOf('role', 'content', 'finish', 'usage', 'done'),
    }),
    'a stream whose choices have no index': streamObserved({ indices: [null] }),
  })

  failsEach({
    'an undocumented stop reason': [
      'chat.choice.stop-reason',
      'stop_reason is "</s>", expected null, stop or length',
      withChoice({ stop_reason: '</s>' }),
    ],
    'a stop reason that contradicts the finish reason': [
      'chat.choice.stop-reason',
      'stop_reason is "length", expected "stop" as in finish_reason',
      withChoice({ stop_reason: 'length' }),
    ],
    'a stop reason of a stream that is a number': [
      'chat.choice.stop-reason',
      'stop_reason is 128009, expected null, stop or length',
      streamObserved({ stopReasons: [128_009] }),
    ],
    'a stop reason of a stream that contradicts the finish reason': [
      'chat.choice.stop-reason',
      'stop_reason is "length", expected "stop" as in finish_reason',
      streamObserved({ stopReasons: ['length'] }),
    ],
    'missing tool calls': [
      'chat.choice.tool-calls',
      'finish_reason is "tool_calls", but there are no tool calls, expected one',
      withChoice(called),
    ],
    'an empty list of tool calls': [
      'chat.choice.tool-calls',
      'finish_reason is "tool_calls", but there are no tool calls, expected one',
      withChoice({ ...called, message: { role: 'assistant', content: null, tool_calls: [] } }),
    ],
    'a stream without tool calls': [
      'chat.choice.tool-calls',
      'finish_reason is "tool_calls", but there are no tool calls, expected one',
      streamObserved({ finishReasons: ['tool_calls'] }),
    ],
    'a choice of a stream that does not end': [
      'chat.stream.finish',
      'the stream is role content finish usage done, expected 2 finish reasons, the last of them after the last token',
      streamOfTwo({ ...grammarOf('role', 'content', 'finish', 'usage', 'done'), indices: [0, 1] }),
    ],
    'a choice of a stream that was not requested': [
      'chat.stream.index',
      'choices have the indices [2], expected 0 to 1',
      streamOfTwo({ ...grammarOf('role', 'content', 'finish', 'usage', 'done'), indices: [2] }),
    ],
    'a choice of a stream with a string as its index': [
      'chat.stream.index',
      'choices have the indices ["0"], expected 0',
      streamObserved({ indices: ['0'] }),
    ],
    'a response cut a token before its limit': [
      'chat.choice.length',
      'finish_reason is length after 119 tokens, expected at least 120',
      cutAfter(119),
    ],
    'a stream cut before its limit': [
      'chat.choice.length',
      'finish_reason is length after 100 tokens, expected at least 120',
      streamObserved({ finishReasons: ['length'] }),
    ],
  })

  test('is not judged if the profile leaves the limit open', () => {
    const { chat } = documentedContract
    expect(failedClauses(cutAfter(7), { ...documentedContract, chat: { ...chat, lengthIsBound: false } })).toEqual({})
  })

  test('may have the values of the profile', () => {
    const finishReasons = [...documentedContract.chat.finishReasons, 'content_filter']
    const open = { ...documentedContract, chat: { ...documentedContract.chat, finishReasons } }
    const filtered = withChoice({ finish_reason: 'content_filter', stop_reason: null })
    expect(failedClauses(filtered, open)).toEqual({})
    expect(failedClauses(filtered)).toEqual({
      'chat.choice.finish-reason': 'finish_reason is "content_filter", expected stop, length or tool_calls',
    })
  })
})

describe('the fields of a message', () => {
  passesEach({
    'all fields as null': withMembers({
      name: null,
      reasoning_content: null,
      reasoning_details: null,
      thought_signature: null,
      tool_calls: null,
    }),
    'all fields': withMembers({
      name: 'Ada',
      reasoning_content: 'Hm.',
      reasoning_details: [{ type: 'reasoning.text', text: 'Hm.', index: 0, id: null }, { type: 'reasoning.encrypted' }],
      thought_signature: 'c2ln',
      tool_calls: [],
    }),
    'the fields of a tool message': withChoice({
      message: { role: 'tool', content: '21', tool_call_id: 'call_1', name: 'weather', reasoning_content: null },
    }),
  })

  const failing = (expected: string, members: object) =>
    ['chat.message.members', `a message has ${expected}`, withMembers(members)] as const
  failsEach({
    'a name that is an object': failing('name {}, expected a text or null', { name: {} }),
    'reasoning that is a list': failing('reasoning_content ["Hm."], expected a text or null', {
      reasoning_content: ['Hm.'],
    }),
    'a signature that is a number': failing('thought_signature 7, expected a text or null', { thought_signature: 7 }),
    'details that are an object': failing('reasoning_details {}, expected a list', { reasoning_details: {} }),
    'a detail without a type': failing('reasoning_details with {"text":"Hm."}, expected a type in each', {
      reasoning_details: [{ type: 'reasoning.text' }, { text: 'Hm.' }],
    }),
    'a detail that is null': failing('reasoning_details with null, expected a type in each', {
      reasoning_details: [null],
    }),
    'tool calls that are an object': failing('tool_calls {}, expected a list or null', { tool_calls: {} }),
    'a chunk whose content is an object': [
      'chat.stream.delta',
      'a delta has content {}, expected a type that a message has',
      streamObserved({ deltaTypes: [...usual, ['content', 'object', '{}'], ['name', 'number', '7']] }),
    ],
  })

  test.each([
    ['role', 'number', '7'],
    ['content', 'object', '{"text":"a"}'],
    ['reasoning_content', 'boolean', 'false'],
    ['name', 'number', '7'],
    ['thought_signature', 'array', '[]'],
    ['tool_calls', 'object', '{}'],
    ['reasoning_details', 'string', '"a"'],
  ] as const)('a delta whose %s is %s %s does not match a message', (field, type, first) => {
    const observation = streamObserved({ deltaTypes: [...usual, [field, type, first]] })
    const message = `a delta has ${field} ${first}, expected a type that a message has`
    expect(failedClauses(observation)).toEqual({ 'chat.stream.delta': message })
  })

  test('a delta may have the types of a message', () => {
    const deltaTypes: StreamRecord['deltaTypes'] = [
      ...usual,
      ['content', 'array', '[]'],
      ['reasoning_content', 'string', '"Hm."'],
      ['name', 'string', '"a"'],
      ['thought_signature', 'string', '"b"'],
      ['tool_calls', 'array', '[]'],
      ['reasoning_details', 'array', '[]'],
    ]
    expect(failedClauses(streamObserved({ deltaTypes }))).toEqual({})
  })
})

describe('the details of the tokens', () => {
  passesEach({
    'null details': withDetails(null),
    'missing details': withDetails(undefined),
    'without reasoning': withDetails({ accepted_prediction_tokens: 0 }),
    'only reasoning tokens': withDetails({ reasoning_tokens: 100 }),
  })

  const failing = (details: unknown) =>
    [
      'chat.usage.details',
      `completion_tokens_details is ${JSON.stringify(details)}, expected null or whole reasoning_tokens of at most 100`,
      withDetails(details),
    ] as const
  failsEach({
    'one more reasoning token than generated tokens': failing({ reasoning_tokens: 101 }),
    'reasoning tokens as a string': failing({ reasoning_tokens: '7' }),
    'half a token': failing({ reasoning_tokens: 7.5 }),
    'details that are a number': failing(7),
  })

  test('are not judged if they are missing', () => {
    expect(judgedCount('chat.usage.details', withDetails(undefined))).toBe(0)
  })
})

const usage = (details: unknown) => ({ ...completion.usage, prompt_tokens_details: details })
const cached = (details: unknown, usd = completion.cost.usd) =>
  chatObserved({ ...completion, usage: usage(details), cost: { usd, diem: 0 } })
const read = (tokens: unknown) => ({ cached_tokens: tokens })
const wrote = (tokens: unknown) => ({ cache_creation_input_tokens: tokens })
const withPrices = (prices: { readonly cacheInput: string | null; readonly cacheWrite: string | null }): Contract => ({
  ...documentedContract,
  models: documentedContract.models.map(model => ({
    ...model,
    usdPerMillion: model.usdPerMillion && { ...model.usdPerMillion, ...prices },
  })),
})

// A million tokens cost $0.50, $0.10 from the cache, and $0.60 written to it. 100 completion tokens cost $0.0002.
describe('cached tokens', () => {
  passesEach({
    'no details': cached(undefined),
    'details that are null': cached(null),
    'details that are empty': cached({}),
    'details of other tokens': cached({ audio_tokens: 3 }),
    'counts that are null': cached({ cached_tokens: null, cache_creation_input_tokens: null }),
    'a prompt read from the cache as a whole': cached(read(200), 0.00022),
    'a prompt written to the cache as a whole': cached(wrote(200), 0.00032),
    'a prompt with uncached, cached and written tokens': cached({ ...read(100), ...wrote(50) }, 0.000265),
    'a stream with cached tokens': streamObserved({ usage: usage(read(200)), cost: { usd: 0.00022, diem: 0 } }),
  })

  failsEach({
    'details that are a list': [
      'chat.usage.cached',
      'prompt_tokens_details is [], expected null or an object',
      cached([]),
    ],
    'a text': ['chat.usage.cached', 'cached_tokens is "5", expected a whole number', cached(read('5'))],
    'a count below zero': ['chat.usage.cached', 'cached_tokens is -1, expected a whole number', cached(read(-1))],
    'a fraction': [
      'chat.usage.cached',
      'cache_creation_input_tokens is 1.5, expected a whole number',
      cached(wrote(1.5)),
    ],
    'one token more than the prompt has': [
      'chat.usage.cached',
      "201 tokens are cached and 0 written, expected no more than the prompt's 200",
      cached(read(201)),
    ],
    'one token more than the prompt has, in both': [
      'chat.usage.cached',
      "100 tokens are cached and 101 written, expected no more than the prompt's 200",
      cached({ ...read(100), ...wrote(101) }),
    ],
    'the full price for cached tokens': [
      'chat.cost.cached',
      'cost is {"usd":0.0003,"diem":0}, expected 0.00022 by the list price for 200 + 100 tokens, of which 200 cached and 0 written',
      cached(read(200), 0.0003),
    ],
    'the full price for written tokens': [
      'chat.cost.cached',
      'cost is {"usd":0.0003,"diem":0}, expected 0.00032 by the list price for 200 + 100 tokens, of which 0 cached and 200 written',
      cached(wrote(200), 0.0003),
    ],
    'a stream with another price': [
      'chat.cost.cached',
      'cost is {"usd":1,"diem":0}, expected 0.00022 by the list price for 200 + 100 tokens, of which 200 cached and 0 written',
      streamObserved({ usage: usage(read(200)), cost: { usd: 1, diem: 0 } }),
    ],
  })

  test('have no price if the profile has none, and then any cost is valid', () => {
    const readOnly = withPrices({ cacheInput: '0.1', cacheWrite: null })
    expect(failedClauses(cached(wrote(200), 1), readOnly)).toEqual({})
    expect(Object.keys(failedClauses(cached(read(200), 1), readOnly))).toEqual(['chat.cost.cached'])
    expect(failedClauses(cached(read(200), 1), withPrices({ cacheInput: null, cacheWrite: '1' }))).toEqual({})
  })

  test('do not change the price of a prompt without them', () => {
    const without = withPrices({ cacheInput: null, cacheWrite: null })
    expect(Object.keys(failedClauses(cached(null, 1), without))).toEqual(['chat.cost.amount'])
  })
})

describe('the price of searches and pages', () => {
  const priced = (parameters: object, usd: number, body: object = completion) =>
    observed(
      {
        ...chatDescriptor,
        options: { body: {}, parameters: { ...parameters }, suffix: null, encoding: null, samePrompt: false },
      },
      responseOf(200, { ...body, cost: { usd, diem: 0 } }, tokenHeaders),
    )
  const search = { enable_web_search: 'on' }
  const scraping = { enable_web_scraping: true }

  passesEach({
    'a search': priced(search, 0.0103),
    'a search that the model did not run': priced({ enable_web_search: 'auto' }, 0.0003),
    'unreadable pages': priced(scraping, 0.0003),
    'five pages': priced(scraping, 0.0503),
    'results of a third party': priced({ enable_x_search: true }, 0.1203),
    'tokens from a cache': priced(search, 0.01, {
      ...completion,
      usage: { ...completion.usage, prompt_tokens_details: { cached_tokens: 100 } },
    }),
  })

  failsEach({
    'a search and a little more': [
      'parameters.price',
      'cost is {"usd":0.01031,"diem":0}, expected 0.0002999897 to 0.0103000103 for its tokens and at most 1 lookups',
      priced(search, 0.01031),
    ],
    'uncharged tokens': [
      'parameters.price',
      'cost is {"usd":0.00029,"diem":0}, expected 0.0002999897 to 0.0503000103 for its tokens and at most 5 lookups',
      priced(scraping, 0.00029),
    ],
  })

  test('is not asserted if it is unknown', () => {
    const search = { ...documentedContract.chat.search, usdPerLookup: null }
    const contract = { ...documentedContract, chat: { ...documentedContract.chat, search } }
    expect(failedClauses(priced({ enable_web_search: 'on' }, 7), contract)).toEqual({})
  })
})
