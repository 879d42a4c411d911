import { readdirSync, readFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { readDashboard } from '../support/read-dashboard.ts'
import { describeWith } from '../support/real-part.ts'
import { nowSeconds, type RealPrometheus, type Span, startPrometheus } from '../support/real-prometheus.ts'
import { freshDirectory, type Started, startTurnpike } from '../support/turnpike.ts'

const folder = 'dashboards/grafana'
const boards = readdirSync(folder)
  .filter(file => file.endsWith('.json'))
  .map(file => ({ file, ...readDashboard(readFileSync(`${folder}/${file}`, 'utf8')) }))
const rulesIn = (
  file: string,
): readonly { readonly alert?: string; readonly record?: string; readonly expr: string }[] =>
  parse(readFileSync(`dashboards/prometheus/${file}`, 'utf8')).groups.flatMap(({ rules }: { rules: [] }) => rules)

/** Lies that fire alerts: a clause violation and a billing discrepancy. */
const lies = ['--lie', 'failed-item-in-full', '--lie', 'charged-twice']

/** How Prometheus gets the metrics. `left` matches the expressions that apply to the other way only. */
const ways = [
  { way: 'that scrapes a real run', isScraped: true, left: /^$/ },
  { way: 'that a real run writes to', isScraped: false, left: /\b(up|scrape_duration_seconds)\{/ },
] as const

for (const { way, isScraped, left } of ways) {
  describeWith('prometheus', `a real Prometheus ${way}`, () => {
    let prometheus: RealPrometheus
    /** The time range from before the run until after it. */
    let span: Span
    const started: Started[] = []

    beforeAll(async () => {
      prometheus = await startPrometheus()
      const from = nowSeconds()
      const service = startTurnpike(['service', '--port', '0', ...lies])
      started.push(service)
      const target = await service.said(/http:\S+\/api\/v1/)
      const told = isScraped ? ['--metrics', ':0'] : ['--remote-write', prometheus.remoteWrite]
      const start = (...words: readonly string[]) => {
        const run = startTurnpike(['run', ...words, '--out', freshDirectory(), '--no-progress', ...told])
        started.push(run)
        return run
      }
      const runs = [start('test/real/everything.yaml', '--target', target), start('test/real/searched.yaml')]
      if (isScraped) prometheus.scrape(await Promise.all(runs.map(portOf)))
      const codes = await Promise.all(runs.map(async run => (await run.ended).code))
      expect(codes).toEqual([1, 0])
      // After two more scrapes, the series of the run are stale.
      await pause(5_000)
      span = { from, to: nowSeconds() }
    })

    afterAll(async () => {
      for (const { child } of started) child.kill('SIGKILL')
      await prometheus?.stop()
    })

    describe.each(boards)('$file', ({ panels, variables, annotations }) => {
      test.each(panels)('$title has data, and every value is a number', async ({ exprs }) => {
        // An expression can have a fallback, so each of its series is also queried alone.
        const request = new Set(
          exprs.filter(expr => !left.test(expr)).flatMap(expr => [expr, ...(expr.match(/\w+\{[^}]*\}/g) ?? [])]),
        )
        const found = await Promise.all([...request].map(expr => prometheus.found(expr, span)))
        expect(found.flat()).toEqual([])
      })

      test.each(variables)('$label has values', async ({ label, series }) => {
        const match = { 'match[]': series.replace(/"\$\w+"/g, '".+"'), start: String(span.from), end: String(span.to) }
        expect(await prometheus.ask(`label/${label}/values`, match)).not.toEqual([])
      })

      test('its annotations have data', async () => {
        const found = await Promise.all(annotations.map(expr => prometheus.found(expr, span)))
        expect(annotations).not.toEqual([])
        expect(found.flat()).toEqual([])
      })
    })

    test.each(rulesIn('recording.rules.yml'))(
      '$record is recorded, and every value is a number',
      async ({ record = '' }) => {
        expect(await prometheus.found(record, span)).toEqual([])
      },
    )

    test.each(rulesIn('alerts.rules.yml'))('$alert has data', async ({ expr }) => {
      const [watched = ''] = /^.*(?= (?:[<>]|==) [\d.]+$)/.exec(expr.trim()) ?? []
      expect(await prometheus.found(watched, span)).toEqual([])
    })

    test('every rule is healthy, and the faults fire their alerts', async () => {
      const { groups } = (await prometheus.ask('rules', {})) as {
        groups: { rules: { name: string; health: string; lastError?: string }[] }[]
      }
      const rules = groups.flatMap(({ rules }) => rules)
      expect(rules).toHaveLength(rulesIn('recording.rules.yml').length + rulesIn('alerts.rules.yml').length)
      expect(rules.filter(({ health }) => health !== 'ok')).toEqual([])
      for (const alert of ['TurnpikeClauseViolated', 'TurnpikeDiscrepancy'])
        expect(await prometheus.found(`ALERTS{alertname="${alert}",alertstate="firing"}`, span)).toEqual([])
    })

    test('a metric with another name is detected', async () => {
      const exprs = boards.flatMap(({ panels }) => panels.flatMap(panel => panel.exprs))
      const [ofTtft = ''] = exprs.filter(expr => expr.includes('turnpike_ttft_seconds_bucket'))
      expect(await prometheus.found(ofTtft, span)).toEqual([])
      expect(await prometheus.found(ofTtft.replace('_ttft_', '_first_token_'), span)).not.toEqual([])
    })
  })
}

/** The port of its metrics. */
const portOf = async (run: Started): Promise<number> =>
  Number(/:(\d+)\/metrics/.exec(await run.said(/:\d+\/metrics/))?.[1])
