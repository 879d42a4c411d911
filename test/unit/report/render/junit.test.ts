import { describe, expect, test } from 'vitest'
import { type ClauseId, clauses } from '../../../../src/contract/clauses.ts'
import { visible } from '../../../../src/lib/visible.ts'
import type { Report } from '../../../../src/report/document.ts'
import { renderJunit } from '../../../../src/report/render/junit.ts'
import { parseXml, type XmlElement } from '../../../support/xml.ts'
import { failingReport, passingReport } from '../fixtures.ts'
import { hostile, hostileReport } from '../hostile-report.ts'

const suites = (report: Report): readonly XmlElement[] => parseXml(renderJunit(report)).children
const cases = (report: Report) => suites(report).flatMap(suite => suite.children)
/** By its name, or by the id at the start of its name. */
const caseOf = (report: Report, name: string) =>
  cases(report).find(({ attributes }) => attributes.name === name || attributes.name?.startsWith(`${name}: `))
const resultOf = (report: Report, name: string) => caseOf(report, name)?.children[0]

/** The attributes and children of each element in the schema of Jenkins (junit-10.xsd of its xUnit plugin). */
const allowed: Readonly<Record<string, { attributes: readonly string[]; children: readonly string[] }>> = {
  testsuites: { attributes: ['name', 'time', 'tests', 'failures', 'errors'], children: ['testsuite'] },
  testsuite: {
    attributes: ['name', 'tests', 'failures', 'errors', 'skipped', 'time', 'timestamp', 'hostname', 'id', 'package'],
    children: ['testcase', 'properties'],
  },
  testcase: { attributes: ['name', 'classname', 'time'], children: ['failure', 'error', 'skipped', 'system-out'] },
  'system-out': { attributes: [], children: [] },
  failure: { attributes: ['message', 'type'], children: [] },
  error: { attributes: ['message', 'type'], children: [] },
  skipped: { attributes: ['message', 'type'], children: [] },
}
const required: Readonly<Record<string, readonly string[]>> = {
  testsuite: ['name', 'tests', 'failures', 'errors'],
  testcase: ['name'],
}

function faults({ name, attributes, children }: XmlElement): readonly string[] {
  const { attributes: known = [], children: inside = [] } = allowed[name] ?? {}
  return [
    ...(allowed[name] === undefined ? [`<${name}>`] : []),
    ...Object.keys(attributes).filter(key => !known.includes(key)),
    ...(required[name] ?? []).filter(key => !(key in attributes)).map(key => `<${name}> without ${key}`),
    ...(attributes.time === undefined || /^\d+\.\d{3}$/.test(attributes.time) ? [] : [`time ${attributes.time}`]),
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

test('names and classes are those that a CI shows: scenario and suite, and the words of the document', () => {
  const shown = cases(failingReport).map(({ attributes }) => `${attributes.classname} | ${attributes.name}`)
  expect(shown).toContain('turnpike.replay.run | verdict of replay')
  expect(shown).toContain('turnpike.replay.thresholds | p(95) latency of batch < 400ms')
  expect(shown).toContain('turnpike.replay.billing | no discrepancy: billed-twice')
  expect(shown).toContain(`turnpike.replay.clauses | rpc.batch.error-price: ${clauses['rpc.batch.error-price'].text}`)
})

test('the times of all cases add up to the duration of the run', () => {
  const sum = cases(failingReport).reduce((total, { attributes }) => total + Number(attributes.time), 0)
  expect(sum).toBeCloseTo(failingReport.run.durationMs / 1000, 3)
})

test('a clause that passed is a passed case', () => {
  expect(caseOf(passingReport, 'header.date')?.children).toEqual([])
})

const silent = (id: ClauseId, verdict: 'not-promised' | 'not-exercised') => ({
  ...{ id, section: '4', judged: 0, violated: 0, because: null, measured: null },
  verdict,
})

test('clauses that nothing judged are one skipped case for each reason, with their number and names', () => {
  const unjudged = [
    silent('auth.bearer', 'not-exercised'),
    silent('header.date', 'not-promised'),
    silent('billing.conservation', 'not-promised'),
  ]
  const report = { ...passingReport, clauses: unjudged }
  const suite = suites(report).find(({ attributes }) => attributes.name === 'clauses')
  expect(suite?.children.map(({ attributes, children }) => [attributes.name, children[0]?.name])).toEqual([
    ['clauses not exercised', 'skipped'],
    ['clauses not promised', 'skipped'],
  ])
  expect(resultOf(report, 'clauses not promised')?.attributes.message).toBe(
    '2 clauses: header.date, billing.conservation',
  )
  expect(resultOf(report, 'discrepancies')).toMatchObject({ name: 'skipped', attributes: { message: 'not promised' } })
})

test('a clause that something prevented from being judged is a skipped case of its own, with the cause', () => {
  const because = { kind: 'not-judged', text: 'resets are unusable', clause: 'limit.requests.reset' }
  const report = { ...passingReport, clauses: [{ ...silent('abuse.counts', 'not-exercised'), because }] }
  expect(resultOf(report as Report, 'abuse.counts')).toMatchObject({
    name: 'skipped',
    attributes: { message: 'not judged: resets are unusable, see limit.requests.reset' },
  })
})

test('a crossed threshold is a failure, an inconclusive one is an error', () => {
  expect(resultOf(failingReport, 'failed == 0')?.name).toBe('failure')
  expect(resultOf(failingReport, 'failed == 0')?.text).toContain('why: A lost response may still have been charged.')
  expect(resultOf(failingReport, 'p(95) ttft < 300ms')?.name).toBe('error')
})

test('each kind of discrepancy has a case; none has if no request was answered', () => {
  expect(resultOf(failingReport, 'no discrepancy: billed-twice')?.name).toBe('failure')
  expect(caseOf(failingReport, 'no discrepancy: unbilled')?.children).toEqual([])
  const silence = { ...passingReport, load: { ...passingReport.load, answered: 0 } }
  expect(caseOf(silence, 'no discrepancy: unbilled')).toBeUndefined()
  expect(resultOf(silence, 'discrepancies')?.name).toBe('skipped')
})

test('the amounts of a run have a case that states their tolerance', () => {
  expect(caseOf(passingReport, 'no discrepancy: wrong-amount')?.children.map(({ name, text }) => [name, text])).toEqual(
    [
      [
        'system-out',
        'Claimed and expected differ by $0, within the tolerance of $0.000661, the sum over all responses: each may differ by 0.5 % of the price of RPC credits, and by the last digit of its cost.\nBilled and claimed differ by $0, within the tolerance of $0.00000002, the sum over all callers: the last digit of a balance, $0.00000001, and of each cost.',
      ],
    ],
  )
})

test('the verdict is a case: an inconclusive run is an error, so that it never looks green', () => {
  expect(resultOf(failingReport, 'verdict of replay')?.name).toBe('failure')
  expect(caseOf(passingReport, 'verdict of replay')?.children).toEqual([])
  const doubtful: Report = { ...passingReport, verdict: 'inconclusive', reasons: ['Nothing was sent.'] }
  expect(resultOf(doubtful, 'verdict of replay')).toMatchObject({
    name: 'error',
    attributes: { message: 'Nothing was sent.' },
  })
})

test('text of the target stays text', () => {
  const text = resultOf(hostileReport, 'rpc.batch.error-price')?.text ?? ''
  expect(text).toContain(visible(hostile))
})

test('cuts long texts, and the sum of all texts', () => {
  const [finding] = failingReport.findings
  if (finding === undefined) throw new Error('the fixture has a finding')
  const long = { ...finding, message: 'long '.repeat(10_000) }
  const many = Array.from({ length: 250 }, () => failingReport.clauses.at(-1)).filter(each => each !== undefined)
  const text = renderJunit({ ...failingReport, clauses: many, findings: [long] })
  expect(text.length).toBeLessThan(2_500_000)
  expect(text).toContain('… (the rest is in report.json)')
  expect(parseXml(text).children[1]?.children).toHaveLength(250)
})
