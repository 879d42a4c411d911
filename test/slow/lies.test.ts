import { afterAll, describe, expect, test } from 'vitest'
import type { Clause } from '../../src/contract/clause.ts'
import { type ClauseId, clauseIds, clauses } from '../../src/contract/clauses.ts'
import { allLies, lieByName } from '../../src/service/lies/lies.ts'
import { type Setting, settings } from '../support/settings.ts'
import { virtualRun } from '../support/virtual-run.ts'

/** What each setting exercises, as an honest service behind it shows. */
const exercised = new Map<Setting, ReadonlySet<ClauseId>>()
for (const setting of settings) {
  const { report } = await virtualRun(setting.run)
  expect(report.findings, `${setting.name} accuses the honest service`).toEqual([])
  exercised.set(setting, new Set(report.clauses.filter(({ judged }) => judged > 0).map(({ id }) => id)))
}
const exercising = (clause: ClauseId): readonly Setting[] =>
  settings.filter(setting => exercised.get(setting)?.has(clause))

describe('every clause is exercised by a shipped scenario', () => {
  test.each(clauseIds)('%s', clause => {
    const { needs }: Clause = clauses[clause]
    const able = exercising(clause).filter(({ run }) => needs !== undefined || isPlain(run))
    expect(able.map(({ name }) => name)).not.toEqual([])
  })
})

/** A service as documented and in good health: what needs more than that has to say so in its clause. */
const isPlain = (run: Setting['run']): boolean => Object.keys(run).length === 1

let told = 0
let caught = 0

describe('every lie is named by its own clause and by no other', () => {
  test.each(allLies)('$clause: $name', async ({ clause, name }) => {
    const lie = lieByName(name)
    if (lie === undefined) throw new Error(`no lie is called ${name}`)
    told++
    for (const setting of exercising(clause)) {
      const { report } = await virtualRun({ ...setting.run, lies: [lie] })
      const accused = report.findings.map(finding => finding.clause)
      const undeclared = accused.filter(other => other !== clause && !lie.alsoViolates.includes(other))
      expect(undeclared, `accused beside it in ${setting.name}`).toEqual([])
      if (!accused.includes(clause)) continue
      expect(report.verdict).toBe('fail')
      caught++
      return
    }
    expect.fail(`${name} was told behind ${exercising(clause).map(setting => setting.name)} and nobody noticed`)
  })
})

test('every clause is broken by one of them', () => {
  expect(new Set(allLies.map(lie => lie.clause))).toEqual(new Set(clauseIds))
})

afterAll(() => {
  const share = told === 0 ? 0 : (100 * caught) / told
  process.stdout.write(
    `\n${caught} of ${told} lies caught (${share.toFixed(1)} %), none with an undeclared accusation\n`,
  )
})
