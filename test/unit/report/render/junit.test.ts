import { describe, expect, test } from 'vitest'
import type { ClauseId } from '../../../../src/contract/clauses.ts'
import { visible } from '../../../../src/lib/visible.ts'
import type { Report } from '../../../../src/report/document.ts'
import { renderJunit } from '../../../../src/report/render/junit.ts'
import { parseXml, type XmlElement } from '../../../support/xml.ts'
import { failingReport, passingReport } from '../fixtures.ts'
import { hostile, hostileReport } from '../hostile-report.ts'

const suites = (report: Report): readonly XmlElement[] => parseXml(renderJunit(report)).children
const cases = (report: Report) => suites(report).flatMap(suite => suite.children)
const caseOf = (report: Report, name: string) => cases(report).find(each => each.attributes.name === name)
const resultOf = (report: Report, name: string) => caseOf(report, name)?.children[0]

/** The attributes and children of each element in the schema of Jenkins. */
const allowed: Readonly<Record<string, { attributes: readonly string[]; children: readonly string[] }>> = {
  testsuites: { attributes: ['name', 'time', 'tests', 'failures', 'errors', 'disabled'], children: ['testsuite'] },
  testsuite: {
    attributes: ['name', 'tests', 'failures', 'errors', 'skipped', 'time', 'timestamp', 'hostname', 'id', 'package'],
    children: ['testcase'],
  },
  testcase: { attributes: ['name', 'classname', 'time'], children: ['failure', 'error', 'skipped'] },
  failure: { attributes: ['message', 'type'], children: [] },
  error: { attributes: ['message', 'type'], children: [] },
  skipped: { attributes: ['message', 'type'], children: [] },
}

function faults({ name, attributes, children }: XmlElement): readonly string[] {
  const { attributes: known = [], children: inside = [] } = allowed[name] ?? {}
  return [
    ...(allowed[name] === undefined ? [`<${name}>`] : []),
    ...Object.keys(attributes).filter(key => !known.includes(key)),
    ...children.filter(child => !inside.includes(child.name)).map(child => `<${child.name}> in <${name}>`),
    ...children.flatMap(faults),
  ]
}

describe.each([
  ['passes', passingReport],
  ['fails', failingReport],
  ['quotes a hostile target', hostileReport],
])('the XML of a run that %s', (_, report) => {
  test('has only elements and attributes of the schema', () => {
    expect(faults(parseXml(renderJunit(report)))).toEqual([])
  })

  test('states the right counts', () => {
    for (const suite of [parseXml(renderJunit(report)), ...suites(report)]) {
      const all = suite.name === 'testsuites' ? suite.children.flatMap(each => each.children) : suite.children
      const of = (kind: string) => String(all.filter(each => each.children[0]?.name === kind).length)
      expect(suite.attributes).toMatchObject({
        tests: String(all.length),
        failures: of('failure'),
        errors: of('error'),
      })
      if (suite.name === 'testsuite') expect(suite.attributes.skipped).toBe(of('skipped'))
    }
  })

  test('names every case of a suite differently', () => {
    for (const suite of suites(report)) {
      const names = suite.children.map(each => each.attributes.name)
      expect(new Set(names).size).toBe(names.length)
    }
  })
})

test('a violated clause is a failure, with the observation and the command', () => {
  const failure = resultOf(failingReport, 'rpc.batch.error-price')
  expect(failure?.name).toBe('failure')
  expect(failure?.attributes.message).toBe(
    '12 violations: got 40 credits for 1 item of 20 credits and 1 failed item, expected 25',
  )
  expect(failure?.text).toContain('\n< x-service-rpc-credits: 40\n')
  expect(failure?.text).toContain("\n$ curl -sS -i -N -X POST 'http://127.0.0.1:1/")
})

test('a clause that passed is a passed case, and one that was not exercised is skipped', () => {
  expect(caseOf(passingReport, 'header.date')?.children).toEqual([])
  expect(resultOf(passingReport, 'auth.bearer')?.name).toBe('skipped')
})

test('a clause that the target does not promise is skipped for that reason, and so is its billing', () => {
  const none = { section: '4', judged: 0, violated: 0, because: null, measured: null }
  const unpromised = (id: ClauseId) => ({ ...none, id, verdict: 'not-promised' as const })
  const report = { ...passingReport, clauses: [unpromised('header.date'), unpromised('billing.conservation')] }
  expect(resultOf(report, 'header.date')).toMatchObject({ name: 'skipped', attributes: { message: 'not promised' } })
  expect(resultOf(report, 'unbilled')?.name).toBe('skipped')
})

test('a crossed threshold is a failure, an inconclusive one is an error', () => {
  expect(resultOf(failingReport, 'failed == 0')?.name).toBe('failure')
  expect(resultOf(failingReport, 'failed == 0')?.text).toContain('why: A lost response may still have been charged.')
  expect(resultOf(failingReport, 'p(95) ttft < 300ms')?.name).toBe('error')
})

test('each kind of discrepancy has a case, which is skipped if no request was answered', () => {
  expect(resultOf(failingReport, 'billed-twice')?.name).toBe('failure')
  expect(caseOf(failingReport, 'unbilled')?.children).toEqual([])
  const silent = { ...passingReport, load: { ...passingReport.load, answered: 0 } }
  expect(resultOf(silent, 'unbilled')?.name).toBe('skipped')
})

test('the verdict is a case: an inconclusive run is an error, so that it never looks green', () => {
  expect(resultOf(failingReport, 'verdict')?.name).toBe('failure')
  expect(caseOf(passingReport, 'verdict')?.children).toEqual([])
  const doubtful: Report = { ...passingReport, verdict: 'inconclusive', reasons: ['Nothing was sent.'] }
  expect(resultOf(doubtful, 'verdict')).toMatchObject({ name: 'error', attributes: { message: 'Nothing was sent.' } })
})

test('text of the target stays text', () => {
  const text = resultOf(hostileReport, 'rpc.batch.error-price')?.text ?? ''
  expect(text).toContain(visible(hostile))
})

test('cuts long texts, and the sum of all texts', () => {
  const [finding] = failingReport.findings
  if (finding === undefined) throw new Error('the fixture has a finding')
  const long = { ...finding, message: 'long '.repeat(10_000) }
  const clauses = Array.from({ length: 250 }, () => failingReport.clauses.at(-1)).filter(each => each !== undefined)
  const text = renderJunit({ ...failingReport, clauses, findings: [long] })
  expect(text.length).toBeLessThan(2_500_000)
  expect(text).toContain('… (the rest is in report.json)')
  expect(parseXml(text).children[1]?.children).toHaveLength(250)
})
