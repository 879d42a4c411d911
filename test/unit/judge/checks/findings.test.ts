import { expect, test } from 'vitest'
import { createFindingLog, maxExamples } from '../../../../src/judge/checks/findings.ts'

const tallyOf = (docket: ReturnType<typeof createFindingLog>, id: string) =>
  docket.tallies().find(tally => tally.id === id)

test('a clause that nobody spoke about is not exercised, and one that was kept passes', () => {
  const docket = createFindingLog()
  docket.reporterFor('headers').kept('header.date')
  expect(tallyOf(docket, 'header.date')).toEqual({
    id: 'header.date',
    section: '4.4',
    judged: 1,
    violated: 0,
    verdict: 'pass',
  })
  expect(tallyOf(docket, 'header.cf-ray')).toMatchObject({ judged: 0, verdict: 'not-exercised' })
})

test('one violation among many that kept the clause fails it', () => {
  const docket = createFindingLog()
  const say = docket.reporterFor('headers')
  for (let id = 0; id < 100; id++) say.kept('header.date')
  say.broken('header.date', 'date is nothing', [7])
  expect(tallyOf(docket, 'header.date')).toMatchObject({ judged: 101, violated: 1, verdict: 'fail' })
  expect(docket.violations()).toBe(1)
})

test('findings come in the order of the clauses, one for each judge that broke one', () => {
  const docket = createFindingLog()
  docket.reporterFor('ledger').broken('rpc.replay.charge', 'replay-billed', [3])
  docket.reporterFor('idempotency').broken('rpc.replay.charge', 'racing', [4])
  docket.reporterFor('headers').broken('header.date', 'first', [1])
  docket.reporterFor('headers').broken('header.date', 'second', [2])
  expect(docket.findings().map(({ clause, judge, count, message }) => [clause, judge, count, message])).toEqual([
    ['header.date', 'headers', 2, 'first'],
    ['rpc.replay.charge', 'idempotency', 1, 'racing'],
    ['rpc.replay.charge', 'ledger', 1, 'replay-billed'],
  ])
})

test('of a million violations all are counted and the first few are kept', () => {
  const docket = createFindingLog()
  const say = docket.reporterFor('headers')
  for (let id = 0; id < 1_000_000; id++) say.broken('header.date', `the date of ${id}`, [id])
  const [finding] = docket.findings()
  expect(finding?.count).toBe(1_000_000)
  expect(finding?.examples.map(({ requestIds }) => requestIds)).toEqual([[0], [1], [2], [3], [4]])
  expect(docket.cites(maxExamples - 1)).toBe(true)
  expect(docket.cites(maxExamples)).toBe(false)
})

test('an example stays small whatever the target says and however many requests it is about', () => {
  const docket = createFindingLog()
  const requestIds = Array.from({ length: 10_000 }, (_, id) => id)
  docket.reporterFor('idempotency').broken('rpc.replay.charge', 'x'.repeat(100_000), requestIds)
  const [example] = docket.findings()[0]?.examples ?? []
  expect(example?.message).toHaveLength(603)
  expect(example?.requestIds).toHaveLength(24)
  expect(docket.cites(24)).toBe(false)
})
