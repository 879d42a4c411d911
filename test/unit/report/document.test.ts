import { readFileSync, writeFileSync } from 'node:fs'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { expect, test } from 'vitest'
import type { Report } from '../../../src/report/document.ts'
import { reportJsonSchema, reportSchema } from '../../../src/report/document.ts'
import { lieByName } from '../../../src/service/lies/lies.ts'
import { virtualRun } from '../../support/virtual-run.ts'
import { failingReport, passingReport } from './fixtures.ts'

const file = 'docs/report.schema.json'
const scenario = 'scenarios/rpc-only.yaml'
const unprovable = `
name: unprovable
callers: { count: 1, tier: default }
calls: { rpc: { kind: rpc, network: ethereum-mainnet, methods: { eth_blockNumber: 1 } } }
stages: [{ name: few, duration: 2s, shape: constant, rate: 1/s, mix: { rpc: 1 } }]
thresholds: [{ expect: p(99) latency < 1s, why: Four responses prove nothing. }]
`

test('the published schema is up to date', () => {
  const current = `${JSON.stringify(reportJsonSchema(), null, 2)}\n`
  if (process.env.UPDATE_DOCS !== undefined) writeFileSync(file, current)
  expect(readFileSync(file, 'utf8'), 'UPDATE_DOCS=1 writes it').toBe(current)
})

const published = new Ajv2020({ strict: false }).compile(JSON.parse(readFileSync(file, 'utf8')))

/** Parsing drops members that the schema lacks. */
function expectComplete(report: Report) {
  const written: unknown = JSON.parse(JSON.stringify(report))
  expect(reportSchema.parse(written)).toEqual(report)
  const isValid = published(written)
  expect(published.errors).toBeNull()
  expect(isValid).toBe(true)
}

test('the schema has every member of a report', () => {
  expectComplete(passingReport)
  expectComplete(failingReport)
})

test('the report of a passed run is valid', async () => {
  const { report } = await virtualRun({ scenario })
  expect(report.verdict).toBe('pass')
  expectComplete(report)
}, 60_000)

test('the report of a failed run is valid, with its evidence', async () => {
  const lies = [lieByName('failed-item-in-full')].filter(lie => lie !== undefined)
  const { report } = await virtualRun({ scenario, lies })
  expect(report.verdict).toBe('fail')
  expect(report.findings[0]?.examples[0]?.evidence).not.toEqual([])
  expectComplete(report)
}, 60_000)

test('the report of an inconclusive run is valid', async () => {
  const { report } = await virtualRun({ scenario: unprovable })
  expect(report.verdict).toBe('inconclusive')
  expectComplete(report)
}, 60_000)

test('members that a later version adds are accepted', () => {
  expect(reportSchema.safeParse({ ...passingReport, later: 1 }).success).toBe(true)
  expect(JSON.stringify(reportJsonSchema())).not.toContain('"additionalProperties":false')
})

test('other data is refused', () => {
  expect(reportSchema.safeParse({ ...passingReport, schema: 2 }).success).toBe(false)
  expect(reportSchema.safeParse({ ...passingReport, billing: null }).success).toBe(false)
})
