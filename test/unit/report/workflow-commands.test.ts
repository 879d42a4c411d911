import { expect, test } from 'vitest'
import { annotationLines, withoutCommands } from '../../../src/report/workflow-commands.ts'
import { failingReport, passingReport } from './fixtures.ts'
import { hostileReport } from './hostile-report.ts'

test('a run that passes annotates nothing', () => {
  expect(annotationLines(passingReport)).toEqual([])
})

test('each finding, discrepancy and crossed threshold is an error, each doubt a warning', () => {
  expect(annotationLines(failingReport)).toEqual([
    '::error title=rpc.batch.error-price (§4.3)::12 violations: got 40 credits for 1 item of 20 credits and 1 failed item, expected 25',
    '::error title=replay%3A billed-twice::2 billing discrepancies, $0.0000125',
    '::error title=failed == 0::failed was 3, not == 0 (n = 665)',
    '::warning title=p(95) ttft < 300ms::p(95) ttft cannot be bounded: it takes 59 values, the largest was 420 ms (required < 300 ms; n = 40)',
  ])
})

test('an inconclusive run is an error, for the step ends as one', () => {
  expect(annotationLines({ ...passingReport, verdict: 'inconclusive', because: ['Nothing was sent.'] })).toEqual([
    '::error title=replay is inconclusive::Nothing was sent.',
  ])
})

test('there are never more than GitHub shows', () => {
  const findings = Array.from({ length: 30 }, () => failingReport.findings).flat()
  expect(annotationLines({ ...failingReport, findings }).filter(line => line.startsWith('::error'))).toHaveLength(10)
})

test('what a target says stays in the line that quotes it', () => {
  const lines = annotationLines(hostileReport)
  expect(lines.every(line => /^::(error|warning) title=[^:]*::[^\n\r]*$/.test(line))).toBe(true)
})

test('no line of a report begins a command', () => {
  expect(withoutCommands('a ::b\n  ::error::x\n::warning::y ##[error]z')).toBe(
    'a ::b\n  :\u200B:error::x\n:\u200B:warning::y ##\u200B[error]z',
  )
})
