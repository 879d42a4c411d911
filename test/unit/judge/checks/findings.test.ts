import { expect, test } from 'vitest'
import { createFindingLog } from '../../../../src/judge/checks/findings.ts'

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

test('all of a million violations are counted, and only the first of each cause is stored', () => {
  const findingLog = createFindingLog()
  const reporter = findingLog.reporterFor('headers')
  const causes = ['the date', 'the year', 'the month', 'the day', 'the hour', 'the minute', 'the second']
  for (let id = 0; id < 1_000_000; id++) reporter.fail('header.date', `${causes[id % 7]} of ${id}`, [id])
  const [finding] = findingLog.findings()
  expect(finding?.count).toBe(1_000_000)
  expect(finding?.examples.map(({ requestIds, count }) => [requestIds, count])).toEqual([
    [[0], 142_858],
    [[1], 142_857],
    [[2], 142_857],
    [[3], 142_857],
    [[4], 142_857],
  ])
  expect(findingLog.cites(4)).toBe(true)
  expect(findingLog.cites(5)).toBe(false)
})

test('an example stays small, however long the message and the request list are', () => {
  const findingLog = createFindingLog()
  const requestIds = Array.from({ length: 10_000 }, (_, id) => id)
  findingLog.reporterFor('idempotency').fail('rpc.replay.charge', 'x'.repeat(100_000), requestIds)
  const [example] = findingLog.findings()[0]?.examples ?? []
  expect(example?.message).toHaveLength(603)
  expect(example?.requestIds).toHaveLength(1000)
  expect(example).toMatchObject({ decidedBy: [9_999], omitted: 9_000 })
  expect([9_975, 9_976, 9_999].map(findingLog.cites)).toEqual([false, true, true])
})

test('a request that another example shows is no longer cited when the example is replaced', () => {
  const findingLog = createFindingLog()
  const reporter = findingLog.reporterFor('headers')
  reporter.fail('header.date', 'no date', [7, 8])
  reporter.fail('header.date', 'no date', [2, 3])
  expect(findingLog.findings()[0]?.examples).toMatchObject([{ requestIds: [2, 3], count: 2 }])
  expect([2, 3, 7, 8].map(findingLog.cites)).toEqual([true, true, false, false])
})
