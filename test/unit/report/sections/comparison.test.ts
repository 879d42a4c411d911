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
import { hostileComparison, improved, inconclusive, regressed, unchanged } from './comparisons.ts'

const page = { columns: 120, color: false }
const render = (format: keyof typeof comparisonRenderers, comparison: Comparison) =>
  comparisonRenderers[format].render(comparison, page)

describe('a comparison', () => {
  test('as text shows each changed number: baseline, run, effect, interval and confidence', async () => {
    await expect(render('text', regressed)).toMatchFileSnapshot('../../../golden/comparison.txt')
  })

  test('as Markdown shows the changes in a table and folds the rest', async () => {
    await expect(render('markdown', regressed)).toMatchFileSnapshot('../../../golden/comparison.md')
  })

  test.each([regressed, unchanged, improved, inconclusive])('as JSON matches the published schema', comparison => {
    expect(comparisonSchema.parse(JSON.parse(render('json', comparison)))).toEqual(comparison)
  })

  test('as a page keeps hostile text as text', () => {
    const markup = render('html', hostileComparison(hostile))
    expect(markup).not.toMatch(/<script|<img|onerror=alert\(1\)>/)
    expect(markup).toContain('&lt;script&gt;')
    expect(render('text', hostileComparison(hostile))).not.toMatch(/[^\P{Cc}\n]|\p{Cf}/u)
    // Text between backticks is shown verbatim.
    const markdown = render('markdown', hostileComparison(hostile)).replace(/(`+)(?!`).*?[^`]\1(?!`)/g, '')
    expect(markdown).not.toMatch(/<script|^# heading|^::/m)
  })

  test('has a published schema that is up to date', () => {
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
  test('fails if the run has regressed, and every format shows it', () => {
    const report = compared(passingReport, regressed)
    expect(report.verdict).toBe('fail')
    expect(report.reasons).toEqual(regressed.reasons.map(reason => `Against the baseline: ${reason}`))
    expect(renderText(report, { ...page, directory: null })).toMatch(
      /regressed {2}latency p50 +[\d.]+ ms +[\d.]+ ms +\+/,
    )
    expect(renderMarkdown(report)).toContain('### Against the baseline')
    expect(renderHtml(report)).toContain('<section id="comparison">')
    expect(annotationLines(report)).toContainEqual(
      expect.stringMatching(/^::error title=replay regressed::Regressed: latency p50 of chat in steady/),
    )
    const suite = parseXml(renderJunit(report)).children.find(({ attributes }) => attributes.name === 'comparison')
    expect(Number(suite?.attributes.failures)).toBe(3)
    expect(suite?.children[0]?.children[0]?.attributes.message).toBe(regressed.reasons[0])
    const row = suite?.children.find(({ attributes }) => attributes.name === 'latency p50 of chat in steady')
    expect(row?.children[0]?.attributes.message).toMatch(/^regressed \+1\d(\.\d)? %: 1\d\d\.\d+ ms, baseline/)
  })

  test('has no test case for a number that was not compared, but one that counts them', () => {
    const [result, ...others] =
      parseXml(renderJunit(compared(passingReport, inconclusive))).children.find(
        ({ attributes }) => attributes.name === 'comparison',
      )?.children ?? []
    expect(result?.children[0]).toMatchObject({ name: 'error', attributes: { message: inconclusive.reasons[0] } })
    expect(others.map(({ attributes }) => attributes.name)).toEqual(['numbers not compared'])
    expect(others[0]?.children[0]?.attributes.message).toMatch(/^the run did not end by itself \(10\): Let the run/)
  })

  test('draws a range for each conclusive number: changes first, in the color of their verdict', () => {
    const lanes = (comparison: Comparison) =>
      [...render('html', comparison).matchAll(/<circle class="f-(\w+)" r="4"/g)].map(([, color]) => color)
    const colors = lanes(regressed)
    expect(colors).toEqual(colors.toSorted((a, b) => Number(b === 'red') - Number(a === 'red')))
    expect(new Set(colors)).toEqual(new Set(['red', 'grey']))
    expect(lanes(improved)[0]).toBe('green')
    expect(new Set(lanes(unchanged))).toEqual(new Set(['grey']))
    expect(lanes(inconclusive)).toEqual([])
    const endless = regressed.rows.map(row => ({
      ...row,
      effect: row.effect && { ...row.effect, high: Number.POSITIVE_INFINITY },
    }))
    const [figure = ''] =
      /<figure class="effects">.*<\/figure>/s.exec(render('html', { ...regressed, rows: endless })) ?? []
    expect(figure.replace(/<span.*?<\/span>/gs, '')).not.toMatch(/NaN|Infinity/)
  })

  test('passes if nothing changed, or if it improved', () => {
    for (const comparison of [unchanged, improved]) {
      const report = compared(passingReport, comparison)
      expect(report.verdict).toBe('pass')
      expect(report.reasons[0]).toBe(passingReport.reasons[0])
      expect(report.reasons).toHaveLength(1 + comparison.reasons.length)
      expect(annotationLines(report)).toEqual([])
    }
  })

  test('is inconclusive if the comparison cannot tell', () => {
    const report = compared(passingReport, inconclusive)
    expect(report.verdict).toBe('inconclusive')
    expect(report.reasons).toEqual([
      expect.stringMatching(/^Against the baseline: Cannot tell: the run did not end by itself\./),
      'Against the baseline: Let the run end by itself, with a verdict.',
    ])
  })

  test('keeps the reasons of a failed run', () => {
    for (const comparison of [unchanged, improved, inconclusive, regressed]) {
      const report = compared(failingReport, comparison)
      expect(report.verdict).toBe('fail')
      expect(report.reasons.slice(0, failingReport.reasons.length)).toEqual(failingReport.reasons)
    }
  })

  test('lists failures first, then inconclusive reasons', () => {
    const doubtful = { ...passingReport, verdict: 'inconclusive', reasons: ['Nothing was judged.'] } as const
    expect(withComparison(doubtful, regressed).reasons.at(-1)).toBe('Nothing was judged.')
    expect(withComparison(doubtful, regressed).verdict).toBe('fail')
  })

  test('has no section for a comparison if there was none', () => {
    expect(renderText(passingReport, { ...page, directory: null })).not.toContain('Against the baseline')
    expect(renderMarkdown(passingReport)).not.toContain('Against the baseline')
    expect(renderHtml(passingReport)).not.toContain('id="comparison"')
  })
})
