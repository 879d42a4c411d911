import { createHash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { renderHtml } from '../../../../src/report/html/render-html.ts'
import type { Report } from '../../../../src/report/report.ts'
import { anObservation, answeredWith, streamed } from '../../metrics/fixtures.ts'
import { failingReport, passingReport } from '../fixtures.ts'
import { hostile, hostileReport } from '../hostile-report.ts'
import { reportOf } from '../report-of.ts'

const { plan, series } = reportOf(
  Array.from({ length: 40 }, (_, seq) => {
    const dueMs = seq * 250
    const times = { seq, dueMs, sentMs: dueMs + 1, headersMs: dueMs + 30, endMs: dueMs + 50 + seq }
    return seq % 10 === 9
      ? answeredWith(429, times)
      : seq % 2 === 0
        ? streamed({}, times)
        : anObservation({ ...times, call: 'rpc' })
  }),
)
if (plan === null || series === null) throw new Error('a report has its plan and its series')
const whole: Report = { ...failingReport, plan, series }
const [lane] = series.limits
const evil: Report = {
  ...hostileReport,
  plan: { ...plan, stages: plan.stages.map(stage => ({ ...stage, name: hostile, load: hostile })) },
  series: {
    ...series,
    stages: series.stages.map(stage => ({ ...stage, name: hostile })),
    calls: series.calls.map(call => ({ ...call, call: hostile })),
    limits: lane === undefined ? [] : [{ ...lane, caller: hostile, scope: hostile, limit: 5 }],
  },
}

const tagNames = (page: string) => new Set([...page.matchAll(/<\/?([a-z][a-z0-9]*)/g)].map(([, name]) => name))

describe.each([
  ['a run that passes', passingReport],
  ['a run that fails', whole],
  ['a hostile target', evil],
])('the page of %s', (_, report) => {
  const page = renderHtml(report)

  test('has no script, no inline style, and nothing from elsewhere', () => {
    expect(page).not.toMatch(/<script|<iframe|<img|<object|<embed|<form|<base/i)
    expect(page.replace(/"[^"]*"/g, '""')).not.toMatch(/<[^>]*\s(?:style|on[a-z]+)\s*=/i)
    expect([...page.matchAll(/\s(?:src|href|srcset|action)="([^"]*)"/g)].map(([, to]) => to)).toEqual(['data:,'])
    expect(page).not.toContain('@import')
    expect(page).not.toContain('url(')
  })

  test('allows nothing but the style sheet that it holds', () => {
    const css = /<style>(.*?)<\/style>/s.exec(page)?.[1] ?? ''
    const digest = createHash('sha256').update(css).digest('base64')
    expect(page).toContain(`content="default-src &#39;none&#39;; style-src &#39;sha256-${digest}&#39;; img-src data:`)
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

test('what a target says adds no element', () => {
  const extra = [...tagNames(renderHtml(evil))].filter(name => !tagNames(renderHtml(whole)).has(name))
  expect(extra).toEqual([])
})

test('the verdict and why come first, then the findings with the command that shows them again', () => {
  const page = renderHtml(whole)
  const order = ['class="verdict">fail', 'id="findings"', 'id="thresholds"', 'id="load"', 'id="calls"', 'id="latency"']
  const more = ['id="streams"', 'id="money"', 'id="limits"', 'id="plan"', 'id="clauses"', 'id="harness"']
  const places = [...order, ...more].map(part => page.indexOf(part))
  expect(places).not.toContain(-1)
  expect(places).toEqual(places.toSorted((a, b) => a - b))
  expect(page).toContain('<pre class="command">curl -sS -i -N -X POST')
})

test('a report of an earlier version, without its course, is shown without charts', () => {
  expect(renderHtml(passingReport)).not.toContain('<figure')
})

test('no attribute of a chart is anything but a number', () => {
  const odd: Report = {
    ...whole,
    series: { ...series, due: series.due.map(() => 0), answered: series.answered.map(() => 0) },
  }
  for (const report of [whole, odd, evil]) expect(renderHtml(report)).not.toMatch(/NaN|Infinity|undefined/)
})
