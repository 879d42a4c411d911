import { expect, test } from 'vitest'
import { createFindingLog, maxExamples } from '../../../../src/judge/checks/findings.ts'

const tallyOf = (findingLog: ReturnType<typeof createFindingLog>, id: string) =>
  findingLog.tallies().find(tally => tally.id === id)

test('an unjudged clause is not exercised, and a passed one passes', () => {
  const findingLog = createFindingLog()
  findingLog.reporterFor('headers').pass('header.date')
  expect(tallyOf(findingLog, 'header.date')).toEqual({
    id: 'header.date',
    section: '4.4',
    judged: 1,
    violated: 0,
    verdict: 'pass',
    because: null,
    measured: null,
  })
  expect(tallyOf(findingLog, 'header.cf-ray')).toMatchObject({ judged: 0, verdict: 'not-exercised' })
})

test('one violation among many passes fails the clause', () => {
  const findingLog = createFindingLog()
  const reporter = findingLog.reporterFor('headers')
  for (let id = 0; id < 100; id++) reporter.pass('header.date')
  reporter.fail('header.date', 'date is nothing', [7])
  expect(tallyOf(findingLog, 'header.date')).toMatchObject({ judged: 101, violated: 1, verdict: 'fail' })
  expect(findingLog.violations()).toBe(1)
})

test('findings are in the order of the clauses, one for each judge that reported violations', () => {
  const findingLog = createFindingLog()
  findingLog.reporterFor('ledger').fail('rpc.replay.charge', 'replay-billed', [3])
  findingLog.reporterFor('idempotency').fail('rpc.replay.charge', 'racing', [4])
  findingLog.reporterFor('headers').fail('header.date', 'first', [1])
  findingLog.reporterFor('headers').fail('header.date', 'second', [2])
  expect(findingLog.findings().map(({ clause, judge, count, message }) => [clause, judge, count, message])).toEqual([
    ['header.date', 'headers', 2, 'first'],
    ['rpc.replay.charge', 'idempotency', 1, 'racing'],
    ['rpc.replay.charge', 'ledger', 1, 'replay-billed'],
  ])
})

test('all of a million violations are counted, and only the first few are stored', () => {
  const findingLog = createFindingLog()
  const reporter = findingLog.reporterFor('headers')
  for (let id = 0; id < 1_000_000; id++) reporter.fail('header.date', `the date of ${id}`, [id])
  const [finding] = findingLog.findings()
  expect(finding?.count).toBe(1_000_000)
  expect(finding?.examples.map(({ requestIds }) => requestIds)).toEqual([[0], [1], [2], [3], [4]])
  expect(findingLog.cites(maxExamples - 1)).toBe(true)
  expect(findingLog.cites(maxExamples)).toBe(false)
})

test('an example stays small, however long the message and the request list are', () => {
  const findingLog = createFindingLog()
  const requestIds = Array.from({ length: 10_000 }, (_, id) => id)
  findingLog.reporterFor('idempotency').fail('rpc.replay.charge', 'x'.repeat(100_000), requestIds)
  const [example] = findingLog.findings()[0]?.examples ?? []
  expect(example?.message).toHaveLength(603)
  expect(example?.requestIds).toHaveLength(24)
  expect(findingLog.cites(24)).toBe(false)
})
