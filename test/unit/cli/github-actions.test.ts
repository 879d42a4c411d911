import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { tellGitHub } from '../../../src/cli/github-actions.ts'
import { longestMarkdownBytes } from '../../../src/report/render/markdown.ts'
import { renderMarkdown } from '../../../src/report/render/renderers.ts'
import { freshDirectory } from '../../support/turnpike.ts'
import { failingReport, passingReport } from '../report/fixtures.ts'

let summary = ''
const said: string[] = []
beforeEach(() => {
  said.length = 0
  summary = join(freshDirectory(), 'summary.md')
  vi.stubEnv('GITHUB_STEP_SUMMARY', summary)
  vi.stubEnv('GITHUB_ACTIONS', 'true')
  vi.spyOn(process.stderr, 'write').mockImplementation(line => said.push(`${line}`) > 0)
})
afterEach(() => {
  vi.restoreAllMocks()
  vi.unstubAllEnvs()
})

test('the report is put behind what is in the summary of the step already', () => {
  writeFileSync(summary, 'before\n')
  tellGitHub(passingReport)
  expect(readFileSync(summary, 'utf8')).toBe(`before\n${renderMarkdown(passingReport)}\n`)
  expect(said).toEqual([])
})

test('a run that fails is annotated, on stderr', () => {
  tellGitHub(failingReport)
  expect(said[0]).toMatch(/^::error title=rpc\.batch\.error-price/)
})

test('a summary that is nearly full gets the verdict alone, and a full one nothing', () => {
  writeFileSync(summary, 'x'.repeat(longestMarkdownBytes - 2_000))
  tellGitHub(failingReport)
  const text = readFileSync(summary, 'utf8')
  expect(text).toContain('## ❌ FAIL: replay')
  expect(text).not.toContain('### Findings')
  tellGitHub(failingReport)
  tellGitHub(failingReport)
  expect(Buffer.byteLength(readFileSync(summary, 'utf8'))).toBeLessThanOrEqual(longestMarkdownBytes)
  expect(said.join('')).toContain('No room is left')
})

test('a summary that cannot be written to is told of, and no more', () => {
  vi.stubEnv('GITHUB_STEP_SUMMARY', join(summary, 'missing', 'summary.md'))
  tellGitHub(passingReport)
  expect(said.join('')).toContain('cannot be written to: ENOENT')
})

test('elsewhere nothing is said', () => {
  vi.stubEnv('GITHUB_STEP_SUMMARY', undefined)
  vi.stubEnv('GITHUB_ACTIONS', undefined)
  tellGitHub(failingReport)
  expect(said).toEqual([])
})
