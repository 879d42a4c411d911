import OpenAI from 'openai'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { documentedContract } from '../../../../src/contract/documented.ts'
import type { RunningServer } from '../../../../src/service/server.ts'
import { serviceForClients } from '../../../support/service-for-clients.ts'

/** Windows of two seconds, so that a client that waits for one does not take long. */
const contract = { ...documentedContract, limits: { ...documentedContract.limits, windowMs: 2_000 } }

let server: RunningServer
let baseURL: string

beforeAll(async () => {
  const started = await serviceForClients(contract)
  server = started.server
  baseURL = started.base
})
afterAll(() => server.close())

const clientOf = (apiKey: string, maxRetries = 0) => new OpenAI({ baseURL, apiKey, maxRetries })
const ask = {
  model: 'ref-nano-3b',
  messages: [{ role: 'user', content: 'Count to ten.' }],
  max_completion_tokens: 12,
} as const
const question = { ...ask, messages: [...ask.messages] }

test('a completion, whole and with log probabilities', async () => {
  const { choices, usage, object, model } = await clientOf('ref_default_whole').chat.completions.create({
    ...question,
    logprobs: true,
    top_logprobs: 2,
  })
  expect([object, model]).toEqual(['chat.completion', 'ref-nano-3b'])
  expect(choices[0]?.message.content?.split(' ')).toHaveLength(usage?.completion_tokens ?? -1)
  expect(choices[0]?.logprobs?.content?.[0]?.top_logprobs).toHaveLength(2)
})

test('a streamed completion, joined by the helper of the SDK', async () => {
  const runner = clientOf('ref_default_stream').chat.completions.stream({
    ...question,
    stream_options: { include_usage: true },
  })
  const deltas: string[] = []
  runner.on('content', delta => deltas.push(delta))
  const completion = await runner.finalChatCompletion()
  expect(completion.choices[0]?.message.content).toBe(deltas.join(''))
  expect(deltas.filter(delta => delta !== '')).toHaveLength((await runner.totalUsage()).completion_tokens)
  expect(completion.choices[0]?.finish_reason).toMatch(/^(stop|length)$/)
})

test('a tool call that the SDK parses', async () => {
  const runner = clientOf('ref_default_tool').chat.completions.stream({
    ...question,
    tools: [{ type: 'function', function: { name: 'count', parameters: { type: 'object', properties: {} } } }],
    tool_choice: { type: 'function', function: { name: 'count' } },
  })
  const [call] = (await runner.finalChatCompletion()).choices[0]?.message.tool_calls ?? []
  expect(call?.type === 'function' && [call.function.name, call.function.arguments]).toEqual(['count', '{}'])
})

test('the list of models, and embeddings', async () => {
  const ids: string[] = []
  for await (const { id, object } of clientOf('ref_default_list').models.list()) {
    expect(object).toBe('model')
    ids.push(id)
  }
  expect(ids).toContain('ref-nano-3b')
  const { data } = await clientOf('ref_default_list').embeddings.create({
    model: 'ref-embed',
    input: ['a', 'b'],
    encoding_format: 'float',
  })
  expect(data.map(({ index }) => index)).toEqual([0, 1])
  const packed = await clientOf('ref_default_list').embeddings.create({ model: 'ref-embed', input: 'a' })
  expect(packed.data.map(({ embedding }) => embedding)).toEqual([data[0]?.embedding])
})

test.each([
  ['a wrong key', 'nobody', question, OpenAI.AuthenticationError, 401],
  ['an unknown model', 'ref_default_errors', { ...question, model: 'none' }, OpenAI.BadRequestError, 400],
  ['an account without a balance', 'ref_zero-balance_ann', question, OpenAI.APIError, 402],
])('%s becomes the error class of the SDK', async (_, key, body, type, status) => {
  const failure = await clientOf(key)
    .chat.completions.create(body)
    .catch((cause: unknown) => cause)
  expect(failure).toBeInstanceOf(type)
  expect(failure).toMatchObject({ status, headers: expect.anything() })
})

test('a 429 says when to retry, and the SDK then succeeds', async () => {
  const large = { ...question, model: 'ref-large-235b', max_completion_tokens: 2 }
  const impatient = clientOf('ref_default_limit')
  const first = await Promise.allSettled(Array.from({ length: 21 }, () => impatient.chat.completions.create(large)))
  const refused = first.flatMap(result => (result.status === 'rejected' ? [result.reason as unknown] : []))
  expect(refused).toHaveLength(1)
  expect(refused[0]).toBeInstanceOf(OpenAI.RateLimitError)
  const waits = (refused[0] as InstanceType<typeof OpenAI.RateLimitError>).headers?.get('retry-after')
  expect(['1', '2']).toContain(waits)
  const completion = await clientOf('ref_default_limit', 1).chat.completions.create(large)
  expect(completion.usage?.completion_tokens).toBeGreaterThan(0)
})
