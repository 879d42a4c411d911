import { describe, expect, test } from 'vitest'
import { whatCouldChange } from '../../../../src/judge/judge-so-far.ts'
import { liveBlocks } from '../../../../src/outputs/live-page/live-blocks.ts'
import type { LiveWorker } from '../../../../src/outputs/output.ts'
import type { Report, ThresholdResult } from '../../../../src/report/document.ts'
import { renderHtmlSections } from '../../../../src/report/render/html.ts'
import { failingReport, passingReport } from '../../report/fixtures.ts'
import { hostileReport } from '../../report/hostile-report.ts'
import { snapshotAt } from '../progress-views.ts'

const threshold = (changes: Partial<ThresholdResult>): ThresholdResult => ({
  expression: 'failed == 0',
  value: 3,
  lowest: 3,
  highest: 3,
  whole: null,
  operator: '==',
  bound: 0,
  unit: 'count',
  verdict: 'fail',
  message: '',
  basis: null,
  why: '',
  ...changes,
})

const clean: Report = { ...failingReport, findings: [], billing: { ...failingReport.billing, discrepancies: [] } }

const page = (report: Report, workers: readonly LiveWorker[] = [], claimedUsd = '0.0077', budgetUsd = '0.05') => {
  const progress = { ...snapshotAt('ramp', 5_000), claimedUsd, budgetUsd }
  return renderHtmlSections(liveBlocks({ report, progress, workers }))
}
const textOf = (sections: ReturnType<typeof page>) =>
  sections.map(({ markup }) => markup.replace(/<[^>]+>/g, ' ').replace(/\s+/g, ' ')).join(' ')

describe('the live page: what could change the verdict', () => {
  test('nothing, after a violation, a discrepancy, or a count beyond its threshold', () => {
    expect(whatCouldChange(failingReport)).toMatch(/^Nothing can change this verdict: a violation/)
    const { discrepancies } = failingReport.billing
    expect(discrepancies.length).toBeGreaterThan(0)
    expect(whatCouldChange({ ...clean, billing: { ...clean.billing, discrepancies } })).toMatch(/^Nothing can change/)
    expect(whatCouldChange({ ...clean, thresholds: [threshold({})] })).toMatch(
      /^Nothing can change this verdict: a count/,
    )
    expect(whatCouldChange({ ...clean, thresholds: [threshold({ operator: '<', bound: 2 })] })).toMatch(/^Nothing/)
  })

  test.each([
    threshold({ expression: 'p(95) latency < 1s', unit: 'ms', operator: '<', value: 1_200, bound: 1_000 }),
    threshold({ expression: 'good > 99%', unit: 'ratio', operator: '>', value: 0.9, bound: 0.99 }),
    threshold({ expression: 'requests >= 500', operator: '>=', value: 3, bound: 500 }),
    threshold({ expression: 'requests == 500', value: 3, bound: 500 }),
  ])('$expression may still be met', crossed => {
    expect(whatCouldChange({ ...clean, thresholds: [crossed] })).toMatch(/^It passes if/)
  })

  test('a pass may still fail, and an inconclusive run may still do both', () => {
    expect(whatCouldChange({ ...passingReport, verdict: 'pass' })).toContain('can still fail')
    expect(whatCouldChange({ ...clean, verdict: 'inconclusive', thresholds: [] })).toMatch(/^It passes once/)
  })
})

describe('the live page: what it shows', () => {
  test('the verdict is one so far, above the sections of the report', () => {
    const sections = page(failingReport)
    expect(sections.map(({ id }) => id)).toEqual(expect.arrayContaining(['head', 'tiles', 'findings', 'thresholds']))
    expect(new Set(sections.map(({ id }) => id)).size).toBe(sections.length)
    const text = textOf(sections)
    expect(text).toContain('fail so far')
    expect(text).toMatch(/stage ramp stage 1 of 3/)
    expect(text).toMatch(/elapsed 5 s at most 55 s left/)
    expect(text).toMatch(/achieved 12\.2\/s 5\/s offered/)
    expect(sections.find(({ id }) => id === 'findings')?.markup).toContain('<details')
  })

  test('the budget empties, and never below nothing', () => {
    expect(textOf(page(failingReport, [], '0.0125', '0.05'))).toContain('75 % left')
    expect(textOf(page(failingReport, [], '0.07', '0.05'))).toContain('0 % left')
  })

  test('workers are listed by name, if they are elsewhere or several', () => {
    const worker = { worker: 1, name: null, isLost: false, stage: 'steady', inFlight: 2 }
    const lost = { ...worker, worker: 2, name: 'host-b/7', isLost: true, inFlight: 0 }
    expect(textOf(page(failingReport, [worker]))).not.toContain('event-loop delay p99')
    expect(textOf(page(failingReport, [worker, lost]))).toMatch(/1 steady .* 2 host-b\/7 lost/)
  })

  test('text from a target cannot become markup', () => {
    const tags = page(hostileReport).flatMap(({ markup }) => markup.match(/<[^>]*>/g) ?? [])
    expect(tags.length).toBeGreaterThan(50)
    expect(tags.filter(tag => /^<(?:script|img|a|iframe)\b|\son\w+=|https?:/i.test(tag))).toEqual([])
  })
})
