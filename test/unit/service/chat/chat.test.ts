import { describe, expect, test } from 'vitest'
import { documentedContract } from '../../../../src/contract/documented.ts'
import { formatPico, pico } from '../../../../src/lib/money.ts'
import { countTokens } from '../../../../src/service/chat/tokens.ts'
import { conversation, eventsOf, jsonOf, startWallMs, textOf } from '../conversation.ts'

const large = { model: 'ref-large-235b' }

describe('a completion', () => {
  test('has the documented fields', () => {
    const reply = conversation().chat({ service_parameters: { enable_web_search: 'off', unheard_of: 1 } })
    expect(reply).toMatchObject({ status: 200, headers: { 'content-type': 'application/json' } })
    expect(reply.headers).toMatchObject({
      'x-service-model-id': 'ref-nano-3b',
      'x-service-model-name': 'Reference Nano 3B',
    })
    expect(jsonOf(reply)).toEqual({
      id: expect.stringMatching(/^chatcmpl-[0-9A-Za-z]{24}$/),
      object: 'chat.completion',
      prompt_logprobs: null,
      created: Math.floor(startWallMs / 1000),
      model: 'ref-nano-3b',
      choices: [
        {
          index: 0,
          finish_reason: expect.stringMatching(/^(stop|length)$/),
          stop_reason: expect.stringMatching(/^(stop|length)$/),
          logprobs: null,
          message: { role: 'assistant', content: expect.stringMatching(/^\w/), reasoning_content: null },
        },
      ],
      usage: {
        prompt_tokens: expect.any(Number),
        completion_tokens: expect.any(Number),
        total_tokens: expect.any(Number),
        prompt_tokens_details: { cached_tokens: 0, cache_creation_input_tokens: 0 },
        completion_tokens_details: null,
      },
      cost: { usd: expect.any(Number), diem: 0 },
      service_parameters: {
        strip_thinking_response: false,
        disable_thinking: false,
        enable_web_search: 'off',
        enable_web_scraping: false,
        enable_web_citations: false,
        include_search_results_in_stream: false,
        return_search_results_as_documents: false,
        include_venice_system_prompt: true,
        web_search_citations: [],
      },
    })
  })

  test('counts its tokens, and ends at its bound or before it', () => {
    const { chat } = conversation()
    const seen = new Set<string>()
    for (let i = 0; i < 40; i++) {
      const { choices, usage } = jsonOf(chat({ max_completion_tokens: 64 }))
      const [{ finish_reason, message }] = choices
      expect(usage.completion_tokens).toBe(countTokens(message.content))
      expect(usage.total_tokens).toBe(usage.prompt_tokens + usage.completion_tokens)
      if (finish_reason === 'length') expect(usage.completion_tokens).toBe(64)
      else expect(usage.completion_tokens).toBeLessThan(64)
      seen.add(finish_reason)
    }
    expect([...seen].toSorted()).toEqual(['length', 'stop'])
  })

  test('of the largest tier reasons within the bound, unless thinking is disabled', () => {
    const { chat } = conversation()
    const thinking = jsonOf(chat({ ...large, max_completion_tokens: 20 }))
    const [{ message }] = thinking.choices
    expect(thinking.usage.completion_tokens_details.reasoning_tokens).toBe(countTokens(message.reasoning_content))
    expect(thinking.usage.completion_tokens).toBe(countTokens(message.reasoning_content) + countTokens(message.content))
    expect(thinking.usage.completion_tokens).toBeLessThanOrEqual(20)
    const silent = jsonOf(chat({ ...large, service_parameters: { disable_thinking: true } }))
    expect(silent.choices[0].message.reasoning_content).toBeNull()
  })

  test('costs exactly its tokens at list price, and the balance decreases by that amount', async () => {
    const { chat, clock } = conversation()
    const first = chat({ ...large, max_completion_tokens: 33 })
    const { usage, cost } = jsonOf(first)
    const expected =
      BigInt(usage.prompt_tokens) * pico('0.0000009') + BigInt(usage.completion_tokens) * pico('0.0000045')
    expect(pico(cost.usd)).toBe(expected)
    expect(first.headers['x-service-balance-usd']).toBe('10')
    await clock.advanceTo(first.afterMs)
    expect(chat().headers['x-service-balance-usd']).toBe(formatPico(pico('10') - expected))
  })

  test('is charged at its end and not before', async () => {
    const { chat, clock } = conversation()
    const { afterMs } = chat()
    await clock.advanceTo(afterMs - 2)
    expect(chat().headers['x-service-balance-usd']).toBe('10')
    await clock.advanceTo(afterMs)
    expect(chat().headers['x-service-balance-usd']).not.toBe('10')
  })

  test('is paid in DIEM if the DIEM balance covers it', () => {
    const { cost } = jsonOf(conversation({ diem: '1' }).chat())
    expect(cost).toEqual({ usd: 0, diem: expect.any(Number) })
    expect(cost.diem).toBeGreaterThan(0)
  })

  test('has no cost if the model has no price', () => {
    const models = documentedContract.models.map(model => ({ ...model, usdPerMillion: null }))
    expect(jsonOf(conversation({ contract: { ...documentedContract, models } }).chat())).not.toHaveProperty('cost')
  })

  test('has the requested number of choices and counts the tokens of all', () => {
    const { choices, usage } = jsonOf(conversation().chat({ n: 3 }))
    expect(choices.map(({ index }: { index: number }) => index)).toEqual([0, 1, 2])
    const contents = choices.map(({ message }: { message: { content: string } }) => countTokens(message.content))
    expect(usage.completion_tokens).toBe(contents.reduce((sum: number, tokens: number) => sum + tokens, 0))
  })

  test('takes the time to the first token plus one gap per further token', () => {
    const reply = conversation().chat()
    expect(reply.afterMs).toBe(100 + 10 * (jsonOf(reply).usage.completion_tokens - 1))
  })

  test('of one caller does not depend on requests of others', () => {
    const alone = conversation().chat({}, 'ref_default_bob')
    const { chat } = conversation()
    chat()
    const content = (reply: typeof alone) => jsonOf(reply).choices[0].message.content
    expect(content(chat({}, 'ref_default_bob'))).toBe(content(alone))
  })
})

const calling = (...ids: readonly string[]) => ({
  role: 'assistant',
  content: null,
  tool_calls: ids.map(id => ({ id, type: 'function', function: { name: 'look', arguments: '{}' } })),
})
const result = (id: string) => ({ role: 'tool', tool_call_id: id, content: 'found' })

describe('a request', () => {
  test.each([
    ['no messages', { messages: [] }],
    ['a message without role', { messages: [{ content: 'x' }] }],
    ['a message without content', { messages: [{ role: 'user' }] }],
    ['an empty text part', { messages: [{ role: 'user', content: [{ type: 'text', text: '' }] }] }],
    ['an unknown part', { messages: [{ role: 'user', content: [{ type: 'smell' }] }] }],
    ['a frequency penalty of 2.1', { frequency_penalty: 2.1 }],
    ['a max_temp below zero', { max_temp: -0.1 }],
    ['negative top_logprobs', { top_logprobs: -1 }],
    ['a fraction of a token', { max_completion_tokens: 1.5 }],
    ['a stream of text', { stream: 'yes' }],
    ['a web search that is neither on, off nor auto', { service_parameters: { enable_web_search: 'maybe' } }],
    ['an unknown model', { model: 'gpt-0' }],
  ])('with %s is rejected', (_, body) => {
    const reply = conversation().chat(body)
    expect(reply.status).toBe(400)
    expect(jsonOf(reply)).toMatchObject({ error: expect.any(String), issues: [{ path: expect.any(Array) }] })
  })

  test.each([
    ['a max_tokens of zero', { max_tokens: 0 }],
    ['unknown fields', { temperature: 0.3, anything: {} }],
    ['an option after the model name', { model: 'ref-nano-3b:enable_web_search=auto' }],
    [
      'parts',
      {
        messages: [
          {
            role: 'user',
            content: [
              { type: 'text', text: 'hi' },
              { type: 'image_url', image_url: {} },
            ],
          },
        ],
      },
    ],
    ['an assistant that only calls tools', { messages: [{ role: 'assistant', content: null, tool_calls: [{}] }] }],
    ['the results of tool calls', { messages: [calling('a', 'b'), result('b'), result('a')] }],
  ])('with %s is accepted', (_, body) => {
    expect(conversation().chat(body).status).toBe(200)
  })

  test.each([
    ['a result of no call', [result('a')]],
    ['a result with the id of another call', [calling('a'), result('b')]],
    ['two results of one call', [calling('a'), result('a'), result('a')]],
    [
      'a call without a result before the next message',
      [calling('a', 'b'), result('a'), { role: 'user', content: 'go' }],
    ],
  ])('with %s returns 400', (_, messages) => {
    expect(conversation().chat({ messages }).status).toBe(400)
  })

  test('with a content type other than JSON returns 415', () => {
    const { ask } = conversation()
    const reply = ask({
      path: '/chat/completions',
      headers: { 'content-type': 'text/plain' },
      body: { model: 'ref-nano-3b' },
    })
    expect(reply.status).toBe(415)
    expect(reply.headers['x-ratelimit-remaining-requests']).toBe('499')
    expect(ask({ path: '/chat/completions', body: '{' }).status).toBe(400)
  })

  test('without the default system prompt is 40 tokens shorter', () => {
    const { chat } = conversation()
    const tokens = (include: boolean) =>
      jsonOf(chat({ service_parameters: { include_venice_system_prompt: include } })).usage.prompt_tokens
    expect(tokens(true) - tokens(false)).toBe(40)
  })

  test('that can exceed the balance returns 402', () => {
    const reply = conversation({ usd: '0.00001' }).chat()
    expect([reply.status, jsonOf(reply).code]).toEqual([402, 'INSUFFICIENT_BALANCE'])
  })
})

describe('a stream', () => {
  test('has role, reasoning, content, finish and usage chunks and the done marker, in this order', () => {
    const reply = conversation().chat({ ...large, stream: true, max_completion_tokens: 10 })
    expect(reply.headers['content-type']).toBe('text/event-stream')
    const events = eventsOf(reply)
    const { usage, cost, choices } = events.at(-1)
    expect(choices).toEqual([])
    expect(cost.usd).toBeGreaterThan(0)
    const deltas = events.slice(0, -1).map(event => event.choices[0].delta)
    expect(deltas[0]).toEqual({ role: 'assistant', content: '' })
    expect(deltas.at(-1)).toEqual({})
    const kinds = deltas.slice(1, -1).map(delta => Object.keys(delta).join())
    const thought = usage.completion_tokens_details.reasoning_tokens
    expect(kinds).toEqual([
      ...Array.from({ length: thought }, () => 'reasoning_content'),
      ...Array.from({ length: usage.completion_tokens - thought }, () => 'content'),
    ])
    expect(events.flatMap(event => event.choices).filter(choice => choice.finish_reason !== null)).toHaveLength(1)
    expect(new Set(events.map(({ id, model, object }) => `${id} ${model} ${object}`)).size).toBe(1)
    expect(textOf(reply).endsWith('data: [DONE]\n\n')).toBe(true)
  })

  test('has the content, usage and cost of the unstreamed response', () => {
    const whole = jsonOf(conversation().chat())
    const events = eventsOf(conversation().chat({ stream: true }))
    const streamed = events
      .flatMap(event => event.choices)
      .map(({ delta }) => delta.content ?? '')
      .join('')
    expect(streamed).toBe(whole.choices[0].message.content)
    expect(events.at(-1).usage).toEqual(whole.usage)
    expect(events.at(-1).cost).toEqual(whole.cost)
  })

  test('sends one token per gap, after the time to first token', () => {
    const reply = conversation().chat({ stream: true })
    expect(reply.afterMs).toBe(50)
    const times = reply.body.kind === 'stream' ? reply.body.chunks.map(({ afterMs }) => afterMs) : []
    expect(times.slice(0, 4)).toEqual([50, 100, 110, 120])
    expect(times).toEqual(times.toSorted((a, b) => a - b))
  })
})
