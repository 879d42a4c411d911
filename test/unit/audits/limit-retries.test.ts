import { expect, test } from 'vitest'
import { judgeRetries } from '../../../src/audits/limit-retries.ts'
import type { Member } from '../../../src/audits/limit-window.ts'
import { createFindingLog } from '../../../src/checks/findings.ts'

const member = (seq: number, sentMs: number, sort: Member['sort']): Member => ({
  seq,
  key: 0,
  isRetry: false,
  sentMs,
  shownMs: sentMs + 10,
  settledMs: sentMs + 10,
  sort,
  stated: 20,
  remaining: 0,
  tokensMost: 0,
  tokensLeft: null,
})

function retries(skew: { least: number; most: number }) {
  const docket = createFindingLog()
  const judged = judgeRetries({ scope: 'rpc', startedAtMs: 0, offset: () => skew }, docket.reporterFor('limiter'))
  judged.mark(member(1, 5_000, 'rejected'), 60_000)
  return { ...judged, docket }
}

test('a request is a retry once the reset that a 429 named is past by any clock that the target can have', () => {
  const { mark } = retries({ least: -3_000, most: 3_000 })
  expect(mark(member(2, 63_900, 'accepted'), 120_000).isRetry).toBe(false)
  expect(mark(member(2, 64_100, 'accepted'), 120_000).isRetry).toBe(true)
})

test('a request of the window that refused is none', () => {
  expect(retries({ least: 0, most: 0 }).mark(member(2, 70_000, 'accepted'), 60_000).isRetry).toBe(false)
})

test('a 429 that names the reset that is past is late, with both answers named', () => {
  const { isLate, docket } = retries({ least: 0, most: 0 })
  expect(isLate(member(2, 60_500, 'rejected'), 60_000)).toBe(false)
  expect(isLate(member(3, 62_000, 'accepted'), 60_000)).toBe(false)
  expect(isLate(member(4, 62_000, 'rejected'), 60_000)).toBe(true)
  expect(docket.findings().map(({ clause, examples }) => [clause, examples[0]?.seqs])).toEqual([
    ['retry.after-reset', [1, 4]],
  ])
})
