import { createHash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import type { CapacityResult, Report } from '../../../../src/report/document.ts'
import { renderHtml } from '../../../../src/report/render/renderers.ts'
import { anObservation, respondedWith, streamed } from '../../judge/metrics/fixtures.ts'
import { aSearch } from '../capacity-results.ts'
import { failingReport, passingReport } from '../fixtures.ts'
import { hostile, hostileReport } from '../hostile-report.ts'
import { reportOf } from '../report-of.ts'

const { plan, series } = reportOf(
  Array.from({ length: 40 }, (_, id) => {
    const dueMs = id * 250
    const times = { id, dueMs, sentMs: dueMs + 1, headersMs: dueMs + 30, endMs: dueMs + 50 + id }
    return id % 10 === 9
      ? respondedWith(429, times)
      : id % 2 === 0
        ? streamed({}, times)
        : anObservation({ ...times, call: 'rpc' })
  }),
)
if (plan === null || series === null) throw new Error('the report must have a plan and a series')
const whole: Report = { ...failingReport, plan, series }
const [lane] = series.limits
const hostileWithSeries: Report = {
  ...hostileReport,
  plan: { ...plan, stages: plan.stages.map(stage => ({ ...stage, name: hostile, load: hostile })) },
  series: {
    ...series,
    stages: series.stages.map(stage => ({ ...stage, name: hostile })),
    calls: series.calls.map(call => ({ ...call, call: hostile })),
    limits: lane === undefined ? [] : [{ ...lane, caller: hostile, scope: hostile, limit: 5 }],
  },
}

const noTimes = { count: 0, mean: null, p50: null, p90: null, p95: null, p99: null, p999: null, max: null }

const tagNames = (page: string) => new Set([...page.matchAll(/<\/?([a-z][a-z0-9]*)/g)].map(([, name]) => name))

describe.each([
  ['a run that passes', passingReport],
  ['a run that fails', whole],
  ['a hostile target', hostileWithSeries],
])('the page of %s', (_, report) => {
  const page = renderHtml(report)

  test('has no script, no inline style, and no external resource', () => {
    expect(page).not.toMatch(/<script|<iframe|<img|<object|<embed|<form|<base/i)
    expect(page.replace(/"[^"]*"/g, '""')).not.toMatch(/<[^>]*\s(?:style|on[a-z]+)\s*=/i)
    expect([...page.matchAll(/\s(?:src|href|srcset|action)="([^"]*)"/g)].map(([, to]) => to)).toEqual(['data:,'])
    expect(page).not.toContain('@import')
    expect(page).not.toContain('url(')
  })

  test('its policy allows only its own style sheet', () => {
    const css = /<style>(.*?)<\/style>/s.exec(page)?.[1] ?? ''
    const digest = createHash('sha256').update(css).digest('base64')
    expect(page).toContain(
      `content="default-src &apos;none&apos;; style-src &apos;sha256-${digest}&apos;; img-src data:`,
    )
  })

  test('closes every element that it opens', () => {
    const left: string[] = []
    for (const [, close, name = '', empty] of page.matchAll(/<(\/?)([a-z][a-z0-9]*)(?:\s[^<>]*?)?(\/?)>/g)) {
      if (empty || ['meta', 'link', 'br'].includes(name)) continue
      if (close) expect(left.pop()).toBe(name)
      else left.push(name)
    }
    expect(left).toEqual([])
  })
})

test('text of the target adds no element', () => {
  const extra = [...tagNames(renderHtml(hostileWithSeries))].filter(name => !tagNames(renderHtml(whole)).has(name))
  expect(extra).toEqual([])
})

test('the verdict and its reasons come first, then the findings with their commands', () => {
  const page = renderHtml(whole)
  const order = ['class="verdict">fail', 'id="findings"', 'id="thresholds"', 'id="load"', 'id="calls"', 'id="latency"']
  const more = ['id="streams"', 'id="money"', 'id="limits"', 'id="plan"', 'id="clauses"', 'id="harness"']
  const places = [...order, ...more].map(part => page.indexOf(part))
  expect(places).not.toContain(-1)
  expect(places).toEqual(places.toSorted((a, b) => a - b))
  expect(page).toContain('<pre class="command" tabindex="0">curl -sS -i -N -X POST')
})

test('an empty chart is replaced by a sentence', () => {
  expect(renderHtml(whole)).not.toContain('Nothing was due.')
  const none = (values: readonly unknown[]) => values.map(() => 0)
  const idle = { ...series, due: none(series.due), answered: none(series.answered), refused: none(series.refused) }
  const page = renderHtml({ ...whole, series: idle })
  expect(page).toContain('<h3>Offered and achieved rate</h3></figcaption><p class="quiet small">Nothing was due.</p>')
})

test('without a balance, the page does not claim that the billing was right', () => {
  const unbilled = { ...passingReport.billing, billedUsd: null }
  const page = renderHtml({ ...passingReport, billing: unbilled })
  expect(renderHtml(passingReport)).toContain('No discrepancy')
  expect(page).not.toMatch(/No discrepancy between|class="note">no discrepancy/)
  expect(page).toContain('The billed amount is unknown')
})

test('shows the first of many reasons, and folds the others', () => {
  const message = Array.from({ length: 12 }, (_, index) => `reason ${index}`)
  const [header = ''] = /<header.*<\/header>/s.exec(renderHtml({ ...failingReport, reasons: message })) ?? []
  expect(header.slice(0, header.indexOf('<summary>4 more'))).toContain('reason 7')
  expect(header.slice(header.indexOf('<summary>4 more'))).toContain('reason 11')
  expect(renderHtml(failingReport)).not.toMatch(/<summary>\d+ more/)
})

test('a 429 is red if all rejections of its limit were unexpected', () => {
  const { limits } = whole
  const drawn = (unexpected429: number, rejected: number) => {
    const lanes = [{ caller: 'c0', scope: 'rpc', limit: 5, used: [1], refusedMs: [100, 200], refusedIds: [901, 902] }]
    const [use] = limits
    if (use === undefined) throw new Error('the fixture has a limit')
    return renderHtml({
      ...whole,
      limits: [{ ...use, caller: 'c0', scope: 'rpc', unexpected429, rejected }],
      series: { ...series, limits: lanes },
    })
  }
  expect(drawn(2, 2).match(/class="refusal unexpected"/g)).toHaveLength(2)
  expect(drawn(2, 2)).toContain('2 unexpected</span>')
  expect(drawn(1, 2)).not.toContain('class="refusal unexpected"')
  expect(drawn(1, 2)).toContain('1 unexpected</span>')
  expect(drawn(0, 2)).not.toContain('unexpected</span>')
})

test('the sustained rate is one of the tiles', () => {
  const tile = (changes: Partial<CapacityResult>) => {
    const page = renderHtml({ ...passingReport, capacity: [aSearch(changes)] })
    return /<dt>sustained<\/dt><dd class="(\w+)">([^<]*)<\/dd><dd class="note">([^<]*)/.exec(page)?.slice(1)
  }
  expect(tile({})).toEqual(['good', '78.7/s', 'capacity in search'])
  expect(tile({ status: 'above-range', ratePerSecond: 180 })).toEqual(['good', '180/s', 'at least, in search'])
  expect(tile({ status: 'below-range', ratePerSecond: null })).toEqual(['doubtful', '–', 'less than 40/s in search'])
  expect(renderHtml(passingReport)).not.toContain('<dt>sustained')
})

test('the columns for streams appear only if there were streams', () => {
  expect(renderHtml(whole)).toContain('>TTFT p50<')
  const calls = whole.calls.map(facts => ({ ...facts, ttftMs: noTimes, tpotMs: noTimes, outputTokensPerSecond: null }))
  expect(renderHtml({ ...whole, calls })).not.toContain('>TTFT p50<')
})

test('a report of an earlier version, without a series, has no charts', () => {
  expect(renderHtml(passingReport)).not.toContain('<figure')
})

test('attributes of charts contain no NaN, Infinity or undefined', () => {
  const odd: Report = {
    ...whole,
    series: { ...series, due: series.due.map(() => 0), answered: series.answered.map(() => 0) },
  }
  for (const report of [whole, odd, hostileWithSeries]) expect(renderHtml(report)).not.toMatch(/NaN|Infinity|undefined/)
})
