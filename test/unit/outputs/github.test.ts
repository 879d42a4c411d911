import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { annotationLines, escapeWorkflowCommands, writeGitHubSummary } from '../../../src/outputs/github.ts'
import { maxMarkdownBytes } from '../../../src/report/render/markdown.ts'
import { renderMarkdown } from '../../../src/report/render/renderers.ts'

import { freshDirectory } from '../../support/turnpike.ts'
import { failingReport, passingReport } from '../report/fixtures.ts'
import { hostileReport } from '../report/hostile-report.ts'

test('a run that passes annotates nothing', () => {
  expect(annotationLines(passingReport)).toEqual([])
})

test('findings, discrepancies and crossed thresholds are errors; inconclusive thresholds are warnings', () => {
  expect(annotationLines(failingReport)).toEqual([
    '::error title=rpc.batch.error-price (§4.3)::12 violations: got 40 credits for 1 item of 20 credits and 1 failed item, expected 25 (request 17, 2026-01-02T03:04:06.230Z)',
    '::error title=replay%3A billed-twice::2 billing discrepancies, $0.0000125',
    '::error title=failed == 0::failed was 3, not == 0 (n = 665)',
    '::warning title=p(95) ttft < 300ms::p(95) ttft cannot be bounded: it needs 59 values, the largest was 420 ms (required < 300 ms; n = 40)',
  ])
})

test('an inconclusive run is an error, because the step fails', () => {
  expect(annotationLines({ ...passingReport, verdict: 'inconclusive', reasons: ['Nothing was sent.'] })).toEqual([
    '::error title=replay is inconclusive::Nothing was sent.',
  ])
})

test('there are never more annotations than GitHub shows', () => {
  const findings = Array.from({ length: 30 }, () => failingReport.findings).flat()
  expect(annotationLines({ ...failingReport, findings }).filter(line => line.startsWith('::error'))).toHaveLength(10)
})

test('text from a target cannot leave its line', () => {
  const lines = annotationLines(hostileReport)
  expect(lines.every(line => /^::(error|warning) title=[^:]*::[^\n\r]*$/.test(line))).toBe(true)
})

test('no line of a report starts a workflow command', () => {
  expect(escapeWorkflowCommands('a ::b\n  ::error::x\n::warning::y ##[error]z')).toBe(
    'a ::b\n  :\u200B:error::x\n:\u200B:warning::y ##\u200B[error]z',
  )
})

let summary = ''
const stderr: string[] = []
beforeEach(() => {
  stderr.length = 0
  summary = join(freshDirectory(), 'summary.md')
  vi.stubEnv('GITHUB_STEP_SUMMARY', summary)
  vi.stubEnv('GITHUB_ACTIONS', 'true')
  vi.spyOn(process.stderr, 'write').mockImplementation(line => stderr.push(`${line}`) > 0)
})
afterEach(() => {
  vi.restoreAllMocks()
  vi.unstubAllEnvs()
})

test('the report is appended to the step summary', () => {
  writeFileSync(summary, 'before\n')
  writeGitHubSummary(passingReport)
  expect(readFileSync(summary, 'utf8')).toBe(`before\n${renderMarkdown(passingReport)}\n`)
  expect(stderr).toEqual([])
})

test('a failing run is annotated on stderr', () => {
  writeGitHubSummary(failingReport)
  expect(stderr[0]).toMatch(/^::error title=rpc\.batch\.error-price/)
})

test('a nearly full summary gets only the verdict, and a full one nothing', () => {
  writeFileSync(summary, 'x'.repeat(maxMarkdownBytes - 2_000))
  writeGitHubSummary(failingReport)
  const text = readFileSync(summary, 'utf8')
  expect(text).toContain('## ❌ fail: replay')
  expect(text).not.toContain('### Findings')
  writeGitHubSummary(failingReport)
  writeGitHubSummary(failingReport)
  expect(Buffer.byteLength(readFileSync(summary, 'utf8'))).toBeLessThanOrEqual(maxMarkdownBytes)
  expect(stderr.join('')).toContain('is full, so this run is not in it')
})

test('a summary that cannot be written is reported, and nothing else happens', () => {
  const missing = join(summary, 'missing', 'summary.md')
  vi.stubEnv('GITHUB_STEP_SUMMARY', missing)
  writeGitHubSummary(passingReport)
  expect(stderr.join('')).toContain(`Cannot write to the step summary ${missing}: ENOENT`)
})

test('outside GitHub Actions nothing is written', () => {
  vi.stubEnv('GITHUB_STEP_SUMMARY', undefined)
  vi.stubEnv('GITHUB_ACTIONS', undefined)
  writeGitHubSummary(failingReport)
  expect(stderr).toEqual([])
})
