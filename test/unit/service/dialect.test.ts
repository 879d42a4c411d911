import { expect, test } from 'vitest'
import { type DialectName, dialectNames } from '../../../src/contract/limit-headers/limit-headers.ts'
import { parseProfile } from '../../../src/contract/profile.ts'
import { statedRequests, statedTokens } from '../../../src/observation/limit-scope.ts'
import { createDialect } from '../../../src/service/dialect.ts'

const nowMs = Date.parse('2026-08-01T12:00:00.250Z')
const speaking = (dialect: DialectName) => parseProfile(`limits: { dialect: ${dialect} }`, 'p.yaml')

const documented = {
  'x-ratelimit-limit-requests': '60',
  'x-ratelimit-remaining-requests': '0',
  'x-ratelimit-reset-requests': String(nowMs + 30_750),
  'x-ratelimit-limit-tokens': '9000',
  'x-ratelimit-remaining-tokens': '8999',
  'x-ratelimit-reset-tokens': String(nowMs + 59_000),
  'x-ratelimit-type': 'user',
  'retry-after': '31',
  'cf-ray': '1',
}
const spoken = (dialect: DialectName, headers: Readonly<Record<string, string>> = documented, status = 429) =>
  createDialect(speaking(dialect)).translate(headers, status, nowMs)

test.each([
  ['kong', { 'ratelimit-limit': '60', 'ratelimit-remaining': '0', 'ratelimit-reset': '31', 'retry-after': '31' }],
  ['ietf', { 'ratelimit-policy': '"default";q=60;w=60', ratelimit: '"default";r=0;t=31', 'retry-after': '31' }],
  ['draft7', { ratelimit: 'limit=60, remaining=0, reset=31', 'retry-after': '31' }],
  ['envoy', { 'x-ratelimit-limit': '60, 60;w=60', 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '31' }],
  [
    'azure',
    { 'x-ratelimit-remaining-requests': '0', 'x-ratelimit-remaining-tokens': '8999', 'retry-after-ms': '31000' },
  ],
  ['none', {}],
] as const)('the service speaks %s', (dialect, headers) => {
  expect(spoken(dialect)).toEqual({ ...headers, 'cf-ray': '1' })
})

test('an own unit of a reset has its own text', () => {
  expect(spoken('openai')).toMatchObject({ 'x-ratelimit-reset-requests': '30.75s', 'x-ratelimit-reset-tokens': '59s' })
  expect(spoken('anthropic')).toMatchObject({ 'anthropic-ratelimit-requests-reset': '2026-08-01T12:00:31.000Z' })
  expect(spoken('github')).toMatchObject({ 'x-ratelimit-reset': '1785585631' })
  expect(spoken('openrouter')).toMatchObject({ 'x-ratelimit-reset': '1785585631000' })
})

test.each(dialectNames)('the judges read in %s what the service stated', dialect => {
  const contract = speaking(dialect)
  const headers = spoken(dialect, documented, 200)
  const { limit, remaining } = statedRequests(headers, contract)
  expect([limit ?? 60, remaining ?? 0]).toEqual([60, 0])
  expect([null, 8999]).toContain(statedTokens(headers, contract).remaining)
})

test('a text that is not a number stays, so that a lie is told', () => {
  const lie = { ...documented, 'x-ratelimit-limit-requests': '60/min' }
  expect(spoken('kong', lie)).toMatchObject({ 'ratelimit-limit': '60/min' })
})
