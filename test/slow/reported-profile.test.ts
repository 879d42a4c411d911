import { afterAll, expect, test } from 'vitest'
import type { ClauseId } from '../../src/contract/clauses.ts'
import { allLies, lieByName } from '../../src/service/lies/lies.ts'
import { type Setting, settings } from '../support/settings.ts'
import { virtualRun } from '../support/virtual-run.ts'

const profile = 'scenarios/profiles/reported.yaml'

/** The shipped scenarios against a service that is as the profile says, honest or not. */
const reported = settings
  .filter(({ run }) => run.profile === undefined)
  .map(({ name, run }): Setting => ({ name, run: { ...run, profile } }))

const exercised = new Map<Setting, ReadonlySet<ClauseId>>()
for (const setting of reported) {
  const { report } = await virtualRun(setting.run)
  expect(report.findings, `${setting.name} accuses the honest service`).toEqual([])
  exercised.set(setting, new Set(report.clauses.filter(({ judged }) => judged > 0).map(({ id }) => id)))
}

let caught = 0
const told = allLies.filter(({ clause }) => reported.some(setting => exercised.get(setting)?.has(clause)))

test.each(told)('under it, $name is named by $clause', async ({ clause, name }) => {
  const lie = lieByName(name)
  if (lie === undefined) throw new Error(`no lie is called ${name}`)
  for (const setting of reported.filter(each => exercised.get(each)?.has(clause))) {
    const { report } = await virtualRun({ ...setting.run, lies: [lie] })
    if (!report.findings.some(finding => finding.clause === clause)) continue
    caught++
    return
  }
  expect.fail('nobody noticed')
})

test('it leaves most of what is documented to be judged', () => {
  expect(told.length).toBeGreaterThan(allLies.length * 0.8)
})

afterAll(() => {
  process.stdout.write(
    `\n${caught} of ${told.length} lies caught under the reported profile; the honest service passes\n`,
  )
})
