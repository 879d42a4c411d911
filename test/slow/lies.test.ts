import { afterAll, describe, expect, test } from 'vitest'
import { clauses } from '../../src/contract/clauses.ts'
import { allLies, lieByName } from '../../src/service/lies/lies.ts'
import { virtualRun } from '../support/virtual-run.ts'

let told = 0
let caught = 0

describe('every lie, behind the main scenario, is named by its own clause and by no other', () => {
  test.each(allLies)('$clause: $name', async ({ clause, name }) => {
    const lie = lieByName(name)
    if (lie === undefined) throw new Error(`no lie is called ${name}`)
    told++
    const { report } = await virtualRun({ scenario: 'scenarios/smoke.yaml', lies: [lie] })
    const accused = report.findings.map(finding => finding.clause)
    expect(accused).toContain(clause)
    expect(accused.filter(other => other !== clause && !lie.alsoBreaks.includes(other))).toEqual([])
    expect(report.verdict).toBe('fail')
    caught++
  })
})

test('every clause is broken by one of them', () => {
  expect(new Set(allLies.map(lie => lie.clause))).toEqual(new Set(Object.keys(clauses)))
})

afterAll(() => {
  process.stdout.write(`\n${caught} of ${told} lies caught, each by its own clause and by no undeclared other\n`)
})
