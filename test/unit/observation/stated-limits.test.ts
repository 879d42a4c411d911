import { expect, test } from 'vitest'
import { documentedContract } from '../../../src/contract/documented.ts'
import { statedRequests, statedTokens } from '../../../src/observation/limit-scope.ts'

test('the stated limits are the numbers of their headers, and null where there is none', () => {
  const headers = {
    'x-ratelimit-limit-requests': '75',
    'x-ratelimit-remaining-requests': '"74"',
    'x-ratelimit-reset-requests': 'soon',
    'x-ratelimit-limit-tokens': '750000.5',
    'x-ratelimit-remaining-tokens': '-1',
  }
  expect(statedRequests(headers, documentedContract)).toEqual({ limit: 75, remaining: 74, reset: null })
  expect(statedTokens(headers, documentedContract)).toEqual({ limit: 750_000.5, remaining: null, reset: null })
})

test('each response states its own limits', () => {
  const used = (remaining: string) =>
    statedRequests({ 'x-ratelimit-remaining-requests': remaining }, documentedContract).remaining
  expect([used('2'), used('1'), used('2')]).toEqual([2, 1, 2])
})
