import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type ImportedTraffic, type ImportOptions, importTraffic } from '../../../src/traffic/import-traffic.ts'
import { elementsOf } from '../../../src/traffic/text-source.ts'
import { recordedRun } from '../../support/recorded-run.ts'

let directory = ''
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'turnpike-traffic-'))
})
afterAll(() => rmSync(directory, { recursive: true }))
beforeEach(() => {
  for (const name of readdirSync(directory)) rmSync(join(directory, name), { recursive: true })
})

const trace = () => readFileSync(join(directory, 'traffic.trace.jsonl'), 'utf8')
const rows = () =>
  trace()
    .trim()
    .split('\n')
    .map(line => JSON.parse(line) as Record<string, unknown>)

async function imported(document: unknown, options: Partial<ImportOptions> = {}): Promise<ImportedTraffic> {
  const file = join(directory, 'source')
  writeFileSync(file, typeof document === 'string' ? document : JSON.stringify(document, null, 1))
  return await importTraffic(file, { out: join(directory, 'traffic.yaml'), ...options })
}

/** A span as the conventions of OpenTelemetry for generative AI describe it. */
const span = (startMs: number, attributes: Readonly<Record<string, string | number>>) => ({
  traceId: '5b8efff798038103d269b633813fc60c',
  spanId: 'eee19b7ec3c1b174',
  name: 'chat gpt-4',
  kind: 3,
  startTimeUnixNano: `${1_544_712_660_000 + startMs}000000`,
  endTimeUnixNano: '1544712661000000000',
  attributes: Object.entries(attributes).map(([key, value]) => ({
    key,
    value: typeof value === 'string' ? { stringValue: value } : { intValue: String(value) },
  })),
})
const chat = (input: number, output: number, more: Readonly<Record<string, string | number>> = {}) => ({
  'gen_ai.operation.name': 'chat',
  'gen_ai.provider.name': 'openai',
  'gen_ai.request.model': 'gpt-4',
  'gen_ai.usage.input_tokens': input,
  'gen_ai.usage.output_tokens': output,
  ...more,
})
const spans = (...list: readonly object[]) => ({
  resourceSpans: [
    {
      resource: { attributes: [{ key: 'service.name', value: { stringValue: 'my.service {"' } }] },
      scopeSpans: [{ scope: { name: 'my.library', version: '1.0.0' }, spans: list }],
    },
  ],
})
const messages = (...texts: readonly string[]) =>
  JSON.stringify(texts.map(content => ({ role: 'user', parts: [{ type: 'text', content }] })))

const snakeCase = (json: string): string =>
  json.replace(
    /"([a-z]+(?:[A-Z][a-z]+)+)":/g,
    (_, name: string) => `"${name.replace(/[A-Z]/g, letter => `_${letter.toLowerCase()}`)}":`,
  )

describe('spans', () => {
  test('become requests with their conversation, model and cached tokens, in the order of their starts', async () => {
    const result = await imported(
      spans(
        span(500, chat(200, 52, { 'gen_ai.conversation.id': 'conv_5j66UpCpwteGg4YSxUnt7lPY' })),
        span(0, chat(97, 52, { 'gen_ai.conversation.id': 'conv_5j66UpCpwteGg4YSxUnt7lPY' })),
        span(700, chat(811, 92, { 'gen_ai.usage.cache_read.input_tokens': 640, 'gen_ai.request.model': 'gpt-4.1' })),
        // An agent adds up the tokens of its own requests, and a tool has none.
        span(0, { ...chat(900, 90), 'gen_ai.operation.name': 'invoke_agent' }),
        span(1, { 'gen_ai.operation.name': 'execute_tool' }),
        span(2, { 'http.request.method': 'GET' }),
      ),
    )
    expect(result).toMatchObject({ format: 'otlp', requests: 3, sessions: 1, durationMs: 700, bad: 0 })
    expect(Object.values(result.leftOut)).toEqual([3])
    const [first, second, third] = rows()
    expect(first).toMatchObject({ timestamp: 0, input_length: 97, output_length: 52, call: 'gpt-4' })
    expect(second).toMatchObject({ timestamp: 500, input_length: 200, session_id: first?.session_id })
    expect(third).toEqual({ timestamp: 700, input_length: 811, output_length: 92, cached_length: 640, call: 'gpt-4-1' })
    expect(trace()).not.toContain('conv_')
  })

  test('may be one document per line', async () => {
    const lines = [0, 10].map(startMs => JSON.stringify(spans(span(startMs, chat(8, 2)))))
    expect(await imported(lines.join('\n'))).toMatchObject({ format: 'otlp', requests: 2 })
  })

  test.each<readonly [string, (document: ReturnType<typeof spans>) => unknown]>([
    ['lists of documents', document => [document, document]],
    ['resourceSpans alone', ({ resourceSpans }) => [...resourceSpans, ...resourceSpans]],
    ['batches of a store of traces', ({ resourceSpans }) => ({ batches: [...resourceSpans, ...resourceSpans] })],
    ['another key first', document => ({ trace: { timestamp: 5, spans: 2 }, of: [document, document] })],
    ['names of Protobuf', document => JSON.parse(snakeCase(JSON.stringify([document, document])))],
  ])('may be %s', async (_, form) => {
    const document = form(spans(span(0, chat(97, 52))))
    const result = await imported(JSON.stringify(document))
    expect(result).toMatchObject({ format: 'otlp', requests: 2, bad: 0 })
  })

  const printed = (startTime: unknown, attributes: object) => ({ name: 'chat', start_time: startTime, attributes })
  const listed = [span(0, chat(97, 52)), span(700, chat(8, 2))]
  test.each<readonly [string, unknown]>([
    ['a list', listed],
    ['one per line', listed.map(each => JSON.stringify(each)).join('\n')],
    ['one after another', listed.map(each => JSON.stringify(each, null, 4)).join('\n')],
    ['with names of Protobuf', snakeCase(JSON.stringify(listed))],
    [
      'as consoles print them',
      [
        printed('2026-01-15T12:00:00.100000Z', chat(97, 52)),
        printed('2026-01-15T12:00:00.800000Z', { ...chat(8, 2), 'gen_ai.request.stop_sequences': ['END'] }),
      ],
    ],
    [
      'with seconds and nanoseconds',
      [
        [5, 100_000_000],
        [5, 800_000_000],
      ].map((at, first) => printed(at, first ? chat(8, 2) : chat(97, 52))),
    ],
  ])('without a document may be %s', async (_, source) => {
    const result = await imported(source)
    expect(result).toMatchObject({ format: 'spans', requests: 2, bad: 0, durationMs: 700 })
    expect(rows()).toMatchObject([
      { input_length: 97, output_length: 52 },
      { input_length: 8, output_length: 2 },
    ])
  })

  test('of OpenInference have their own names', async () => {
    const llm = (startMs: number, content: string) =>
      span(startMs, {
        'openinference.span.kind': 'LLM',
        'llm.model_name': 'gpt-4o',
        'llm.token_count.prompt': 40,
        'llm.token_count.completion': 7,
        'llm.token_count.prompt_details.cache_read': 32,
        'session.id': 'a',
        'llm.input_messages.1.message.role': 'user',
        'llm.input_messages.1.message.contents.0.message_content.text': content,
        'llm.input_messages.0.message.role': 'system',
        'llm.input_messages.0.message.content': 'Answer in French.',
      })
    const chain = span(0, { 'openinference.span.kind': 'CHAIN', 'llm.token_count.prompt': 80 })
    const result = await imported(spans(chain, llm(0, 'Name a lake.'), llm(9, 'Name a river.')), { keepsText: true })
    expect(result).toMatchObject({ requests: 2, sessions: 1, bad: 0 })
    expect(rows()).toMatchObject([
      {
        input_length: 40,
        output_length: 7,
        cached_length: 32,
        text_input: 'system: Answer in French.\nuser: Name a lake.',
      },
      { text_input: 'system: Answer in French.\nuser: Name a river.' },
    ])
  })

  test.each([
    ['spans without a start', printed(undefined, chat(8, 2)), 'got startTimeUnixNano nothing, expected nanoseconds'],
    ['a start that is no date', printed('yesterday', chat(8, 2)), 'got start_time "yesterday", expected a date'],
  ])('without a document: %s', async (_, wrong, message) => {
    await expect(imported([wrong], { from: 'spans' })).rejects.toThrow(message)
  })

  test('may have numbers as texts, and messages as values', async () => {
    const asValue = (value: unknown): object =>
      typeof value === 'string'
        ? { stringValue: value }
        : Array.isArray(value)
          ? { arrayValue: { values: value.map(asValue) } }
          : {
              kvlistValue: {
                values: Object.entries(value as object).map(([key, of]) => ({ key, value: asValue(of) })),
              },
            }
    const content = 'Please name the ten largest lakes of the world, and how deep each of them is at most.'
    const list = JSON.parse(messages(content)) as unknown
    const one = span(0, chat(200, 52))
    const two = span(5, { ...chat(200, 52), 'gen_ai.input.messages': messages(content) })
    const tokens = one.attributes.filter(({ key }) => !key.startsWith('gen_ai.usage'))
    const withTexts = {
      ...one,
      attributes: [
        ...tokens,
        { key: 'gen_ai.usage.input_tokens', value: { stringValue: '200' } },
        { key: 'gen_ai.usage.output_tokens', value: { stringValue: '52' } },
        { key: 'gen_ai.input.messages', value: asValue(list) },
      ],
    }
    expect(await imported(spans(withTexts, two))).toMatchObject({ requests: 2, bad: 0 })
    const [first, second] = rows()
    expect(first).toMatchObject({ input_length: 200, output_length: 52 })
    expect(first?.hash_ids).not.toEqual([])
    expect(first?.hash_ids).toEqual(second?.hash_ids)
  })

  test('begin with their system instructions', async () => {
    const of = (instructions: string) => ({
      ...chat(200, 52),
      'gen_ai.system_instructions': JSON.stringify([{ type: 'text', content: instructions }]),
      'gen_ai.input.messages': messages('Which lake is the deepest one of the world, and how deep is it?'),
    })
    await imported(spans(span(0, of('Answer in French.')), span(5, of('Answer in Latin.'))), { keepsText: true })
    const [first, second] = rows()
    expect(first?.text_input).toMatch(/^system: Answer in French\.\nuser: Which/)
    expect(first?.hash_ids).not.toEqual(second?.hash_ids)
  })

  test('of another kind are named if there is nothing else', async () => {
    await expect(imported(spans(span(0, { 'http.request.method': 'GET' })))).rejects.toThrow(
      'got no request, 1 spans that are no request to a chat model, expected at least one request',
    )
  })

  test('share the blocks of the text that they share, and keep no text unless it is wanted', async () => {
    const beginning = 'You are a helpful assistant who answers in one sentence and never guesses. '.repeat(4)
    const list = [`${beginning}How long is the Nile?`, `${beginning}And the Rhine?`, 'Something else. '.repeat(20)]
    const document = spans(
      ...list.map((text, at) => span(at, chat(90, 5, { 'gen_ai.input.messages': messages(text) }))),
    )
    await imported(document)
    const ids = rows().map(({ hash_ids: blocks }) => blocks as readonly number[])
    // 306 characters are four blocks of 64.
    expect(ids[0]?.slice(0, 4)).toEqual(ids[1]?.slice(0, 4))
    expect(ids[2]?.some(id => ids[0]?.includes(id))).toBe(false)
    expect(trace()).not.toMatch(/helpful|Nile/)
    for (const name of ['traffic.yaml', 'traffic.trace.jsonl']) rmSync(join(directory, name))
    await imported(document, { keepsText: true })
    expect(rows()[0]?.text_input).toBe(`user: ${list[0]}`)
  })

  test.each([
    ['without tokens', span(0, { 'gen_ai.operation.name': 'chat' }), 'got gen_ai.usage.input_tokens nothing, expected'],
    [
      'without a time',
      { ...span(0, chat(1, 1)), startTimeUnixNano: 'x' },
      'got startTimeUnixNano "x", expected nanoseconds since 1970',
    ],
  ])('%s are bad', async (_, wrong, message) => {
    await expect(imported(spans(wrong))).rejects.toThrow(message)
    const many = Array.from({ length: 200 }, (_, at) => span(at, chat(8, 2)))
    const { bad, badLines } = await imported(spans(...many, wrong))
    expect(bad).toBe(1)
    // The line where the span begins.
    const lines = readFileSync(join(directory, 'source'), 'utf8').split('\n')
    expect(lines[(badLines[0]?.line ?? 0) - 1]).toMatch(/^ +\{$/)
    expect(badLines[0]?.line).toBeGreaterThan(lines.length - 80)
  })

  test('of a file that ends too early are bad', async () => {
    const whole = JSON.stringify(spans(span(0, chat(8, 2)), span(1, chat(8, 2))))
    await expect(imported(whole.slice(0, -40))).rejects.toThrow(/got the end of the file within a list/)
  })
})

const secret = 'sk-live-Zm9vYmFyYmF6cXV4'
const entry = (at: string, body: unknown, answer: unknown, more: object = {}) => ({
  startedDateTime: at,
  time: 50,
  request: {
    method: 'POST',
    url: `https://api.example.com/v1/chat/completions?api_key=${secret}`,
    httpVersion: 'HTTP/1.1',
    cookies: [{ name: 'sid', value: 'cookie-value-0123' }],
    headers: [
      { name: 'Authorization', value: `Bearer ${secret}` },
      { name: 'Cookie', value: 'sid=cookie-value-0123' },
      { name: 'X-Api-Key', value: 'another-key-4567' },
    ],
    queryString: [{ name: 'api_key', value: secret }],
    postData: { mimeType: 'application/json', text: JSON.stringify(body) },
    ...more,
  },
  response: {
    status: 200,
    headers: [{ name: 'Set-Cookie', value: 'sid=cookie-value-0123' }],
    content: { mimeType: 'application/json', text: typeof answer === 'string' ? answer : JSON.stringify(answer) },
  },
})
const har = (...entries: readonly object[]) => ({
  log: { version: '1.2', creator: { name: 'WebInspector', version: '537.36' }, pages: [], entries },
})
const asked = { model: 'gpt-4o', messages: [{ role: 'user', content: `My key is ${secret}. Hello?` }] }
const usage = { usage: { prompt_tokens: 19, completion_tokens: 10, prompt_tokens_details: { cached_tokens: 16 } } }

describe('a HAR', () => {
  test('has the requests to chat models, and nothing else', async () => {
    const result = await imported(
      har(
        entry('2026-01-31T12:00:00.250Z', asked, usage),
        entry('2026-01-31T12:00:00.000Z', { jsonrpc: '2.0', method: 'eth_chainId' }, {}),
        entry('2026-01-31T12:00:01.250+00:00', { ...asked, model: 'o3' }, usage),
        entry('2026-01-31T12:00:00.000Z', asked, usage, { method: 'GET' }),
      ),
    )
    expect(result).toMatchObject({ format: 'har', requests: 2, durationMs: 1_000, bad: 0 })
    expect(Object.values(result.leftOut)).toEqual([2])
    expect(
      rows().map(({ timestamp, input_length: input, output_length: output, call }) => [timestamp, input, output, call]),
    ).toEqual([
      [0, 19, 10, 'gpt-4o'],
      [1_000, 19, 10, 'o3'],
    ])
  })

  const events = (...list: readonly object[]) => list.map(each => `data: ${JSON.stringify(each)}\n\n`).join('')
  test.each([
    ['the usage of a stream', events({ choices: [{ delta: { content: 'Hi' } }] }, { choices: [], ...usage }), 19, 10],
    [
      'the usage of Anthropic, which counts cached tokens apart',
      events(
        {
          type: 'message_start',
          message: { usage: { input_tokens: 3, cache_read_input_tokens: 20, output_tokens: 1 } },
        },
        { type: 'message_delta', usage: { output_tokens: 12 } },
      ),
      23,
      12,
    ],
    ['lengths of the texts without a usage', { choices: [{ message: { content: 'x'.repeat(400) } }] }, 12, 100],
  ])('takes %s', async (_, answer, input, output) => {
    await imported(har(entry('2026-01-31T12:00:00.000Z', asked, answer)))
    expect(rows()[0]).toMatchObject({ input_length: input, output_length: output })
  })

  test.each([false, true])('shows no secret (text: %s)', async keepsText => {
    const said = `I am cookie-value-0123, ${secret} and another-key-4567`
    const result = await imported(
      har(entry('2026-01-31T12:00:00Z', { ...asked, messages: [{ role: 'user', content: said }] }, usage)),
      { keepsText },
    )
    const written = ['traffic.yaml', 'traffic.trace.jsonl'].map(name => readFileSync(join(directory, name), 'utf8'))
    for (const text of [...written, JSON.stringify(result)]) {
      expect(text).not.toMatch(/Zm9vYmFy|cookie-value|another-key|example\.com/)
    }
    expect(rows()[0]?.text_input).toBe(keepsText ? 'user: I am ***, *** and ***' : undefined)
  })

  test('names no secret in a message', async () => {
    const wrong = entry('when', { ...asked, max_tokens: secret }, '')
    const refused = await imported(har(wrong)).catch(cause => cause as Error)
    expect(String(refused)).toMatch(/got startedDateTime "when", expected a date such as 2026-01-31T12:00:00.000Z/)
    const other = await imported(har(entry('2026-01-31T12:00:00Z', { ...asked, max_tokens: secret }, ''))).catch(
      cause => cause as Error,
    )
    expect(String(other)).toMatch(/got the tokens of an answer/)
    expect(String(other)).not.toContain('Zm9v')
  })
})

describe('the objects of a JSON document', () => {
  const document = {
    log: { a: ['{"entries": [{}]}', { entries: [{ no: 1 }] }], entries: [{ 'x"}': '\\"{' }, { y: [{}] }] },
  }
  test.each([1, 2, 3, 7, 1_000])('are found in chunks of %d', async size => {
    const text = JSON.stringify(document)
    const chunks = (async function* () {
      for (let at = 0; at < text.length; at += size) yield text.slice(at, at + size)
    })()
    const found: unknown[] = []
    for await (const batch of elementsOf('file', chunks, /^log\/entries$/))
      for (const each of batch) found.push(each.text === null ? null : JSON.parse(each.text))
    expect(found).toEqual(document.log.entries)
  })
})

test('a run becomes a trace of its chats, with their sessions', async () => {
  const path = join(directory, 'run')
  const scenario = `name: mine
callers: { count: 1 }
calls:
  talk: { kind: conversation, turns: 2, user-tokens: 20, max-completion-tokens: 8, think: 100ms }
  ask: { kind: chat, prompt-tokens: 30, max-completion-tokens: 5 }
  rpc: { kind: rpc, network: ethereum-mainnet, methods: { eth_blockNumber: 1 } }
stages:
  - { name: steady, duration: 6s, shape: constant, rate: 1/s, mix: { talk: 1, ask: 1, rpc: 1 } }
`
  await recordedRun(path, { scenario })
  const result = await importTraffic(path, { out: join(directory, 'traffic.yaml') })
  expect(result).toMatchObject({ format: 'run', bad: 0 })
  const calls = rows().map(({ call }) => call)
  expect(new Set(calls)).toEqual(new Set(['talk', 'ask']))
  const talks = rows().filter(({ call }) => call === 'talk')
  expect(talks.length).toBe((result.sessions ?? 0) * 2)
  expect(talks.every(({ session_id: session }) => typeof session === 'string')).toBe(true)
  for (const { input_length: input } of rows().filter(({ call }) => call === 'ask')) expect(input).toBe(30)
  expect(Object.values(result.leftOut)[0]).toBeGreaterThan(0)
})
