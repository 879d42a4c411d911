import { describe, expect, test } from 'vitest'
import { createFindingLog } from '../../../../src/judge/findings/findings.ts'

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

describe('a clause that could not be judged', () => {
  const noDate = { text: 'responses have no usable Date', clause: 'header.date' } as const
  const because = (findingLog: ReturnType<typeof createFindingLog>) =>
    tallyOf(findingLog, 'header.date.instant')?.because ?? null

  test('names the violation, if there is one', () => {
    const findingLog = createFindingLog()
    findingLog.reporterFor('consistency').unjudged('header.date.instant', noDate)
    expect(because(findingLog)).toEqual({ ...noDate, kind: 'not-judged', clause: null })
    findingLog.reporterFor('headers').fail('header.date', 'date is nothing', [7])
    expect(because(findingLog)).toEqual({ ...noDate, kind: 'not-judged' })
  })

  test('names a violation before a more frequent reason', () => {
    const findingLog = createFindingLog()
    const reporter = findingLog.reporterFor('consistency')
    for (let id = 0; id < 3; id++) reporter.unjudged('header.date.instant', { text: 'the moon is full', clause: null })
    expect(because(findingLog)?.text).toBe('the moon is full')
    reporter.unjudged('header.date.instant', noDate)
    findingLog.reporterFor('headers').fail('header.date', 'date is nothing', [7])
    expect(because(findingLog)).toMatchObject(noDate)
  })

  test('says nothing if it passed, unless a violation hid most of it', () => {
    const findingLog = createFindingLog()
    const reporter = findingLog.reporterFor('consistency')
    findingLog.reporterFor('headers').fail('header.date', 'date is nothing', [7])
    reporter.unjudged('header.date.instant', noDate)
    reporter.pass('header.date.instant')
    expect(because(findingLog)).toMatchObject(noDate)
    reporter.pass('header.date.instant')
    expect(because(findingLog)).toBe(null)
  })

  test('says nothing if it failed, or if it is not promised', () => {
    const failed = createFindingLog()
    failed.reporterFor('consistency').unjudged('header.date.instant', noDate)
    failed.reporterFor('consistency').fail('header.date.instant', 'date is late', [1])
    expect(because(failed)).toBe(null)
    const unpromised = createFindingLog(['header.date.instant'])
    unpromised.reporterFor('consistency').unjudged('header.date.instant', noDate)
    expect(because(unpromised)).toBe(null)
  })

  test('has the same reason after a merge of workers', () => {
    const [a, b] = [createFindingLog(), createFindingLog()]
    a.reporterFor('consistency').unjudged('header.date.instant', { text: 'the moon is full', clause: null })
    for (let id = 0; id < 2; id++) b.reporterFor('consistency').unjudged('header.date.instant', noDate)
    const merged = createFindingLog()
    for (const each of [a, b]) merged.merge(each.snapshot())
    expect(because(merged)?.text).toBe(noDate.text)
  })
})

describe('a measurement', () => {
  const block = (min: number, max: number | null) => ({
    what: 'A block lasted',
    min,
    max,
    unit: 's',
    documented: 30,
  })
  const said = (...measured: readonly ReturnType<typeof block>[]) => {
    const findingLog = createFindingLog()
    const reporter = findingLog.reporterFor('abuse')
    for (const each of measured) reporter.measured('abuse.duration', each)
    reporter.fail('abuse.duration', 'too short', [1])
    return findingLog.findings()[0]?.message
  }

  test('stands after the message of its finding', () => {
    expect(said(block(19, 21))).toBe('too short. A block lasted between 19.0 s and 21.0 s, documented 30 s.')
    expect(said(block(40, null))).toBe('too short. A block lasted at least 40.0 s, documented 30 s.')
  })

  test('is narrowed by another, whatever the order', () => {
    const narrow = 'too short. A block lasted between 19.5 s and 20.0 s, documented 30 s.'
    expect(said(block(19, 20), block(19.5, 25))).toBe(narrow)
    expect(said(block(19.5, 25), block(19, 20))).toBe(narrow)
  })

  test('that agrees with the document yields to one that does not', () => {
    expect(said(block(0, 45), block(19, 20))).toContain('between 19.0 s and 20.0 s')
    expect(said(block(19, 20), block(29, 31))).toContain('between 19.0 s and 20.0 s')
  })

  test('of several sizes says so', () => {
    expect(said(block(9, 10), block(19, 20))).toContain('between 9.0 s and 20.0 s at different times')
  })

  test('of a clause that passed is not shown', () => {
    const findingLog = createFindingLog()
    findingLog.reporterFor('abuse').measured('abuse.duration', block(29, 31))
    findingLog.reporterFor('abuse').pass('abuse.duration')
    expect(tallyOf(findingLog, 'abuse.duration')?.measured).toBe(null)
  })
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
