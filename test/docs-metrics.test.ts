import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { documentedContract } from '../src/contract/documented.ts'
import { createGauges } from '../src/judge/metrics/gauges.ts'
import { createMetrics } from '../src/judge/metrics/request-stats.ts'
import { families, histogramFamilies } from '../src/outputs/prometheus/families.ts'
import { verdictFamilies } from '../src/outputs/prometheus/verdict-families.ts'
import { plain, tableUnder } from './support/markdown.ts'
import { aPlan } from './unit/judge/metrics/fixtures.ts'
import { passingReport } from './unit/report/fixtures.ts'

test('docs/measurement.md lists every metric of the end of a run, with its labels', () => {
  const told = tableUnder(readFileSync('docs/measurement.md', 'utf8'), 'Pushed')
  expect(told.map(({ Metric = '', Labels }) => [plain(Metric), Labels])).toEqual(
    verdictFamilies(passingReport).map(({ name, labels }) => [name, labels.join(', ')]),
  )
})

test('docs/measurement.md lists every metric with its labels, in their order, and no other', () => {
  const known = families({
    catchUp: async () => {},
    run: { id: '', scenario: '', seed: 1, version: '' },
    metrics: createMetrics(aPlan()),
    meters: createGauges(documentedContract),
    inFlight: () => 0,
    stage: () => ({ name: '', offeredPerSecond: null }),
    billing: () => ({ billedUsd: null, discrepancies: [] }),
    tallies: () => [],
    limits: () => [],
    thresholds: () => [],
    capacity: () => [],
    pushed: () => null,
    machines: () => [],
  })
  const all = [...histogramFamilies.map(({ name }) => ({ name, labels: ['call', 'stage'] })), ...known]
  const told = tableUnder(readFileSync('docs/measurement.md', 'utf8'), 'Prometheus')
  expect(told.map(({ Metric = '', Labels }) => [plain(Metric), Labels])).toEqual(
    all.map(({ name, labels }) => [name, labels.join(', ')]),
  )
})
