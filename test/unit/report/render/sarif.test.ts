import { expect, test } from 'vitest'
import { visible } from '../../../../src/lib/visible.ts'
import { alertsOf } from '../../../../src/report/alerts.ts'
import type { Report } from '../../../../src/report/document.ts'
import { renderSarif } from '../../../../src/report/render/sarif.ts'
import { failingReport, passingReport } from '../fixtures.ts'
import { hostileReport } from '../hostile-report.ts'

const logOf = (report: Report) => JSON.parse(renderSarif(report))
const runOf = (report: Report) => logOf(report).runs[0]

test('a run that passes has no result, and did what it was to do', () => {
  const { results, invocations, tool } = runOf(passingReport)
  expect([results, tool.driver.rules, invocations[0].executionSuccessful]).toEqual([[], [], true])
})

test('each reason why a run does not pass is a result, with the rule that it breaks', () => {
  const { results, tool, invocations } = runOf(failingReport)
  const { rules } = tool.driver
  expect(results).toHaveLength(alertsOf(failingReport).length)
  expect(results.map(({ ruleId, level }: { ruleId: string; level: string }) => [ruleId, level])).toEqual([
    ['rpc.batch.error-price', 'error'],
    ['discrepancy.billed-twice', 'error'],
    ['threshold', 'error'],
    ['threshold', 'warning'],
  ])
  for (const { ruleId, ruleIndex, locations } of results) {
    expect(rules[ruleIndex].id).toBe(ruleId)
    expect(rules[ruleIndex].shortDescription.text).toMatch(/^[A-Z].+\.$/)
    expect(locations[0].physicalLocation).toEqual({
      artifactLocation: { uri: 'report.json' },
      region: { startLine: 1 },
    })
  }
  expect(rules).toHaveLength(3)
  expect(results[0].message.text).toMatch(/^rpc\.batch\.error-price \(§4\.3\): 12 violations: got 40 credits/)
  expect(invocations[0].executionSuccessful).toBe(true)
})

test('a finding has the same fingerprint in the next run, and another one than other findings', () => {
  const prints = (report: Report): readonly string[] =>
    runOf(report).results.map((result: { partialFingerprints: object }) => JSON.stringify(result.partialFingerprints))
  const next = {
    ...failingReport,
    run: { ...failingReport.run, id: 'another', seed: 7 },
    findings: failingReport.findings.map(each => ({ ...each, count: 3, message: 'got 41 credits' })),
  }
  expect(prints(next)).toEqual(prints(failingReport))
  expect(new Set(prints(failingReport)).size).toBe(4)
})

test('an inconclusive run is not one that found nothing', () => {
  const { results, invocations } = runOf({ ...passingReport, verdict: 'inconclusive', reasons: ['Nothing was sent.'] })
  expect(results).toMatchObject([{ ruleId: 'inconclusive', level: 'error' }])
  expect(invocations[0]).toMatchObject({
    executionSuccessful: false,
    toolExecutionNotifications: [{ message: { text: 'Nothing was sent.' } }],
  })
})

test('text of a target is no link, no control character, and has an end', () => {
  const texts = renderSarif(hostileReport)
  expect(texts).not.toContain('](')
  expect(visible(texts)).toBe(texts)
  const long = {
    ...failingReport,
    findings: failingReport.findings.map(each => ({ ...each, message: 'x'.repeat(1e6) })),
  }
  expect(renderSarif(long).length).toBeLessThan(20_000)
})
