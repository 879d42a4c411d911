import { describe, expect, test } from 'vitest'
import type { Load, Plan } from '../../../../src/plan/plan.ts'
import type { Report } from '../../../../src/report/document.ts'
import { renderHtml } from '../../../../src/report/render/renderers.ts'
import { bandsOf } from '../../../../src/report/sections/load.ts'
import { anObservation, aPlan, aStage, aThreshold } from '../../judge/metrics/fixtures.ts'
import { aSearch, aTrial } from '../capacity-results.ts'
import { reportOf } from '../report-of.ts'

const mix = [['chat', 1]] as const
const ramp: Load = { model: 'open', shape: { kind: 'ramp', fromPerSecond: 0, toPerSecond: 10 }, mix }
const falling: Load = { model: 'open', shape: { kind: 'ramp', fromPerSecond: 10, toPerSecond: 0 }, mix }
const steady: Load = { model: 'open', shape: { kind: 'constant', perSecond: 10 }, mix }
const burst: Load = { model: 'open', shape: { kind: 'burst', size: 5, everyMs: 100 }, mix }

const runOf = (loads: Readonly<Record<string, Load>>, changes: Partial<Plan> = {}): Report => {
  const stages = Object.entries(loads).map(([name, load], index) =>
    aStage(name, 10_000, { load, startMs: index * 10_000 }),
  )
  const observations = stages.map(({ name, startMs }) =>
    anObservation({ stage: name, dueMs: startMs, sentMs: startMs, headersMs: startMs + 5, endMs: startMs + 9 }),
  )
  return reportOf(observations, { plan: aPlan({ stages, ...changes }) })
}
const rolesOf = (report: Report) => bandsOf(report).map(({ role }) => role ?? null)

describe('a warm-up is labeled', () => {
  test('if its name says so, whatever its shape', () => {
    expect(rolesOf(runOf({ 'warm-up': steady, measured: steady }))).toEqual(['warm-up', null])
    expect(rolesOf(runOf({ 'chat warmup': burst, measured: burst }))).toEqual(['warm-up', null])
  })

  test('if it is a ramp up to a steady rate of the same calls', () => {
    expect(rolesOf(runOf({ ramp, steady }))).toEqual(['warm-up', null])
    expect(rolesOf(runOf({ ramp: falling, steady }))).toEqual([null, null])
    expect(rolesOf(runOf({ ramp, burst }))).toEqual([null, null])
    expect(rolesOf(runOf({ steady, ramp }))).toEqual([null, null])
    const other: Load = { ...ramp, mix: [['rpc', 1]] }
    expect(rolesOf(runOf({ ramp: other, steady }))).toEqual([null, null])
  })

  test('unless a threshold measures it, or nothing follows', () => {
    const thresholds = [aThreshold({ measure: { kind: 'count', count: { kind: 'failed' } }, stage: 'warm-up' })]
    expect(rolesOf(runOf({ 'warm-up': steady, measured: steady }, { thresholds }))).toEqual([null, null])
    expect(rolesOf(runOf({ 'warm-up': steady }))).toEqual([null])
  })

  test('in the legend of each chart over time, however short it is', () => {
    const page = renderHtml(runOf({ ramp, steady }))
    expect(page).toContain('<rect class="warm-up" width="18" height="10"/></svg>warm-up</li>')
    expect(page).toMatch(/<rect class="warm-up" x="0%" width="[\d.]+%" y="0" height="200"><title>ramp<\/title>/)
    expect(renderHtml(runOf({ steady, burst }))).not.toContain('class="warm-up"')
  })
})

describe('a search', () => {
  const trial = (purpose: 'raise' | 'narrow' | 'confirm', startMs: number | null) =>
    aTrial({ purpose, startMs, endMs: startMs === null ? null : startMs + 900 })
  const searching = (trials: Parameters<typeof aSearch>[0]): Report => {
    const report = runOf({ warm: steady, search: steady })
    return { ...report, capacity: [aSearch(trials)] }
  }

  test('has a band for each phase, and the confirmation is labeled', () => {
    const trials = [
      trial('raise', 10_100),
      trial('raise', 11_000),
      trial('narrow', 13_000),
      trial('confirm', 15_000),
      trial('confirm', 17_000),
    ]
    expect(bandsOf(searching({ trials })).slice(1)).toEqual([
      { name: 'raise', startMs: 10_000, endMs: 13_000 },
      { name: 'narrow', startMs: 13_000, endMs: 15_000 },
      { name: 'confirm', startMs: 15_000, endMs: 17_900, role: 'confirmation' },
    ])
    expect(renderHtml(searching({ trials }))).toContain('</svg>confirmation</li>')
  })

  test('of an older report, whose trials have no times, is one band', () => {
    const trials = [trial('raise', null), trial('confirm', null)]
    expect(bandsOf(searching({ trials })).slice(1)).toEqual([{ name: 'search', startMs: 10_000, endMs: 20_000 }])
  })
})
