import { describe, expect, test } from 'vitest'
import { isExtra } from '../../../src/contract/clauses.ts'
import { loadProfile, parseProfile } from '../../../src/contract/profile.ts'
import { notPromised } from '../../../src/contract/promises.ts'
import { firstScenario } from '../../../src/learn/first-scenario.ts'
import { maxCalls, questions } from '../../../src/learn/learn.ts'
import { isObject, parseJson } from '../../../src/lib/json.ts'
import { pico } from '../../../src/lib/money.ts'
import { type Random, randomStream } from '../../../src/lib/random.ts'
import type { Exchange, Transport } from '../../../src/produce/transport/transport.ts'
import { learnFrom } from '../../support/learn-from.ts'
import { todays } from '../../support/nightly.ts'
import { exchange, nodeServer, type Scripted, scripted } from '../../support/scripted.ts'

const notFound: Scripted = { status: 404, body: '{"error":"not found"}' }

test('the questions before the last one fit into the calls', () => {
  const callsWithout = (...names: readonly string[]) =>
    questions.filter(({ name, calls }) => Number.isFinite(calls) && !names.includes(name)).map(({ calls }) => calls)
  const ofServices = ['replays', 'invalid RPC requests', 'multipliers', 'prices of errors', 'price of a credit']
  const ofOthers = ['rules of JSON-RPC', 'token limits that are none']
  const ofChat = ['replays of completions', 'places of credits']
  for (const bounded of [callsWithout(...ofOthers, ...ofChat), callsWithout(...ofServices, ...ofChat)])
    expect(bounded.reduce((sum, calls) => sum + calls, 0)).toBeLessThan(maxCalls)
})

test('no value equals the documented one, and the profile is short', async () => {
  const { yaml } = await learnFrom()
  const lines = yaml.split('\n').filter(line => line !== '' && !/^ *#/.test(line))
  expect(lines).toEqual([
    'name: "learned-127.0.0.1:8402"',
    'rpc:',
    '  singleErrorIsDiscounted: false',
    'errors:',
    '  layout: "error"',
  ])
})

test('a small budget leaves prices unknown, and is kept', async () => {
  const { spentPico, findings, yaml } = await learnFrom({ budgetUsd: '0.0005' })
  expect(spentPico).toBeLessThanOrEqual(pico('0.0005'))
  expect(findings.filter(({ kind }) => kind === 'unknown').map(finding => 'path' in finding && finding.path)).toContain(
    'rpc.batchLimit',
  )
  expect(yaml.replaceAll('\n#   ', ' ')).toContain('the budget does not cover it')
})

describe('nothing is learned', () => {
  const targets: Readonly<Record<string, readonly [Transport, RegExp]>> = {
    'from a target that refuses connections': [
      async () => exchange({ status: null, failure: { reason: 'connect-refused', detail: 'ECONNREFUSED' } }),
      /^no response could be read \(connect-refused: no program listens at this address\)$/,
    ],
    'from pages for people': [
      scripted(() => ({ type: 'text/html', body: '<html>hello</html>' })),
      /status 200 and text\/html/,
    ],
    'from errors': [
      scripted(() => ({ status: 502, type: 'text/html', body: '<h1>Bad Gateway' })),
      /status 502 and text\/html/,
    ],
    'with a wrong key': [
      scripted(() => ({ status: 401, body: '{"error":"no"}' })),
      /^it refuses the key with status 401$/,
    ],
    'from empty objects': [scripted(() => ({ body: '{}' })), /no response is one of such a service/],
    'from lists of nothing': [scripted(() => ({ body: '[null, [], {}]' })), /no response is one of such a service/],
  }
  test.each(Object.entries(targets))('%s', async (_, [transport, why]) => {
    const { nothing, replies, tookMs } = await learnFrom({ over: () => transport })
    expect(nothing).toMatch(why)
    expect(replies.length).toBeLessThanOrEqual(12)
    expect(tookMs).toBe(0)
  })
})

let completions = 0

/** Answers as an OpenAI-compatible server does. */
const openAi = scripted(({ path }, body) => {
  if (path === '/models')
    return { body: '{"object":"list","data":[{"id":"tiny-llm","object":"model","owned_by":"me"}]}' }
  if (path !== '/chat/completions' || !isObject(body)) return notFound
  if (!Number.isInteger(body.max_tokens) || Number(body.max_tokens) < 0) return { status: 400, body: '{"error":"no"}' }
  const head = { id: `chatcmpl-${++completions}`, created: 1, model: 'tiny-llm' }
  const usage = { prompt_tokens: 5, completion_tokens: 2, total_tokens: 7 }
  if (body.stream !== true) {
    const choices = [{ index: 0, message: { role: 'assistant', content: 'hi' }, finish_reason: 'stop' }]
    return { body: JSON.stringify({ ...head, object: 'chat.completion', choices, usage }) }
  }
  const chunk = (more: object) => JSON.stringify({ ...head, object: 'chat.completion.chunk', ...more })
  const tokens = [chunk({ choices: [{ index: 0, delta: { content: 'hi' }, finish_reason: 'stop' }] })]
  return { events: [...tokens, ...(isObject(body.stream_options) ? [chunk({ choices: [], usage })] : []), '[DONE]'] }
})

const ofChat = ['chat.*', 'catalogue.models', 'twin.accepted', 'twin.tokens', 'twin.length']

test('an OpenAI-compatible server keeps little of the document, which few calls show', async () => {
  const { yaml, differences, replies } = await learnFrom({ over: () => openAi })
  // With three token limits that are none, and 13 that look for a limit that it does not state.
  expect(replies.length).toBeLessThanOrEqual(14 + 3 + 13)
  expect(differences).toEqual([
    'missing: it is a server with the chat interface of OpenAI, and nothing else of the document',
  ])
  const { promises, models } = parseProfile(yaml, 'x')
  expect(promises.only).toEqual(ofChat)
  expect(models.map(({ id, usdPerMillion }) => [id, usdPerMillion])).toEqual([['tiny-llm', null]])
  expect(yaml.replaceAll('\n#   ', ' ')).toContain('with stream_options, usage comes')
})

/** The same server with another response to some requests. */
const openAiBut =
  (change: (body: Readonly<Record<string, unknown>>, usual: Exchange) => Exchange | null): Transport =>
  async (request, signal) => {
    const usual = await openAi(request, signal)
    const body = parseJson(request.body ?? '')
    return (isObject(body) ? change(body, usual) : null) ?? usual
  }

test('such a server promises no clause that its own responses break', async () => {
  const over = () =>
    openAiBut((body, usual) =>
      body.stream === true
        ? null
        : exchange({
            ...usual,
            body: Buffer.from(usual.body.toString().replace('"total_tokens":7', '"total_tokens":8')),
          }),
    )
  const { yaml, differences } = await learnFrom({ over })
  expect(differences[1]).toMatch(/^chat\.usage\.sum: 5 \+ 2 tokens have the stated total 8, expected 7 /)
  const missing = notPromised(parseProfile(yaml, 'x'))
  // The stream of this server adds up.
  expect(missing).not.toContain('chat.usage.sum')
  expect(missing).not.toContain('chat.usage')
})

test('a server that refuses stream_options is not asked for usage, and promises none in streams', async () => {
  const refused = { status: 400, headers: { 'content-type': 'application/json' }, body: Buffer.from('{"error":"no"}') }
  const { yaml } = await learnFrom({
    over: () => openAiBut(body => ('stream_options' in body ? exchange(refused) : null)),
  })
  const contract = parseProfile(yaml, 'x')
  expect(contract.chat.stream.asksForUsage).toBe(false)
  expect(notPromised(contract)).toContain('chat.stream.usage')
  expect(notPromised(contract)).not.toContain('chat.stream.chunk')
})

test('a 429 for the stream that asks for usage accuses no stream that did not ask', async () => {
  const busy = { status: 429, headers: { 'content-type': 'application/json' }, body: Buffer.from('{"error":"busy"}') }
  const { yaml, differences } = await learnFrom({
    over: () => openAiBut(body => ('stream_options' in body ? exchange(busy) : null)),
  })
  expect(differences).toHaveLength(1)
  expect(notPromised(parseProfile(yaml, 'x'))).not.toContain('chat.stream.usage')
})

test('streams with another done marker are read by it', async () => {
  const over = () => {
    const send: Transport = (request, signal) =>
      openAi(
        {
          ...request,
          onStreamBytes: (bytes, atMs) =>
            request.onStreamBytes?.(Buffer.from(bytes.toString().replace('[DONE]', 'the end')), atMs),
        },
        signal,
      )
    return send
  }
  const { yaml, differences } = await learnFrom({ over })
  const contract = parseProfile(yaml, 'x')
  expect(differences).toHaveLength(1)
  expect(contract.chat.stream.doneMarker).toBe('the end')
  expect(notPromised(contract)).not.toContain('chat.stream.done')
})

/** What a server does with a token limit that is none. */
const limits: Readonly<
  Record<string, readonly [read: (limit: unknown) => unknown, notPromised: readonly string[], asked: readonly string[]]>
> = {
  'refuses each': [limit => limit, [], ['token-limit-below-zero', 'token-limit-fraction', 'token-limit-in-words']],
  'reads -1 as no limit, as Ollama and the mock server of guidellm do': [
    limit => (limit === -1 ? 64 : limit),
    ['below-zero'],
    ['token-limit-fraction', 'token-limit-in-words'],
  ],
  'reads 1.5 as 1': [
    limit => (typeof limit === 'number' ? Math.trunc(limit) : limit),
    ['whole-number'],
    ['token-limit-below-zero'],
  ],
  'takes what it cannot read for no limit, as llama.cpp does': [
    limit => (typeof limit === 'number' && limit > 0 ? Math.trunc(limit) : 64),
    ['below-zero', 'whole-number'],
    [],
  ],
}

test.each(Object.entries(limits))('a server that %s promises what it keeps', async (_, [read, broken, asked]) => {
  const over = (): Transport => (request, signal) => {
    const body = parseJson(request.body ?? '')
    const changed = isObject(body) ? { ...body, max_tokens: read(body.max_tokens) } : body
    return openAi({ ...request, body: request.body === null ? null : JSON.stringify(changed) }, signal)
  }
  const lesson = await learnFrom({ over })
  const contract = parseProfile(lesson.yaml, 'x')
  const ofLimits = (id: string) => id.startsWith('chat.token-limit.')
  expect(notPromised(contract).filter(ofLimits)).toEqual(broken.map(each => `chat.token-limit.${each}`))
  const named = lesson.differences.filter(ofLimits).map(each => each.slice(0, each.indexOf(':')))
  expect([...new Set(named)]).toEqual(broken.map(each => `chat.token-limit.${each}`))
  const scenario = firstScenario(lesson, { tierPerMinute: null, budgetUsd: null })
  expect(scenario.match(/token-limit-[a-z-]+/g) ?? []).toEqual(asked)
})

test('a token limit whose refusal is not shown is not promised', async () => {
  const over = (): Transport => openAiBut(body => (body.max_tokens === -1 ? exchange({ status: 500 }) : null))
  const contract = parseProfile((await learnFrom({ over })).yaml, 'x')
  expect(notPromised(contract)).toContain('chat.token-limit.below-zero')
  expect(notPromised(contract)).not.toContain('chat.token-limit.whole-number')
})

test('a gateway that states a version and a model of its own is such a server, too', async () => {
  const named = { 'x-gateway-version': '1.2', 'x-gateway-model-id': 'tiny' }
  const gateway: Transport = async (request, signal) => {
    const answer = await openAi(request, signal)
    return { ...answer, headers: { ...answer.headers, ...named } }
  }
  const { yaml, differences } = await learnFrom({ over: () => gateway })
  expect(differences).toEqual([
    'missing: it is a server with the chat interface of OpenAI, and nothing else of the document',
  ])
  expect(parseProfile(yaml, 'x')).toMatchObject({
    headerPrefix: 'x-service-',
    promises: { only: ofChat },
  })
})

test('a list of models is enough to take a target for such a server, also if completions want a payment', async () => {
  const payment: Transport = async (request, signal) => {
    if (request.method === 'GET') return openAi(request, signal)
    return exchange({ status: 402, headers: { 'payment-required': 'e30=' }, body: Buffer.from('{}') })
  }
  const { yaml, differences } = await learnFrom({ over: () => payment })
  expect(differences).toEqual([
    'missing: it is a server with the chat interface of OpenAI, and nothing else of the document',
  ])
  expect(yaml).toContain('it wants a payment by x402, and learn pays nothing')
  expect(parseProfile(yaml, 'x').promises.only).toEqual(ofChat)
})

test('a service without an RPC proxy lacks the clauses of the proxy, and keeps the others', async () => {
  const over =
    (service: Transport): Transport =>
    (request, signal) =>
      request.path.startsWith('/crypto') ? scripted(() => notFound)(request, signal) : service(request, signal)
  const { yaml, differences } = await learnFrom({ over })
  expect(differences.filter(each => each.startsWith('missing: the RPC proxy'))).toHaveLength(1)
  const missing = notPromised(parseProfile(yaml, 'x'))
  expect(missing).toContain('rpc.credits.amount')
  expect(missing).toContain('catalogue.networks')
  expect(missing.filter(id => id.startsWith('chat.') && !isExtra(id))).toEqual([])
})

test('a service without completions lacks the clauses of completions, and keeps the others', async () => {
  const over =
    (service: Transport): Transport =>
    (request, signal) =>
      request.path.startsWith('/chat') ? scripted(() => notFound)(request, signal) : service(request, signal)
  const { yaml } = await learnFrom({ over })
  const missing = notPromised(parseProfile(yaml, 'x'))
  expect(missing).toContain('chat.usage')
  expect(missing.filter(id => id.startsWith('rpc.') && !isExtra(id))).toEqual([])
})

test.each(['openai-compatible', 'json-rpc-node'])(
  'what little such a target keeps is what the profile %s says',
  async name => {
    const { yaml } = await learnFrom({ over: () => (name === 'openai-compatible' ? openAi : nodeServer) })
    const [learned, shipped] = [parseProfile(yaml, 'x'), loadProfile(`scenarios/profiles/${name}.yaml`)]
    expect(learned.promises).toEqual(shipped.promises)
    expect(learned.auth).toEqual(shipped.auth)
    expect({ ...learned.chat, unknownMembers: null, compression: 'required' }).toEqual({
      ...shipped.chat,
      unknownMembers: null,
    })
    expect({ ...learned.rpc, batchLimit: 0 }).toEqual({ ...shipped.rpc, batchLimit: 0 })
  },
)

const weird: readonly unknown[] = [
  ...[null, true, -1, 1e308, '', 'é\u202e\u0007\u001b[31m', 'a: b\n- c # d', '0'.repeat(3000), [], [[]], {}],
  ...[
    { __proto__: 1, key: 'x' },
    '"; rm -rf /',
    '\ud800',
    0.1,
    '9'.repeat(30),
    '-0.5',
    'NaN',
    { error: { message: 7 } },
  ],
]
const weirdNames = ['id', 'token', '__proto__', 'constructor', 'x y', 'é', '2', 'null']

/** The same value with some parts replaced. */
function disturbed(value: unknown, random: Random): unknown {
  if (random.next() < 0.08) return weird[random.int(weird.length)]
  if (Array.isArray(value)) return value.map(each => disturbed(each, random))
  if (!isObject(value)) return value
  const members = Object.entries(value).map(
    ([name, each]) =>
      [
        random.next() < 0.03 ? (weirdNames[random.int(weirdNames.length)] ?? '') : name,
        disturbed(each, random),
      ] as const,
  )
  return Object.fromEntries(members)
}

/** The reference service, with disturbed bodies, headers and statuses. */
const gremlin =
  (random: Random) =>
  (service: Transport): Transport =>
  async (request, signal) => {
    const reply = await service(request, signal)
    const headers = Object.fromEntries(
      Object.entries(reply.headers).map(([name, text]) => [
        name,
        random.next() < 0.1 ? String(weird[random.int(weird.length)]) : text,
      ]),
    )
    const json = parseJson(reply.body)
    const body = json === undefined ? reply.body : Buffer.from(JSON.stringify(disturbed(json, random)) ?? '')
    const status = random.next() < 0.03 ? ([200, 204, 302, 404, 429, 500, 999][random.int(7)] ?? 200) : reply.status
    if (random.next() < 0.02) return { ...reply, status: null, failure: { reason: 'connection-lost', detail: '' } }
    return { ...reply, status, headers, body }
  }

test.each(
  todays(
    Array.from({ length: 60 }, (_, seed) => seed),
    4,
  ),
)('a target that sends nonsense makes a profile that loads, seed %i', async seed => {
  const { yaml, replies, nothing } = await learnFrom({ over: gremlin(randomStream(seed, 'nonsense')) })
  expect(replies.length).toBeLessThanOrEqual(maxCalls)
  expect(nothing).toBe(null)
  expect(() => parseProfile(yaml, 'x')).not.toThrow()
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what it looks for
  expect(yaml).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/)
  expect(yaml.length).toBeLessThan(200_000)
})
