import { describe, expect, test } from 'vitest'
import { documentedContract } from '../../../../src/contract/documented.ts'
import { conversation, jsonOf, textOf } from '../conversation.ts'

test('an unknown field is rejected if the contract sets that rule; a public one is not', () => {
  const contract = { ...documentedContract, chat: { ...documentedContract.chat, unknownMembers: 'refused' as const } }
  const { chat } = conversation({ contract })
  expect(chat({ no_such_member: 1 }).status).toBe(400)
  expect(chat({ temperature: 0.5, service_parameters: {} }).status).toBe(200)
  expect(conversation().chat({ no_such_member: 1 }).status).toBe(200)
})

test('a model with log probabilities returns them for each token, with the requested number of candidates', () => {
  const { chat } = conversation()
  const [choice] = jsonOf(chat({ logprobs: true, top_logprobs: 2 })).choices
  expect(choice.logprobs.content).toHaveLength(16)
  expect(choice.logprobs.top_logprobs).toHaveLength(2)
  expect(choice.message.content.startsWith(choice.logprobs.token)).toBe(true)
  expect(jsonOf(chat({ model: 'ref-small-24b', logprobs: true })).choices[0].logprobs).toBeNull()
})

test('a stream has the log probabilities of each token in its chunk, as many as a whole completion', () => {
  const ask = { logprobs: true, top_logprobs: 2 }
  const whole = jsonOf(conversation().chat(ask)).choices[0].logprobs.content
  const inStream = (text: string) =>
    [...text.matchAll(/^data: (\{.*)$/gm)].flatMap(([, data = '']) => {
      const [choice] = JSON.parse(data).choices
      return choice?.delta.content ? [choice.logprobs] : []
    })
  const chunks = inStream(textOf(conversation().chat({ ...ask, stream: true })))
  expect(chunks.flatMap(({ content }) => content)).toEqual(whole)
  expect(chunks[3].token).toBe(whole[3].token)
  expect(inStream(textOf(conversation().chat({ stream: true })))).toEqual(whole.map(() => null))
})

test('an optional field that is null has its default, and a required one is missing', () => {
  const { chat } = conversation()
  const optional = 'stream frequency_penalty logprobs top_logprobs max_completion_tokens max_tokens n stop tools seed'
  const nulls = Object.fromEntries(optional.split(' ').map(name => [name, null]))
  expect(jsonOf(chat(nulls))).toMatchObject({ object: 'chat.completion', choices: [{ logprobs: null }] })
  expect(chat({ messages: null }).status).toBe(400)
})

test('cached tokens have the listed cache prices', () => {
  const { chat } = conversation()
  const content = [{ type: 'text', text: 'one two three', cache_control: { type: 'ephemeral' } }]
  const ask = () => jsonOf(chat({ messages: [{ role: 'user', content }] }))
  const [first, second] = [ask(), ask()]
  expect(first.usage.prompt_tokens_details).toEqual({ cached_tokens: 0, cache_creation_input_tokens: 7 })
  expect(second.usage.prompt_tokens_details).toEqual({ cached_tokens: 7, cache_creation_input_tokens: 0 })
  const fresh = (first.usage.prompt_tokens - 7) * 0.15
  expect(first.cost.usd * 1e6).toBeCloseTo(fresh + 7 * 0.2 + first.usage.completion_tokens * 0.6, 6)
  expect(second.cost.usd * 1e6).toBeCloseTo(fresh + 7 * 0.03 + second.usage.completion_tokens * 0.6, 6)
})

describe('the option for the default system prompts', () => {
  const promptTokens = (more: Record<string, unknown>) =>
    jsonOf(conversation().chat({ service_parameters: {}, ...more })).usage.prompt_tokens
  const without = promptTokens({ service_parameters: { include_venice_system_prompt: false } })

  test('has a second name, in the body and after the model', () => {
    expect(without).toBeLessThan(promptTokens({}))
    expect(promptTokens({ service_parameters: { include_service_system_prompt: false } })).toBe(without)
    expect(promptTokens({ model: 'ref-nano-3b:include_service_system_prompt=false' })).toBe(without)
    expect(conversation().chat({ service_parameters: { include_service_system_prompt: 'no' } }).status).toBe(400)
  })

  test('is echoed and has precedence by its first name', () => {
    const both = { include_venice_system_prompt: false, include_service_system_prompt: true }
    const { usage, service_parameters: echo } = jsonOf(conversation().chat({ service_parameters: both }))
    expect(usage.prompt_tokens).toBe(without)
    expect(echo.include_venice_system_prompt).toBe(false)
    expect(echo).not.toHaveProperty('include_service_system_prompt')
  })
})

test.each([
  ['gzip, deflate', 'gzip'],
  ['deflate, gzip;q=1.0, *;q=0.5', 'gzip'],
  ['br;q=0.1, gzip', 'gzip'],
  ['gzip, deflate, br;q=0.9, zstd', 'gzip'],
  ['gzip, br', 'br'],
  ['BR ; Q=0.5', 'br'],
  ['*', 'br'],
  ['*, br;q=0', 'gzip'],
  ['gzip;q=0', undefined],
  ['deflate, identity', undefined],
])('a client that accepts %s gets %s', (accepted, encoding) => {
  const messages = [{ role: 'user', content: 'Hello' }]
  const { headers } = conversation().ask({
    path: '/chat/completions',
    headers: { 'accept-encoding': accepted },
    body: { model: 'ref-nano-3b', messages },
  })
  expect(headers['content-encoding']).toBe(encoding)
})

describe('a schema', () => {
  const schema = {
    type: 'object',
    properties: {
      city: { type: 'string', minLength: 6 },
      unit: { enum: ['C', 'F'] },
      days: { type: 'array', minItems: 2, items: { $ref: '#/$defs/day' } },
      note: { type: 'string' },
    },
    required: ['city', 'unit', 'days'],
    $defs: {
      day: {
        type: 'object',
        properties: { degrees: { type: ['integer', 'null'], minimum: 3 }, rain: { anyOf: [{ type: 'boolean' }] } },
        required: ['degrees', 'rain'],
      },
    },
  }
  const day = { degrees: 3, rain: true }
  const value = { city: 'text..', unit: 'C', days: [day, day] }
  const asked = { type: 'json_schema', json_schema: { name: 'forecast', schema } }

  test.each([1, 5, 4_096])('is followed by the content of at most %i tokens, whole and streamed', max => {
    const { chat } = conversation()
    const body = { response_format: asked, max_completion_tokens: max }
    const { choices, usage } = jsonOf(chat(body))
    expect(JSON.parse(choices[0].message.content)).toEqual(value)
    expect(usage.completion_tokens).toBeLessThanOrEqual(max)
    const events = textOf(chat({ ...body, stream: true })).matchAll(/^data: (\{.*)$/gm)
    const deltas = [...events].map(([, data]) => JSON.parse(data ?? '').choices[0]?.delta.content ?? '')
    expect(JSON.parse(deltas.join(''))).toEqual(value)
  })

  test('is followed by the arguments of a tool', () => {
    const tools = [{ type: 'function', function: { name: 'forecast', parameters: schema } }]
    const [choice] = jsonOf(conversation().chat({ tools, tool_choice: 'required' })).choices
    expect(JSON.parse(choice.message.tool_calls[0].function.arguments)).toEqual(value)
  })

  test('may be left out, and may refer to itself', () => {
    const contentOf = (format: unknown) =>
      JSON.parse(jsonOf(conversation().chat({ response_format: format })).choices[0].message.content)
    expect(contentOf({ type: 'json_object' })).toEqual({ answer: 'text' })
    const endless = { type: 'object', properties: { a: { $ref: '#' }, b: { $ref: '#' } }, required: ['a', 'b'] }
    expect(contentOf({ type: 'json_schema', json_schema: { schema: endless } })).toHaveProperty('a.a.a')
  })
})
