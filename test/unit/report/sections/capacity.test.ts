import { describe, expect, test } from 'vitest'
import type { Report } from '../../../../src/report/document.ts'
import { renderers } from '../../../../src/report/render/renderers.ts'
import { aSearch, aTrial } from '../capacity-results.ts'
import { passingReport } from '../fixtures.ts'

const page = { columns: 100, colour: false, directory: null }
const report: Report = { ...passingReport, capacity: [aSearch()] }
const rendered = (format: 'text' | 'html' | 'markdown', of: Report = report) => renderers[format](of, page)

describe.each(['text', 'html', 'markdown'] as const)('a search in %s', format => {
  test('shows the rate, what it rests on, and each trial with what came of it', () => {
    const text = rendered(format)
    expect(text).toContain('78.7/s')
    expect(text).toContain('held for 10 s')
    expect(text).toContain('too many bad answers, 115/480')
    expect(text).toContain('confirm: sustained')
  })

  test('shows no number where none was confirmed', () => {
    const message = 'The rate limits of the callers came first: at 160/s 40 answers were 429.'
    const of = { ...report, capacity: [aSearch({ status: 'limited-by-tier', ratePerSecond: null, reason: message })] }
    expect(rendered(format, of)).toContain('not found')
  })

  test('is left out where nothing was searched', () => {
    expect(rendered(format, passingReport)).not.toMatch(/Capacity/)
  })
})

describe('the charts', () => {
  test('have a point for each trial that has a value, which says what came of it', () => {
    const points = (page: string) => page.match(/<circle class="f-\w+" r="3.5" cx="[^"]*%"/g)
    // Goodput, the median and p95 of three trials; p99 has no value, and is not in the legend either.
    expect(points(rendered('html'))).toHaveLength(9)
    expect(rendered('html')).not.toContain('</svg>p99</li>')
    expect(rendered('html')).toContain('160/s: too many bad answers, 115/480\n78.9/s')
  })

  test('say what the colours mean that are there', () => {
    const meanings = (of: Report) =>
      [...rendered('html', of).matchAll(/cy="5"\/><\/svg>([^<]*)/g)].map(([, name]) => name)
    expect(meanings(report)).toEqual(['sustained', 'broke', 'sustained', 'broke'])
    const trials = [aTrial({ outcome: 'harness-late' })]
    expect(meanings({ ...report, capacity: [aSearch({ trials })] })[0]).toBe('says nothing of the target')
  })

  test('join points in the order of rates, not of trials', () => {
    const [, goodput = ''] = /<path class="curve blue" d="M([^"]*)"/.exec(rendered('html')) ?? []
    const xs = goodput.split('L').map(point => Number(point.split(' ')[0]))
    expect(xs).toEqual(xs.toSorted((a, b) => a - b))
    expect(xs).toHaveLength(3)
  })

  test('mark the rate that was found, and none where there is none', () => {
    const marks = (of: Report) => rendered('html', of).match(/class="curve green thin"/g)?.length ?? 0
    expect(marks(report)).toBe(2)
    expect(marks({ ...report, capacity: [aSearch({ status: 'inconclusive', ratePerSecond: null })] })).toBe(0)
  })

  test('can be drawn of a search that tried nothing', () => {
    const of = { ...report, capacity: [aSearch({ status: 'inconclusive', ratePerSecond: null, trials: [] })] }
    expect(rendered('html', of)).toContain('not found')
  })
})

test('a report of a version that did not search has no searches', async () => {
  const { reportSchema } = await import('../../../../src/report/document.ts')
  const { capacity: _, ...older } = passingReport
  expect(reportSchema.parse(older).capacity).toEqual([])
  expect(reportSchema.parse(report).capacity).toEqual(report.capacity)
})
