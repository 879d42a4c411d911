import { describe, expect, test } from 'vitest'
import { documentedContract } from '../../../../src/contract/documented.ts'
import { randomStream } from '../../../../src/lib/random.ts'
import { buildChat, makePrompt } from '../../../../src/produce/calls/chat.ts'
import { bodyOf, bounds, chatPlan, key, requestContext } from './request-context.ts'

describe('a chat call', () => {
  test('has exactly the fields of the documented body', () => {
    const body = bodyOf(buildChat(chatPlan, 3, key, requestContext()))
    expect(body).toEqual({
      model: 'ref-small-24b',
      messages: [{ role: 'user', content: makePrompt(40, randomStream(1, 'prompt/3')) }],
      stream: true,
      stream_options: { include_usage: true },
      max_completion_tokens: 64,
      service_parameters: { include_venice_system_prompt: false },
    })
  })

  test('is a JSON request to the path of the contract, with the key and the bounds of chat calls', () => {
    const { request } = buildChat(chatPlan, 3, key, requestContext())
    expect(request).toMatchObject({ method: 'POST', path: '/chat/completions', timeouts: bounds.timeouts.chat })
    expect(request.headers).toEqual({
      'content-type': 'application/json',
      accept: 'text/event-stream',
      authorization: 'Bearer test-key',
    })
  })

  test('does not ask for usage if the profile says so, or if it is not streamed', () => {
    const { chat } = documentedContract
    const contract = { ...documentedContract, chat: { ...chat, stream: { ...chat.stream, asksForUsage: false } } }
    expect(bodyOf(buildChat(chatPlan, 3, key, requestContext({ contract })))).not.toHaveProperty('stream_options')
    expect(bodyOf(buildChat({ ...chatPlan, stream: false }, 3, key, requestContext()))).not.toHaveProperty(
      'stream_options',
    )
  })

  test('without streaming states this, and accepts JSON', () => {
    const call = buildChat({ ...chatPlan, stream: false }, 3, key, requestContext())
    expect(bodyOf(call).stream).toBe(false)
    expect(call.request.headers.accept).toBe('application/json')
  })

  test('has a descriptor without the prompt and the key', () => {
    const { isBounded: _, ...told } = chatPlan
    expect(buildChat(chatPlan, 3, key, requestContext()).descriptor).toEqual(told)
  })

  test('sends and describes extra fields, options, suffix and encoding', () => {
    const options = {
      body: { logprobs: true, messages: [{ role: 'user', content: 'own' }] },
      parameters: { enable_web_search: 'on' },
      suffix: 'disable_thinking=true',
      encoding: 'br',
      samePrompt: false,
    }
    const call = buildChat({ ...chatPlan, isBounded: false, options }, 3, key, requestContext())
    expect(bodyOf(call)).toEqual({
      model: 'ref-small-24b:disable_thinking=true',
      messages: [{ role: 'user', content: 'own' }],
      stream: true,
      stream_options: { include_usage: true },
      logprobs: true,
      service_parameters: { include_venice_system_prompt: false, enable_web_search: 'on' },
    })
    expect(call.request.headers['accept-encoding']).toBe('br')
    expect(call.descriptor).toMatchObject({ options })
  })

  test('with the option for the same prompt sends one prompt for every id', () => {
    const options = { body: {}, parameters: {}, suffix: null, encoding: null, samePrompt: true }
    const bodies = [1, 2].map(id => buildChat({ ...chatPlan, options }, id, key, requestContext()).request.body)
    expect(bodies[0]).toBe(bodies[1])
  })

  test('uses the option names and the path of the profile', () => {
    const { chat, paths } = documentedContract
    const contract = {
      ...documentedContract,
      paths: { ...paths, chat: '/v2/chat' },
      chat: { ...chat, parametersField: 'own_parameters', systemPromptOption: 'include_own_prompt' },
    }
    const call = buildChat(chatPlan, 3, key, requestContext({ contract }))
    expect(bodyOf(call).own_parameters).toEqual({ include_own_prompt: false })
    expect(call.request.path).toBe('/v2/chat')
  })
})

describe('a prompt', () => {
  test.each([1, 2, 40, 5_000])('of %i tokens has that many words, separated by one space', tokens => {
    const words = makePrompt(tokens, randomStream(1, 'prompt/0')).split(' ')
    expect(words).toHaveLength(tokens)
    expect(words.every(word => /^[a-z]+$/.test(word))).toBe(true)
  })

  test('uses the whole list of words evenly', () => {
    const counts = new Map<string, number>()
    for (const word of makePrompt(195 * 500, randomStream(1, 'prompt/0')).split(' '))
      counts.set(word, (counts.get(word) ?? 0) + 1)
    expect(counts.size).toBe(195)
    expect(Math.min(...counts.values())).toBeGreaterThan(400)
    expect(Math.max(...counts.values())).toBeLessThan(600)
  })

  test('is new for each request, so a prompt cache never hits', () => {
    const prompts = Array.from(
      { length: 2_000 },
      (_, id) => buildChat(chatPlan, id, key, requestContext()).request.body,
    )
    expect(new Set(prompts).size).toBe(2_000)
  })

  test('depends on the seed and the request only', () => {
    const body = (seed: number) => buildChat(chatPlan, 3, key, requestContext({ seed })).request.body
    expect(body(1)).toBe(body(1))
    expect(body(1)).not.toBe(body(2))
  })

  test('does not depend on the response options', () => {
    const content = (plan: typeof chatPlan) => bodyOf(buildChat(plan, 3, key, requestContext())).messages[0].content
    expect(content({ ...chatPlan, stream: false, maxCompletionTokens: 1 })).toBe(content(chatPlan))
  })
})

describe('a chat call to a server without service-specific options', () => {
  const { chat } = documentedContract
  const contract = {
    ...documentedContract,
    chat: { ...chat, systemPromptOption: null, lengthField: 'max_tokens' as const },
  }

  test('has only fields that every such server knows', () => {
    expect(bodyOf(buildChat(chatPlan, 3, key, requestContext({ contract })))).toEqual({
      model: 'ref-small-24b',
      messages: [{ role: 'user', content: makePrompt(40, randomStream(1, 'prompt/3')) }],
      stream: true,
      stream_options: { include_usage: true },
      max_tokens: 64,
    })
  })

  test('has the options that the scenario asks for', () => {
    const options = { body: {}, parameters: { persona: 'ann' }, suffix: null, encoding: null, samePrompt: false }
    expect(bodyOf(buildChat({ ...chatPlan, options }, 3, key, requestContext({ contract })))).toMatchObject({
      service_parameters: { persona: 'ann' },
    })
  })
})
