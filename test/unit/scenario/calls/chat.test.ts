import { expect, test } from 'vitest'
import { documentedContract } from '../../../../src/contract/documented.ts'
import type { Path } from '../../../../src/lib/yaml.ts'
import { chatSchema, resolveChat } from '../../../../src/scenario/calls/chat.ts'

const context = {
  contract: documentedContract,
  isTentative: false,
  callers: 1,
  keysPerCaller: 1,
  written: {},
  resolved: new Map(),
  report: (keys: Path, problem: object) => {
    throw new Error(JSON.stringify({ keys, problem }))
  },
}
const chat = (more: object) => resolveChat({ kind: 'chat', 'model-tier': 'S', 'prompt-tokens': 5, ...more }, context)

test('a chat call with only a bound has no options', () => {
  expect(chat({ 'max-completion-tokens': 9 })).toMatchObject({ maxCompletionTokens: 9, isBounded: true, options: null })
})

test.each([
  [{}, 8192],
  [{ body: { max_tokens: 0 } }, 8192],
  [{ body: { max_tokens: -1 } }, 8192],
  [{ body: { max_tokens: 1.5 } }, 8192],
  [{ body: { max_tokens: 1 } }, 1],
  [{ body: { max_tokens: 100_000 } }, 8192],
])('without its own bound, %j allows %i tokens', (more, tokens) => {
  expect(chat(more)).toMatchObject({ maxCompletionTokens: tokens, isBounded: false })
})

test('"deprecated" selects a deprecated model, if the tier has one', () => {
  expect(chat({ 'model-tier': 'XS' })).toMatchObject({ model: 'ref-nano-3b' })
  expect(chat({ 'model-tier': 'XS', deprecated: true })).toMatchObject({ model: 'ref-nano-1b' })
  expect(chat({ deprecated: true })).toMatchObject({ model: 'ref-small-24b' })
})

test('options contain everything except prompt and bound', () => {
  const more = { body: { n: 2 }, parameters: { disable_thinking: true }, suffix: 'a=b', 'accept-encoding': 'gzip' }
  expect(chat({ ...more, 'same-prompt': true })).toMatchObject({
    options: { body: more.body, parameters: more.parameters, suffix: 'a=b', encoding: 'gzip', samePrompt: true },
  })
})

test.each([
  ['headers', { kind: 'headers' }],
  ['first-byte', { kind: 'first-byte' }],
  ['1.5s', { kind: 'time', ms: 1500 }],
  ['1 token', { kind: 'tokens', count: 1 }],
])('a client may leave after %s', (after, point) => {
  expect(chat({ 'hang-up': { after } })).toMatchObject({ hangUp: { after: point, ratio: 1 } })
})

test('a client that never leaves has no hang-up', () => {
  expect(chat({ 'hang-up': { after: 'headers', ratio: 0 } })).not.toHaveProperty('hangUp')
})

test.each(['0 tokens', '5', '0ms', 'tokens', '-3 tokens', '2h'])('"%s" is no point of a response', after => {
  expect(chatSchema.safeParse({ kind: 'chat', 'prompt-tokens': 5, 'hang-up': { after } }).success).toBe(false)
})

test('a whole response has no tokens to count', () => {
  expect(() => chat({ stream: false, 'hang-up': { after: '5 tokens' } })).toThrow('the response is not a stream')
})

test.each([
  ['20 tokens/s', { unit: 'tokens', perSecond: 20 }],
  ['0.5 tokens/s', { unit: 'tokens', perSecond: 0.5 }],
  ['4096 bytes/s', { unit: 'bytes', perSecond: 4096 }],
])('a client may read %s', (text, readRate) => {
  expect(chat({ 'read-rate': text })).toMatchObject({ readRate })
})

test.each(['20', '0 tokens/s', '-5 tokens/s', '20 tokens', '20 tokens/m', '2000000 bytes/s', '0.05 bytes/s'])(
  '"%s" is not a rate of reading',
  text => {
    const given = { kind: 'chat', 'prompt-tokens': 5, 'read-rate': text }
    expect(chatSchema.safeParse(given).error?.issues[0]?.message).toMatch(/^tokens or bytes per second/)
  },
)

test.each([
  [{ stream: false }, 'no read-rate, since the response is not a stream'],
  [{ 'hang-up': { after: '5 tokens' } }, 'no read-rate, since the client hangs up'],
])('%j has no rate of reading', (more, expected) => {
  expect(() => chat({ ...more, 'read-rate': '20 tokens/s' })).toThrow(expected)
})
