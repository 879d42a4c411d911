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

/** By what the lie is none there, or is not seen. */
const exceptions: Readonly<Record<string, readonly string[]>> = {
  'it is the truth': [
    ...['unknown-member-refused', 'results-last', 'bad-key-is-none', 'only-client-errors-count'],
    ...['wrong-media-type-is-400', 'media-type-without-parameters'],
  ],
  'the echo at the end has the results in any case': ['results-behind-role', 'results-in-between'],
  'what is no key is ignored': [
    ...['key-one-longer', 'key-of-any-length', 'key-with-dots', 'key-with-spaces', 'key-with-colons'],
    ...['key-of-base64', 'empty-key-is-none'],
  ],
  'half of a day does not pass': ['key-expires-early'],
  'the shipped scenario counts to 20': ['only-bad-requests-count', 'media-types-do-not-count', 'every-request-counts'],
}
const excepted = Object.values(exceptions).flat()

let caught = 0
const told = allLies.filter(
  ({ clause, name }) => !excepted.includes(name) && reported.some(setting => exercised.get(setting)?.has(clause)),
)

test('every exception is a lie', () => {
  expect(excepted.filter(name => lieByName(name) === undefined)).toEqual([])
})

test.each(told)('under it, $name is found out, as what it is', async ({ clause, name }) => {
  const lie = lieByName(name)
  if (lie === undefined) throw new Error(`no lie is called ${name}`)
  for (const setting of reported.filter(each => exercised.get(each)?.has(clause))) {
    const { report } = await virtualRun({ ...setting.run, lies: [lie] })
    // Where less is asserted, a lie may be seen by what it also breaks.
    const named = [clause, ...lie.alsoViolates]
    if (!report.findings.some(finding => named.includes(finding.clause))) continue
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
