import { afterAll, expect, test } from 'vitest'
import type { ClauseId } from '../../src/contract/clauses.ts'
import { allLies, lieByName } from '../../src/service/lies/lies.ts'
import { isNightly, todays } from '../support/nightly.ts'
import { type Setting, settings } from '../support/settings.ts'
import { virtualRun } from '../support/virtual-run.ts'

const profile = 'scenarios/profiles/reported.yaml'

/** The shipped scenarios against a service with this profile, with or without a lie. */
const reported = settings
  .filter(({ run }) => run.profile === undefined)
  .map(({ name, run }): Setting => ({ name, run: { ...run, profile } }))

/** By day a third of them: a lie is one about a clause that these exercise. What they do not show, others may. */
const ofToday = todays(reported, 3)

const exercised = new Map<Setting, ReadonlySet<ClauseId>>()
for (const setting of ofToday) {
  const { report } = await virtualRun(setting.run)
  expect(report.findings, `${setting.name} fails the honest service`).toEqual([])
  exercised.set(setting, new Set(report.clauses.filter(({ judged }) => judged > 0).map(({ id }) => id)))
}

/** Lies that do not violate this profile, or that no scenario shows, by reason. */
const exceptions: Readonly<Record<string, readonly string[]>> = {
  'the profile leaves the scope of limits open': ['limits-by-key'],
  'the profile documents this behavior': [
    ...['unknown-member-refused', 'results-last', 'bad-key-is-none', 'only-client-errors-count'],
    ...['wrong-media-type-is-400', 'media-type-without-parameters'],
  ],
  'another content type gets no 415': ['error-in-a-list'],
  'the echo at the end always has the results': ['results-behind-role', 'results-in-between'],
  'concurrent requests with one key may each be charged': ['key-stored-after-its-reply'],
  'invalid keys are ignored': [
    ...['key-one-longer', 'key-of-any-length', 'key-with-dots', 'key-with-spaces', 'key-with-colons'],
    ...['key-of-base64', 'empty-key-is-none'],
  ],
  'the run is shorter than half a day': ['key-expires-early'],
  'the algorithm of its limits is unknown': [
    'remaining-without-this-one',
    'remaining-one-too-few',
    'one-request-too-many-later',
  ],
  'only balances of wallets are judged, and no scenario of wallets shows them': [
    ...['rejected-batch-billed', 'every-refusal-billed', 'rejection-billed-as-failure'],
    ...['diem-stated-as-dollars', 'half-paid-in-dollars'],
  ],
  'a balance of zero is not shown, so the first balance of a wallet has the payment': ['small-payments-credited'],
  'its limits are above what the scenario of the limits of wallets sends': ['wallets-refused-early'],
  'it is about limits of 50 and 75 requests, which the profile does not have': ['five-fewer-of-tiers-s-and-m'],
  'the shipped scenario sends 20 failures only': [
    'only-bad-requests-count',
    'media-types-do-not-count',
    'block-after-failures-in-a-row',
    'every-request-counts',
  ],
}
const excepted = Object.values(exceptions).flat()

let caught = 0
/** The setting that caught the last lie about each clause. */
const catching = new Map<ClauseId, Setting>()
const violating = allLies.filter(
  ({ clause, name }) => !excepted.includes(name) && ofToday.some(setting => exercised.get(setting)?.has(clause)),
)
const expectedLies = todays(violating, 24)

test('every exception names a lie', () => {
  expect(excepted.filter(name => lieByName(name) === undefined)).toEqual([])
})

test.each(expectedLies)('under this profile, $name fails a clause that it violates', async ({ clause, name }) => {
  const lie = lieByName(name)
  if (lie === undefined) throw new Error(`unknown lie: ${name}`)
  // What caught the last lie about a clause is likely to catch the next one.
  const last = catching.get(clause)
  const others = reported.filter(each => !ofToday.includes(each))
  const candidates = [...ofToday.filter(each => exercised.get(each)?.has(clause)), ...others].filter(
    each => each !== last,
  )
  for (const setting of last === undefined ? candidates : [last, ...candidates]) {
    const { report } = await virtualRun({ ...setting.run, lies: [lie] })
    // With fewer clauses judged, only the further clauses of a lie may fail.
    const expected = [clause, ...lie.alsoViolates]
    if (!report.findings.some(finding => expected.includes(finding.clause))) continue
    catching.set(clause, setting)
    caught++
    return
  }
  expect.fail('no clause failed')
})

test('the profile leaves most clauses judged', () => {
  expect(violating.length).toBeGreaterThan(allLies.length * (isNightly ? 0.8 : 0.5))
})

afterAll(() => {
  process.stdout.write(
    `\n${caught} of ${expectedLies.length} lies caught under the reported profile; the honest service passes\n`,
  )
})
