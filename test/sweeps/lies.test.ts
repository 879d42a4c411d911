import { afterAll, describe, expect, test } from 'vitest'
import type { Clause } from '../../src/contract/clause.ts'
import { type ClauseId, clauseIds, clauses } from '../../src/contract/clauses.ts'
import { allLies, lies } from '../../src/service/lies/lies.ts'
import { contradictionIn } from '../support/contradiction.ts'
import { todays } from '../support/nightly.ts'
import { type Setting, settings } from '../support/settings.ts'
import { virtualRun } from '../support/virtual-run.ts'

/** The clauses that each setting exercises, measured with an honest service. */
const exercised = new Map<Setting, ReadonlySet<ClauseId>>()
for (const setting of settings) {
  const { report } = await virtualRun(setting.run)
  expect(report.findings, `${setting.name} fails the honest service`).toEqual([])
  exercised.set(setting, new Set(report.clauses.filter(({ judged }) => judged > 0).map(({ id }) => id)))
}
const exercising = (clause: ClauseId): readonly Setting[] =>
  settings.filter(setting => exercised.get(setting)?.has(clause))

describe('every clause is exercised by a shipped scenario', () => {
  test.each(clauseIds)('%s', clause => {
    const { needs }: Clause = clauses[clause]
    const sufficient = exercising(clause).filter(({ run }) => needs !== undefined || isPlain(run))
    expect(sufficient.map(({ name }) => name)).not.toEqual([])
  })
})

/** A healthy service as documented. A clause that needs more has to declare it. */
const isPlain = ({ scenario: _, limitsFrom: __, ...run }: Setting['run']): boolean => Object.keys(run).length === 0

/** On each day at least one lie of each clause, and within four days all of them. */
const liesOfToday = clauseIds.flatMap(clause =>
  todays(lies[clause], Math.min(4, lies[clause].length)).map(lie => ({ clause, name: lie.name, lie })),
)

let tested = 0
let caught = 0

describe('every lie fails its own clause and no other', () => {
  test.each(liesOfToday)('$clause: $name', async ({ clause, name, lie }) => {
    tested++
    for (const setting of exercising(clause)) {
      const { report } = await virtualRun({ ...setting.run, lies: [lie] })
      const failedClauses = report.findings.map(finding => finding.clause)
      const undeclared = failedClauses.filter(other => other !== clause && !lie.alsoViolates.includes(other))
      expect(undeclared, `further clauses failed in ${setting.name}`).toEqual([])
      const contradictions = report.findings.filter(({ message }) => contradictionIn(message) !== null)
      expect(contradictions, 'messages that expect what they saw').toEqual([])
      for (const { evidence, decidedBy } of report.findings.flatMap(({ examples }) => examples))
        expect(evidence[0]?.id, 'the first evidence decides').toBe(decidedBy[0])
      if (!failedClauses.includes(clause)) continue
      expect(report.verdict).toBe('fail')
      caught++
      return
    }
    expect.fail(
      `${name} failed no clause in ${exercising(clause)
        .map(setting => setting.name)
        .join(', ')}`,
    )
  })
})

test('every clause is violated by a lie', () => {
  expect(new Set(allLies.map(lie => lie.clause))).toEqual(new Set(clauseIds))
})

afterAll(() => {
  const share = tested === 0 ? 0 : (100 * caught) / tested
  process.stdout.write(
    `\n${caught} of ${tested} lies caught (${share.toFixed(1)} %), none with an undeclared finding\n`,
  )
})
