import { describe, expect, test } from 'vitest'
import { noChatOptions } from '../../../../src/contract/chat-options.ts'
import { documentedContract } from '../../../../src/contract/documented.ts'
import { createTwinAudit } from '../../../../src/judge/audits/twins.ts'
import { createFindingLog } from '../../../../src/judge/findings/findings.ts'
import type { Observation } from '../../../../src/observation/observation.ts'
import type { TwinRole } from '../../../../src/observation/requests/traits.ts'
import {
  batchDescriptor,
  chatDescriptor,
  completion,
  observed,
  responseOf,
  rpcHeaders,
  singleDescriptor,
} from '../checks/observed.ts'

function judge(observations: readonly Observation[]) {
  const findingLog = createFindingLog()
  const audit = createTwinAudit({ contract: documentedContract }, findingLog.reporterFor('twins'))
  for (const observation of observations) audit.add(observation, 0)
  audit.finish(true)
  const passed = findingLog.tallies().flatMap(({ id, verdict }) => (verdict === 'pass' ? [id] : []))
  const failed = findingLog
    .findings()
    .map(({ clause, message, examples }) => [clause, message, examples[0]?.requestIds])
  return { passed, failed }
}

type Form = TwinRole['form']
type Part = TwinRole['mayDiffer'][number]

const role = (form: Form, mayDiffer: readonly Part[] = []): TwinRole => ({ group: 4, form, mayDiffer })

function chat(id: number, form: Form, promptTokens: number, status = 200, mayDiffer: readonly Part[] = []) {
  const usage = { ...completion.usage, prompt_tokens: promptTokens, total_tokens: promptTokens + 100 }
  const body = status === 200 ? { ...completion, usage } : { error: 'No' }
  return observed({ ...chatDescriptor, twin: role(form, mayDiffer) }, responseOf(status, body), { id, sentMs: id })
}

function rpc(id: number, form: Form, result: unknown, credits: string, mayDiffer: readonly Part[] = []) {
  const single = { jsonrpc: '2.0', id: singleDescriptor.items[0]?.id, ...(result !== null && { result }) }
  const isBatch = form === 'batched'
  const request = { ...singleDescriptor, batch: isBatch, twin: role(form, mayDiffer) }
  const headers = { ...rpcHeaders, 'x-service-rpc-credits': credits }
  return observed(request, responseOf(200, isBatch ? [single] : single, headers), { id, sentMs: id })
}

test('a text that goes on where more tokens are allowed was cut at its limit', () => {
  const options = { ...noChatOptions, body: { temperature: 0, seed: 7 } }
  const said = (id: number, form: Form, content: string, finish: string, tokens: number, most: number) => {
    const choices = [{ index: 0, message: { role: 'assistant', content }, finish_reason: finish, logprobs: null }]
    const usage = { ...completion.usage, completion_tokens: tokens, total_tokens: 207 + tokens }
    const request = { ...chatDescriptor, options, maxCompletionTokens: most, twin: role(form) }
    return observed(request, responseOf(200, { ...completion, choices, usage }), { id, sentMs: id })
  }
  const whole = said(4, 'original', 'one two three', 'stop', 3, 4)
  const length = ({ passed, failed }: ReturnType<typeof judge>) => ({
    passed: passed.includes('twin.length'),
    failed: failed.filter(([clause]) => clause === 'twin.length').map(([, message]) => message),
  })
  expect(length(judge([whole, said(5, 'shorter', 'one two', 'length', 2, 2)]))).toEqual({ passed: true, failed: [] })
  expect(length(judge([whole, said(5, 'shorter', 'one two', 'stop', 2, 2)]))).toEqual({
    passed: false,
    failed: [
      'a text of the allowed 2 tokens ends with "stop", expected "length", since it goes on with " three" where more are allowed',
    ],
  })
  const open = { passed: false, failed: [] }
  // It ended by itself, says something else, or has the same end.
  expect(length(judge([whole, said(5, 'shorter', 'one', 'stop', 1, 2)]))).toEqual(open)
  expect(length(judge([whole, said(5, 'shorter', 'one 2', 'stop', 2, 2)]))).toEqual(open)
  expect(length(judge([whole, said(5, 'shorter', 'one two three', 'stop', 3, 2)]))).toEqual(open)
})

describe('one prompt in several forms', () => {
  test('may have any number of tokens, if all forms have it', () => {
    expect(judge([chat(4, 'original', 207), chat(5, 'streamed', 207), chat(6, 'other-caller', 207)])).toEqual({
      passed: ['twin.accepted', 'twin.tokens'],
      failed: [],
    })
  })
  test('must not have more tokens in one of them, unless the scenario allows it', () => {
    expect(judge([chat(4, 'original', 207), chat(5, 'streamed', 208)]).failed).toEqual([
      ['twin.tokens', 'the form streamed has prompt tokens 208, expected 207 as without it', [4, 5]],
    ])
    expect(judge([chat(4, 'original', 207, 200, ['tokens']), chat(5, 'streamed', 208, 200, ['tokens'])])).toEqual({
      passed: ['twin.accepted'],
      failed: [],
    })
  })
  test('must not be refused in one of them', () => {
    const message = 'the form compressed got status 406, expected a success or a refusal as without it: 200'
    expect(judge([chat(4, 'original', 207), chat(5, 'compressed', 207, 406)]).failed).toEqual([
      ['twin.accepted', message, [4, 5]],
    ])
    expect(judge([chat(4, 'original', 207, 400), chat(5, 'streamed', 207)]).failed).toHaveLength(1)
    expect(judge([chat(4, 'original', 207, 400), chat(5, 'streamed', 207, 400)]).failed).toEqual([])
  })
  test.each([401, 402, 403, 408, 429, 500, 503])('is not judged where one of them got a %i', status => {
    expect(judge([chat(4, 'original', 207), chat(5, 'streamed', 207, status)])).toEqual({ passed: [], failed: [] })
    expect(judge([chat(4, 'original', 207, status), chat(5, 'streamed', 207)])).toEqual({ passed: [], failed: [] })
  })
})

describe('a deterministic completion', () => {
  const options = { body: { temperature: 0, seed: 7 }, parameters: {}, suffix: null, encoding: null, samePrompt: false }
  const [choice] = completion.choices
  type Said = {
    readonly content?: string
    readonly finish?: string
    readonly tokens?: number
    readonly usd?: number
    readonly cached?: number
  }
  const said = (
    id: number,
    form: Form,
    { content = 'One two three', finish = 'stop', tokens = 100, usd = 0.0003, cached = 0 }: Said = {},
    mayDiffer: readonly Part[] = [],
    body: object = options.body,
  ) => {
    const message = { role: 'assistant', content }
    const usage = {
      ...{ prompt_tokens: 200, completion_tokens: tokens, total_tokens: 200 + tokens },
      prompt_tokens_details: { cached_tokens: cached },
    }
    const whole = {
      ...completion,
      usage,
      cost: { usd, diem: 0 },
      choices: [{ ...choice, finish_reason: finish, message }],
    }
    const request = { ...chatDescriptor, options: { ...options, body: { ...body } }, twin: role(form, mayDiffer) }
    return observed(request, responseOf(200, whole), { id, sentMs: id })
  }
  const other = (changes: Said, form: Form = 'alone', mayDiffer: readonly Part[] = [], body: object = options.body) =>
    judge([said(4, 'original', {}, mayDiffer, body), said(5, form, changes, mayDiffer, body)]).failed.map(
      ([, message]) => message,
    )

  test('is the same in every form', () => {
    expect(judge([said(4, 'original'), said(5, 'alone'), said(6, 'other-key')])).toEqual({
      passed: ['twin.accepted', 'twin.tokens', 'twin.answer'],
      failed: [],
    })
  })
  test('must not have another text, end, number of tokens or price', () => {
    expect(other({ content: 'One two four' })).toEqual([
      'the form alone has from character 0 on the text "One two four", expected "One two three" as without it',
    ])
    expect(other({ finish: 'length' })).toEqual([
      'the form alone has the finish reason "length", expected "stop" as without it',
    ])
    expect(other({ tokens: 101 })).toEqual(['the form alone has completion tokens 101, expected 100 as without it'])
    expect(other({ usd: 0.0004 })).toEqual(['the form alone has the cost 0.0004, expected 0.0003 as without it'])
  })
  test('may have another price from a cache, or of another account', () => {
    expect(other({ usd: 0.0002, cached: 100 })).toEqual([])
    expect(other({ usd: 0.0002 }, 'other-caller')).toEqual([])
  })
  test('may differ where the scenario allows it, or where it was sampled', () => {
    expect(other({ content: 'Four', tokens: 3, usd: 0.0001 }, 'alone', ['answer'])).toEqual([])
    expect(other({ usd: 0.0001 }, 'alone', ['price'])).toEqual([])
    expect(other({ content: 'Four' }, 'alone', [], { temperature: 0 })).toEqual([])
    expect(other({ content: 'Four' }, 'alone', [], { temperature: 0.5, seed: 7 })).toEqual([])
  })
})

describe('one RPC call in several forms', () => {
  test('has one result and one price', () => {
    expect(judge([rpc(4, 'original', { a: [1] }, '20'), rpc(5, 'batched', { a: [1] }, '20')])).toEqual({
      passed: ['twin.accepted', 'twin.credits', 'twin.result'],
      failed: [],
    })
  })
  test('must not differ in a batch, unless the scenario allows it', () => {
    const differing = (mayDiffer: readonly Part[]) =>
      judge([rpc(4, 'original', '0x1', '20', mayDiffer), rpc(5, 'batched', '0x2', '25', mayDiffer)]).failed
    expect(differing([])).toEqual([
      ['twin.credits', 'the form batched has credits 25, expected 20 as without it', [4, 5]],
      ['twin.result', 'the form batched has the results ["0x2"], expected ["0x1"] as without it', [4, 5]],
    ])
    expect(differing(['credits', 'result'])).toEqual([])
  })
  test('is not compared if a node has no result', () => {
    expect(judge([rpc(4, 'original', '0x1', '20'), rpc(5, 'batched', null, '20')]).failed).toEqual([])
  })
})

test('requests without twins are not compared', () => {
  const plain = observed(batchDescriptor, responseOf(200, []), { id: 4 })
  expect(judge([plain, plain])).toEqual({ passed: [], failed: [] })
})

describe('a batch in the other order', () => {
  const batch = (id: number, form: Form, results: readonly (readonly [number, string])[]) => {
    const items = results.map(([itemId]) => ({ id: itemId, method: 'eth_call', failing: false }))
    const responses = results.map(([itemId, result]) => ({ jsonrpc: '2.0', id: itemId, result }))
    const request = { ...singleDescriptor, batch: true, items, twin: role(form) }
    return observed(request, responseOf(200, responses, rpcHeaders), { id, sentMs: id })
  }
  const first = batch(4, 'original', [
    [1, '0xa'],
    [2, '0xb'],
  ])

  test('has the same results, item by item', () => {
    const other = batch(5, 'other-order', [
      [2, '0xb'],
      [1, '0xa'],
    ])
    expect(judge([first, other]).failed).toEqual([])
    expect(judge([first, other]).passed).toContain('twin.result')
  })
  test('must not have those of another place', () => {
    const other = batch(5, 'other-order', [
      [2, '0xa'],
      [1, '0xb'],
    ])
    expect(judge([first, other]).failed.map(([clause]) => clause)).toEqual(['twin.result'])
  })
})

describe('characters per token in two forms', () => {
  const said = (id: number, form: Form, characters: number, more: object = {}) => {
    const message = { role: 'assistant', content: 'a'.repeat(characters), ...more }
    const usage = { prompt_tokens: 200, completion_tokens: 40, total_tokens: 240 }
    const choices = [{ index: 0, message, finish_reason: 'stop', logprobs: null }]
    const request = { ...chatDescriptor, twin: { ...role(form), group: 2 * Math.floor(id / 2) } }
    return observed(request, responseOf(200, { ...completion, choices, usage }), { id, sentMs: id })
  }
  const pairs = (count: number, was: (n: number) => number, is: (n: number) => number, more: object = {}) =>
    Array.from({ length: count }, (_, n) => [
      said(2 * n, 'original', was(n)),
      said(2 * n + 1, 'streamed', is(n), more),
    ]).flat()
  const verdictOf = (observations: readonly Observation[]) => {
    const { passed, failed } = judge(observations)
    return failed.some(([clause]) => clause === 'twin.text') ? 'fail' : passed.includes('twin.text') ? 'pass' : null
  }
  const usual = () => 200

  test.each<[string, readonly Observation[], string | null]>([
    ['half of the text in each', pairs(20, usual, () => 100), 'fail'],
    ['twice the text in each', pairs(20, () => 100, usual), 'fail'],
    ['half of the text in all but one', pairs(20, usual, n => (n === 7 ? 190 : 100)), 'pass'],
    ['a fifth less', pairs(30, usual, () => 160), 'pass'],
    [
      'lengths by chance',
      pairs(
        30,
        n => 100 + 7 * (n % 9),
        n => 100 + 9 * (n % 7),
      ),
      'pass',
    ],
    ['few pairs', pairs(19, usual, () => 100), null],
    ['reasoning in one form', pairs(20, usual, () => 100, { reasoning_content: 'Hm.' }), null],
  ])('%s', (_, observations, verdict) => {
    expect(verdictOf(observations)).toBe(verdict)
  })
})
