import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { dashboards } from '../../dashboards/source/dashboards.ts'
import { histogramFamilies } from '../../src/outputs/prometheus/families.ts'
import { tableUnder } from '../support/markdown.ts'
import { readDashboard } from '../support/read-dashboard.ts'

const folder = 'dashboards/grafana'
const known = new Set([
  ...tableUnder(readFileSync('docs/measurement.md', 'utf8'), 'Prometheus').map(({ Metric = '' }) =>
    Metric.slice(1, -1),
  ),
  ...histogramFamilies.flatMap(({ name }) => [`${name}_bucket`]),
  ...['nodejs_eventloop_lag_p99_seconds', 'nodejs_eventloop_lag_max_seconds', 'scrape_duration_seconds', 'up'],
  ...['process_cpu_seconds_total', 'process_resident_memory_bytes'],
])
/** Names of metrics in an expression: each word before a selector. */
const metricsIn = (expr: string): readonly string[] => [...expr.matchAll(/(\w+)\{/g)].map(([, name = '']) => name)

test('the folder has the generated dashboards and no others', () => {
  if (process.env.UPDATE_DOCS === '1')
    for (const [file, json] of Object.entries(dashboards)) writeFileSync(`${folder}/${file}`, json)
  const written = readdirSync(folder).filter(file => file.endsWith('.json'))
  expect(written.toSorted()).toEqual(Object.keys(dashboards).toSorted())
  for (const file of written)
    expect(readFileSync(`${folder}/${file}`, 'utf8'), 'UPDATE_DOCS=1 npx vitest run test/dashboards').toBe(
      dashboards[file],
    )
})

describe.each(Object.entries(dashboards))('%s', (_, json) => {
  const { panels, variables, annotations } = readDashboard(json)

  test('queries existing metrics only', () => {
    const queried = [...panels.flatMap(({ exprs }) => exprs), ...annotations].flatMap(metricsIn)
    expect(queried.length).toBeGreaterThan(10)
    expect(queried.filter(name => !known.has(name))).toEqual([])
    expect(variables.filter(({ metric }) => !known.has(metric))).toEqual([])
  })

  test.each(panels)('$title: has a description that names its metrics', ({ description, exprs }) => {
    const missing = exprs
      .flatMap(metricsIn)
      .filter(name => !description.includes(name.replace(/_bucket$/, '')))
      .filter(name => name !== 'turnpike_run_info')
    expect(missing).toEqual([])
  })

  test.each(panels)('$title: has a unit, and a text for no value', ({ unit, noValue, unlessNumber }) => {
    expect(unit).not.toBe('')
    expect(noValue).not.toBe('')
    expect(unlessNumber).toBe(true)
  })

  test.each(panels)('$title: never averages quantiles, and aggregates buckets by le', ({ exprs }) => {
    for (const expr of exprs) {
      expect(expr).not.toMatch(/\bavg\b/)
      if (expr.includes('histogram_quantile')) expect(expr).toMatch(/histogram_quantile\([\d.]+, sum by \(le\b.*>= 0$/)
      if (/\brate\(|\bincrease\(/.test(expr)) expect(expr).toContain('[$__rate_interval]')
      expect(expr).toMatch(/job=~"\$job"/)
    }
  })

  test('has panels that fit the 24 columns without overlap', () => {
    const cells = panels.flatMap(({ title, at: { x, y, w, h } }) => {
      expect(x + w, title).toBeLessThanOrEqual(24)
      return Array.from({ length: w * h }, (_, index) => `${x + (index % w)},${y + Math.floor(index / w)}`)
    })
    expect(new Set(cells).size).toBe(cells.length)
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length)
  })

  test('has a variable for the data source, and an All option in every other variable', () => {
    expect(JSON.parse(json).templating.list[0]).toMatchObject({ type: 'datasource', query: 'prometheus' })
    expect(variables.map(({ label }) => label)).toEqual(expect.arrayContaining(['job', 'instance']))
    expect(variables.every(({ allValue }) => allValue === '.+')).toBe(true)
  })
})
