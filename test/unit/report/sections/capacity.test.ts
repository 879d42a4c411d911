import { describe, expect, test } from 'vitest'
import type { Report } from '../../../../src/report/document.ts'
import { renderers } from '../../../../src/report/render/renderers.ts'
import { aSearch, aTrial } from '../capacity-results.ts'
import { passingReport } from '../fixtures.ts'

const page = { columns: 100, color: false, directory: null }
const report: Report = { ...passingReport, capacity: [aSearch()] }
const rendered = (format: 'text' | 'html' | 'markdown', of: Report = report) => renderers[format](of, page)

describe.each(['text', 'html', 'markdown'] as const)('a search in %s', format => {
  test('shows the rate, its reason, and each trial with its outcome', () => {
    const text = rendered(format)
    expect(text).toContain('78.7/s')
    expect(text).toContain('sustained 78.7/s for 10 s')
    expect(text).toContain('too many bad responses, 115/480')
    expect(text).toContain('confirm: sustained')
  })

  test('shows no rate if none was confirmed', () => {
    const reason = 'The rate limits of the callers came first: at 160/s, 40 responses were 429.'
    const of = { ...report, capacity: [aSearch({ status: 'limited-by-tier', ratePerSecond: null, reason })] }
    expect(rendered(format, of)).toContain('not found')
  })

  test('is left out if there was no search', () => {
    expect(rendered(format, passingReport)).not.toMatch(/Capacity/)
  })
})

describe('the charts', () => {
  test('have a point for each trial with a value, and its tooltip states the outcome', () => {
    const points = (page: string) => page.match(/<circle class="f-\w+" r="3.5" cx="[^"]*%"/g)
    // Goodput, median and p95 of three trials. p99 has no value, so the legend leaves it out.
    expect(points(rendered('html'))).toHaveLength(9)
    expect(rendered('html')).not.toContain('</svg>p99</li>')
    expect(rendered('html')).toContain('160/s: too many bad responses, 115/480\n78.9/s')
  })

  test('have a legend for the colors that occur', () => {
    const meanings = (of: Report) =>
      [...rendered('html', of).matchAll(/cy="5"\/><\/svg>([^<]*)/g)].map(([, name]) => name)
    expect(meanings(report)).toEqual(['sustained', 'exceeded', 'sustained', 'exceeded'])
    const trials = [aTrial({ outcome: 'harness-late' })]
    expect(meanings({ ...report, capacity: [aSearch({ trials })] })[0]).toBe('inconclusive')
  })

  test('join points in the order of rates, not of trials', () => {
    const [, goodput = ''] = /<path class="curve blue" d="M([^"]*)"/.exec(rendered('html')) ?? []
    const xs = goodput.split('L').map(point => Number(point.split(' ')[0]))
    expect(xs).toEqual(xs.toSorted((a, b) => a - b))
    expect(xs).toHaveLength(3)
  })

  test('mark the rate that was found, if there is one', () => {
    const marks = (of: Report) => rendered('html', of).match(/class="curve green thin"/g)?.length ?? 0
    expect(marks(report)).toBe(2)
    expect(marks({ ...report, capacity: [aSearch({ status: 'inconclusive', ratePerSecond: null })] })).toBe(0)
  })

  test('allow a search without trials', () => {
    const of = { ...report, capacity: [aSearch({ status: 'inconclusive', ratePerSecond: null, trials: [] })] }
    expect(rendered('html', of)).toContain('not found')
  })
})

test('a report of an older version, without searches, is valid', async () => {
  const { reportSchema } = await import('../../../../src/report/document.ts')
  const { capacity: _, ...older } = passingReport
  expect(reportSchema.parse(older).capacity).toEqual([])
  expect(reportSchema.parse(report).capacity).toEqual(report.capacity)
})
