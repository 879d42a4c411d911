import { expect, test } from 'vitest'
import { addKey, countOfKey, hasOtherKeys, noCounts } from '../../../../../src/judge/audits/rate-limits/limit-use.ts'
import {
  createLimitWindow,
  mayLackTokens,
  type WindowRequest,
} from '../../../../../src/judge/audits/rate-limits/window.ts'
import { createFindingLog } from '../../../../../src/judge/findings/findings.ts'

const counts = [0, 2, 2].reduce(addKey, noCounts)

test('requests are counted by key, and an unused key has none', () => {
  expect([0, 1, 2, 3].map(key => countOfKey(counts, key))).toEqual([1, 0, 2, 0])
})

test('other keys are keys with requests', () => {
  expect(hasOtherKeys(counts, 2)).toBe(true)
  expect(hasOtherKeys(addKey(noCounts, 1), 1)).toBe(false)
  expect(hasOtherKeys(noCounts, 0)).toBe(false)
})

test.each([
  ['429s that may be for tokens may count as requests', 50, []],
  ['other 429s do not count', 500, ['limit.requests.not-early']],
])('%s', (_, tokensLeft, clauses) => {
  const findingLog = createFindingLog()
  const options = { scope: 'chat', limit: 20, tokenLimit: 600, isComplete: () => true, earlierTokens: () => 0 }
  const window = createLimitWindow({ ...options, earlierRequests: () => 0 }, findingLog.reporterFor('rate-limits'))
  let id = 0
  const send = (count: number, kind: WindowRequest['kind'], maxTokens: number, left: number) => {
    for (const until = id + count; id < until; id++) {
      const times = { sentMs: 100 * id, shownMs: 100 * id + 50, settledMs: 100 * id + 50 }
      const stated = { stated: 20, remaining: Math.max(0, 19 - id), maxTokens, tokensLeft: left }
      window.add({ ...times, ...stated, id, key: 0, isRetry: false, kind }, 100 * id)
    }
  }
  // Of the first case, five requests are too large for the tokens that are left.
  send(10, 'accepted', 55, tokensLeft)
  send(5, 'rejected', 100, tokensLeft)
  send(5, 'accepted', 1, tokensLeft)
  send(1, 'rejected', 1, tokensLeft)
  window.finish()
  expect(findingLog.findings().map(({ clause }) => clause)).toEqual(clauses)
})

test.each<[string, number, number | null, boolean]>([
  ['a response that states fewer tokens than it may use', 100, 50, true],
  ['a response that states enough tokens', 100, 500, false],
  ['a chat request, if nothing is known about tokens', 100, null, true],
  ['an RPC request', 0, null, false],
])('without a known token limit, a 429 may be for tokens: %s', (_, maxTokens, tokensLeft, expected) => {
  const times = { sentMs: 0, shownMs: 10, settledMs: 10 }
  const request = { ...times, id: 1, key: 0, isRetry: false, kind: 'rejected', stated: 20, remaining: 5 } as const
  expect(mayLackTokens({ ...request, maxTokens, tokensLeft }, null, maxTokens)).toBe(expected)
})
