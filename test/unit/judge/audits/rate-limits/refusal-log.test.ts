import { describe, expect, test } from 'vitest'
import { documentedContract } from '../../../../../src/contract/documented.ts'
import { createRefusalLogCheck } from '../../../../../src/judge/audits/rate-limits/refusal-log.ts'
import { createFindingLog } from '../../../../../src/judge/findings/findings.ts'
import type { Observation } from '../../../../../src/observation/observation.ts'
import { chatDescriptor, observed, responseOf, singleDescriptor, startedAtMs } from '../../checks/observed.ts'

const at = (sentMs: number) => ({ dueMs: sentMs, sentMs, headersMs: sentMs + 10, endMs: sentMs + 10 })
const refused = (id: number, sentMs: number): Observation =>
  observed(chatDescriptor, responseOf(429, { error: 'Rate limit exceeded' }), { id, ...at(sentMs) })
const lost = (id: number, sentMs: number): Observation => observed(chatDescriptor, null, { id, ...at(sentMs) })
const row = (sinceStartMs: number, type: unknown = 'RPM', modelId: unknown = chatDescriptor.model) => ({
  apiKeyId: 'key',
  modelId,
  rateLimitTier: 'default',
  rateLimitType: type,
  timestamp: new Date(startedAtMs + sinceStartMs).toISOString(),
})
const logOf = (data: unknown, sentMs = 20_000): Observation =>
  observed({ kind: 'rate-limit-logs' }, responseOf(200, { object: 'list', data }), { id: 99, ...at(sentMs) })

function judge(
  observations: readonly Observation[],
  { shared = false, skewMs = 0, errorMs = 500, contract = documentedContract } = {},
): readonly string[] {
  const findingLog = createFindingLog()
  const scope = { contract, shared, startedAtMs }
  const logs = createRefusalLogCheck(
    scope,
    () => ({ min: skewMs - errorMs, max: skewMs + errorMs }),
    findingLog.reporterFor('rate-limits'),
  )
  for (const each of observations) logs.add(each)
  logs.finish()
  return findingLog.findings().map(({ clause, count }) => `${clause} ${count}`)
}

test('a log that lists each rejection, with one second of clock tolerance, passes', () => {
  expect(judge([refused(1, 5_000), refused(2, 5_005), logOf([row(5_002), row(5_900)])])).toEqual([])
  expect(judge([refused(1, 5_000), logOf([row(8_000)])], { skewMs: 3_000 })).toEqual([])
})

test('a missing rejection fails, unless the log is full or was requested too early', () => {
  expect(judge([refused(1, 5_000), refused(2, 5_005), logOf([row(5_002)])])).toEqual(['logs.shows-429 1'])
  expect(judge([refused(1, 5_000), logOf([row(5_002, 'RPM', 'another')])])).toEqual(['logs.shows-429 1'])
  expect(judge([refused(1, 19_500), logOf([])])).toEqual([])
  expect(judge([refused(1, 5_000), logOf(Array.from({ length: 50 }, () => row(-60_000)))])).toEqual([])
})

test('the log may name the RPC proxy in its own way, but not as a model', () => {
  const ofProxy = observed(singleDescriptor, responseOf(429, { error: 'Too many' }), { id: 1, ...at(5_000) })
  expect(judge([ofProxy, logOf([row(5_002, 'RPM', 'rpc')])])).toEqual([])
  expect(judge([ofProxy, logOf([])])).toEqual(['logs.shows-429 1'])
  expect(judge([ofProxy, logOf([row(9_000, 'RPM', 'rpc')])])).toEqual(['logs.shows-429 1'])
  expect(judge([ofProxy, logOf([row(5_002)])])).toEqual(['logs.shows-429 1'])
})

describe('the log of another service, which no profile describes', () => {
  const other = { contract: { ...documentedContract, sources: { limitLogs: 'default' as const } } }

  test('may name its limits as it likes, but must list each rejection once', () => {
    const both = [refused(1, 5_000), refused(2, 9_000)]
    expect(judge([...both, logOf([row(5_002, 'RPM', 'S'), row(9_002, 'RPM', 'S')])], other)).toEqual([])
    expect(judge([...both, logOf([row(5_002, 'RPM', 'S')])], other)).toEqual(['logs.shows-429 1'])
    expect(judge([...both, logOf([])], other)).toEqual(['logs.shows-429 2'])
  })

  test('a row with an unknown name takes no rejection from a row with the name of a model', () => {
    const ofProxy = observed(singleDescriptor, responseOf(429, { error: 'Too many' }), { id: 2, ...at(5_001) })
    expect(judge([refused(1, 5_000), ofProxy, logOf([row(5_001, 'RPM', 'rpc'), row(5_002)])], other)).toEqual([])
  })

  test('may list only the latest rejections, or more than fifty', () => {
    const some = Array.from({ length: 60 }, (_, index) => refused(index + 1, index * 4_000))
    const rows = some.map((_, index) => row(2 + index * 4_000))
    expect(judge([...some, logOf(rows, 300_000)], other)).toEqual([])
    expect(judge([...some, logOf(rows.slice(-20), 300_000)], other)).toEqual([])
    expect(judge([...some, logOf(rows.slice(0, 30), 300_000)], other)).toEqual(['logs.shows-429 30'])
  })
})

test('a row without a rejection fails, unless another client may have been rejected', () => {
  const seen = [refused(1, 5_000), logOf([row(5_002), row(12_000)])]
  expect(judge(seen)).toEqual(['logs.no-phantom 1'])
  expect(judge(seen, { shared: true })).toEqual([])
  expect(judge([...seen, lost(3, 12_000)])).toEqual([])
  expect(judge([refused(1, 5_000), logOf([row(5_002), row(-30_000)])])).toEqual([])
})

test('without Date headers, the times of the rows say nothing', () => {
  const unknown = { errorMs: 10_000 }
  const slow = (sinceStartMs: number) => row(sinceStartMs - 90_000)
  expect(judge([refused(1, 5_000), refused(2, 5_005), logOf([slow(5_002), slow(5_008)])], unknown)).toEqual([])
  expect(judge([refused(1, 5_000), refused(2, 5_005), logOf([slow(5_002)])], unknown)).toEqual(['logs.shows-429 1'])
  expect(judge([refused(1, 5_000), logOf([row(5_002, 'RPM', 'another')])], unknown)).toEqual(['logs.shows-429 1'])
  expect(judge([refused(1, 5_000), logOf([row(5_002), row(12_000)])], unknown)).toEqual([])
})

test('a 429 whose body broke off may be a block, which the log need not list', () => {
  const outcome = { kind: 'failed', reason: 'connection-lost', detail: 'other side closed' } as const
  expect(judge([refused(1, 5_000), { ...refused(2, 5_005), outcome }, logOf([row(5_002)])])).toEqual([])
})

test('rows of the abuse block are not judged', () => {
  expect(judge([refused(1, 5_000), logOf([row(5_002), row(9_000, 'FAILED_REQUESTS')])])).toEqual([])
})

test.each([null, 'none', {}, [null], [{}], [{ ...row(5_000), timestamp: {} }], [row(5_000, 7)]].map(data => [data]))(
  'a malformed log is not judged here: %j',
  data => {
    expect(judge([refused(1, 5_000), logOf(data)])).toEqual([])
  },
)
