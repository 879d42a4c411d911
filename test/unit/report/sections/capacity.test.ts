import { describe, expect, test } from 'vitest'
import type { Report, ThresholdResult } from '../../../../src/report/document.ts'
import { type Format, renderers } from '../../../../src/report/render/renderers.ts'
import { aSearch, aTrial } from '../capacity-results.ts'
import { passingReport } from '../fixtures.ts'

const page = { columns: 100, color: false, directory: null }
const report: Report = { ...passingReport, capacity: [aSearch()] }
const rendered = (format: 'text' | 'html' | 'markdown', of: Report = report) => renderers[format](of, page)

describe.each(['text', 'html', 'markdown'] as const)('a search in %s', format => {
  test('shows the rate, its reason, and each trial with its outcome', () => {
    const text = rendered(format)
    expect(text).toContain('78.7/s')
    expect(text).toContain('chat ttft 36, chat status(503) 17')
    expect(text).toContain('too many bad responses, 115/480')
    expect(text).toContain('confirm: sustained')
  })

  test('shows the range that the trials prove if no rate was confirmed', () => {
    const reason = 'The rate limits of the callers came first: at 160/s, 40 responses were 429.'
    const limited = aSearch({ status: 'limited-by-tier', ratePerSecond: null, reason })
    expect(rendered(format, { ...report, capacity: [limited] })).toContain('between 78.7/s and 160/s')
    expect(rendered(format, { ...report, capacity: [{ ...limited, trials: [] }] })).toContain('not found')
  })

  test('is left out if there was no search', () => {
    expect(rendered(format, passingReport)).not.toMatch(/Capacity/)
  })
})

describe('the charts', () => {
  test('have a point for each trial with a value, and its tooltip states the outcome', () => {
    const points = (page: string) => page.match(/<circle class="f-\w+" r="3.5" cx="[^"]*%"/g)
    // Goodput; median and p95 of chat latency and TTFT; median of RPC, in two of three trials. The third is a ring.
    expect(points(rendered('html'))).toHaveLength(2 * (1 + 2 + 2 + 1))
    expect(rendered('html').match(/<circle class="ring green" r="3.5" cx="[^"]*%"/g)).toHaveLength(6)
    expect(rendered('html')).not.toContain('</svg>p99</li>')
    expect(rendered('html')).toContain('160/s: too many bad responses, 115/480\ngoodput: 78.9/s')
  })

  test('have a legend for the colors that occur', () => {
    const meanings = (of: Report) =>
      [...rendered('html', of).matchAll(/cy="5"\/><\/svg>([^<]*)/g)].map(([, name]) => name)
    expect(meanings(report).slice(0, 3)).toEqual(['sustained', 'exceeded', 'confirmation'])
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
    expect(marks(report)).toBe(4)
    expect(marks({ ...report, capacity: [aSearch({ status: 'inconclusive', ratePerSecond: null })] })).toBe(0)
  })

  test('show each SLO as a line with its value, in a chart of the times that it bounds', () => {
    const [, ...charts] = rendered('html').slice(rendered('html').indexOf('id="capacity"')).split('<figure')
    const titles = charts.map(chart => /<h3>([^<]*)/.exec(chart)?.[1])
    expect(titles).toEqual(['Goodput', 'chat latency', 'chat TTFT', 'rpc latency'])
    const lines = charts.map(chart => /class="slo"[^>]*>([^<]*)/.exec(chart)?.[1] ?? null)
    expect(lines).toEqual([null, 'SLO 1 s', 'SLO 400 ms', null])
    // The axis ends at 400 ms, so the line is at the top, although all values are lower.
    expect(charts[2]).toContain('<line class="curve red dashed thin" x1="0" x2="100%" y1="0" y2="0"/>')
  })

  test('of an older report show the latency of all calls', () => {
    const trials = [aTrial({ calls: [] })]
    const page = rendered('html', { ...report, capacity: [aSearch({ slo: {}, trials })] })
    expect(page).toContain('<h3>Latency</h3>')
    expect(page).toContain('<th class="n">good</th><th class="n">p50</th>')
    expect(page).not.toContain('class="slo"')
  })

  test('allow a search without trials', () => {
    const of = { ...report, capacity: [aSearch({ status: 'inconclusive', ratePerSecond: null, trials: [] })] }
    expect(rendered('html', of)).toContain('not found')
  })
})

describe('every format', () => {
  const { reason } = aSearch()
  const crossed: ThresholdResult = {
    expression: 'capacity of chat in search >= 60/s',
    value: 59.025,
    lowest: 59.025,
    highest: 59.025,
    whole: 78.7,
    operator: '>=',
    bound: 60,
    unit: 'per-second',
    verdict: 'fail',
    basis: null,
    message: `capacity in search was 78.7/s, 59.025/s of it chat, not >= 60/s (${reason.slice(0, -1)})`,
    why: '',
  }
  const failing: Report = {
    ...report,
    verdict: 'fail',
    reasons: [`Threshold crossed: ${crossed.expression}: ${crossed.message}.`],
    thresholds: [crossed],
  }
  /** As a reader sees it: without markup, line breaks and escapes. */
  const readable = (format: Format, of: Report) =>
    renderers[format](of, page)
      .replace(/<[^>]*>/g, format === 'html' ? '' : '$&')
      .replaceAll('&apos;', "'")
      .replaceAll('\\', '')
      .replaceAll('**', '')
      .replace(/\s+/g, ' ')
  const formats = ['text', 'markdown', 'html', 'junit'] as const

  test.each(formats)(
    '%s carries the same sentence, once the headline and once where a threshold is crossed',
    format => {
      const text = readable(format, failing)
      expect(text.split(reason.slice(0, -1)).length - 1).toBeGreaterThanOrEqual(2)
      expect(readable(format, report)).toContain(reason)
    },
  )

  test.each(['text', 'markdown', 'html'] as const)('%s shows a share beside its whole', format => {
    expect(readable(format, failing)).toContain('59.025/s of 78.7/s')
  })

  test.each(['text', 'markdown', 'html'] as const)('%s shows the times of each call beside its SLO', format => {
    const text = readable(format, report)
    if (format === 'text')
      expect(text).toContain('chat TTFT, SLO 400 ms offered p50 p95 p99 outcome 40/s 107 ms 154 ms – ')
    if (format === 'markdown')
      expect(text).toMatch(/chat TTFT, SLO 400 ms \| offered .* \| 40\/s \| 107 ms \| 154 ms \| – \|/)
    if (format === 'html') expect(text).toContain('chat TTFT, SLO 400 ms offeredp50p95p99outcome 40/s107 ms154 ms–')
  })

  test('a search that another limit ended is an error in JUnit', () => {
    const stopped = 'The stage ended before a rate between 40/s and 180/s was confirmed. No rate was sustained.'
    const search = aSearch({ status: 'inconclusive', ratePerSecond: null, reason: stopped })
    const xml = renderers.junit({ ...report, capacity: [search] })
    expect(xml).toContain(`<error message="${stopped}" type="inconclusive">`)
    expect(renderers.junit(report)).not.toContain('<error')
  })
})

test('a report of an older version, without searches, is valid', async () => {
  const { reportSchema } = await import('../../../../src/report/document.ts')
  const { capacity: _, ...older } = passingReport
  expect(reportSchema.parse(older).capacity).toEqual([])
  expect(reportSchema.parse(report).capacity).toEqual(report.capacity)
})
