import { readFileSync, writeFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { type Comparison, comparisonJsonSchema, comparisonSchema } from '../../../../src/judge/compare/comparison.ts'
import { withComparison } from '../../../../src/judge/verdict.ts'
import { annotationLines } from '../../../../src/outputs/github.ts'
import type { Report } from '../../../../src/report/document.ts'
import { renderJunit } from '../../../../src/report/render/junit.ts'
import { comparisonRenderers, renderHtml, renderMarkdown, renderText } from '../../../../src/report/render/renderers.ts'
import { parseXml } from '../../../support/xml.ts'
import { failingReport, passingReport } from '../fixtures.ts'
import { hostile } from '../hostile-report.ts'
import { hostileComparison, improved, regressed, unchanged, untold } from './comparisons.ts'

const page = { columns: 120, colour: false }
const render = (format: keyof typeof comparisonRenderers, comparison: Comparison) =>
  comparisonRenderers[format].render(comparison, page)

describe('a comparison', () => {
  test('as text says what changed, from what to what, by how much and how surely', async () => {
    await expect(render('text', regressed)).toMatchFileSnapshot('../../../golden/comparison.txt')
  })

  test('as Markdown has what changed in a table and the rest to unfold', async () => {
    await expect(render('markdown', regressed)).toMatchFileSnapshot('../../../golden/comparison.md')
  })

  test.each([regressed, unchanged, improved, untold])('as JSON is of the published form', comparison => {
    expect(comparisonSchema.parse(JSON.parse(render('json', comparison)))).toEqual(comparison)
  })

  test('as a page lets nothing out of its text', () => {
    const markup = render('html', hostileComparison(hostile))
    expect(markup).not.toMatch(/<script|<img|onerror=alert\(1\)>/)
    expect(markup).toContain('&lt;script&gt;')
    expect(render('text', hostileComparison(hostile))).not.toMatch(/[^\P{Cc}\n]|\p{Cf}/u)
    // What stands between backticks is shown as it is.
    const markdown = render('markdown', hostileComparison(hostile)).replace(/(`+)(?!`).*?[^`]\1(?!`)/g, '')
    expect(markdown).not.toMatch(/<script|^# heading|^::/m)
  })

  test('has a published schema, which is that of the program', () => {
    const file = 'docs/comparison.schema.json'
    const current = `${JSON.stringify(comparisonJsonSchema(), null, 2)}\n`
    if (process.env.UPDATE_DOCS !== undefined) writeFileSync(file, current)
    expect(readFileSync(file, 'utf8'), 'UPDATE_DOCS=1 writes it').toBe(current)
  })
})

const compared = (report: Report, comparison: Comparison): Report => ({
  ...report,
  ...withComparison(report, comparison),
  comparison,
})

describe('a report with a comparison', () => {
  test('fails where the run has regressed, and says so in every form', () => {
    const report = compared(passingReport, regressed)
    expect(report.verdict).toBe('fail')
    expect(report.reasons).toEqual(regressed.reasons.map(reason => `Against the baseline: ${reason}`))
    expect(renderText(report, { ...page, directory: null })).toMatch(/regressed {2}latency p50 +[\d.]+ ms +→/)
    expect(renderMarkdown(report)).toContain('### Against the baseline')
    expect(renderHtml(report)).toContain('<section id="comparison">')
    expect(annotationLines(report)).toContainEqual(
      expect.stringMatching(/^::error title=replay regressed::chat in steady/),
    )
    const suite = parseXml(renderJunit(report)).children.find(({ attributes }) => attributes.name === 'comparison')
    expect(Number(suite?.attributes.failures)).toBe(2)
    const row = suite?.children.find(({ attributes }) => attributes.name === 'chat in steady latency p50')
    expect(row?.children[0]?.attributes.message).toMatch(/^regressed \+1\d(\.\d)? %: 1\d\d\.\d+ ms, was/)
  })

  test('is drawn: a range for each number that can be told, those that changed first and in the colour of their verdict', () => {
    const lanes = (comparison: Comparison) =>
      [...render('html', comparison).matchAll(/<circle class="f-(\w+)" r="4"/g)].map(([, colour]) => colour)
    const colours = lanes(regressed)
    expect(colours).toEqual(colours.toSorted((a, b) => Number(b === 'red') - Number(a === 'red')))
    expect(new Set(colours)).toEqual(new Set(['red', 'grey']))
    expect(lanes(improved)[0]).toBe('green')
    expect(new Set(lanes(unchanged))).toEqual(new Set(['grey']))
    expect(lanes(untold)).toEqual([])
    const endless = regressed.rows.map(row => ({
      ...row,
      effect: row.effect && { ...row.effect, high: Number.POSITIVE_INFINITY },
    }))
    const [figure = ''] =
      /<figure class="effects">.*<\/figure>/s.exec(render('html', { ...regressed, rows: endless })) ?? []
    expect(figure.replace(/<span.*?<\/span>/gs, '')).not.toMatch(/NaN|Infinity/)
  })

  test('passes where nothing changed, and where it got better', () => {
    for (const comparison of [unchanged, improved]) {
      const report = compared(passingReport, comparison)
      expect(report.verdict).toBe('pass')
      expect(report.reasons[0]).toBe(passingReport.reasons[0])
      expect(report.reasons).toHaveLength(1 + comparison.reasons.length)
      expect(annotationLines(report)).toEqual([])
    }
  })

  test('is inconclusive where it cannot be told', () => {
    const report = compared(passingReport, untold)
    expect(report.verdict).toBe('inconclusive')
    expect(report.reasons).toEqual(['Against the baseline: The run did not end by itself.'])
  })

  test('keeps failing for what it failed for', () => {
    for (const comparison of [unchanged, improved, untold, regressed]) {
      const report = compared(failingReport, comparison)
      expect(report.verdict).toBe('fail')
      expect(report.reasons.slice(0, failingReport.reasons.length)).toEqual(failingReport.reasons)
    }
  })

  test('says first what fails, and what is in doubt behind it', () => {
    const doubtful = { ...passingReport, verdict: 'inconclusive', reasons: ['Nothing was judged.'] } as const
    expect(withComparison(doubtful, regressed).reasons.at(-1)).toBe('Nothing was judged.')
    expect(withComparison(doubtful, regressed).verdict).toBe('fail')
  })

  test('without one has no section for it', () => {
    expect(renderText(passingReport, { ...page, directory: null })).not.toContain('Against the baseline')
    expect(renderMarkdown(passingReport)).not.toContain('Against the baseline')
    expect(renderHtml(passingReport)).not.toContain('id="comparison"')
  })
})
