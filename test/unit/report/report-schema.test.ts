import { readFileSync, writeFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import type { Report } from '../../../src/report/report.ts'
import { reportJsonSchema, reportSchema } from '../../../src/report/report-schema.ts'
import { lieByName } from '../../../src/service/lies/lies.ts'
import { virtualRun } from '../../support/virtual-run.ts'
import { failingReport, passingReport } from './fixtures.ts'

const file = 'docs/report.schema.json'
const scenario = 'scenarios/rpc-only.yaml'
const hopeful = `
name: hopeful
callers: { count: 1, tier: default }
calls: { rpc: { kind: rpc, network: ethereum-mainnet, methods: { eth_blockNumber: 1 } } }
stages: [{ name: few, duration: 2s, shape: constant, rate: 1/s, mix: { rpc: 1 } }]
thresholds: [{ expect: p(99) latency < 1s, why: Four answers cannot say. }]
`

test('the published schema is that of the program', () => {
  const current = `${JSON.stringify(reportJsonSchema(), null, 2)}\n`
  if (process.env.UPDATE_DOCS !== undefined) writeFileSync(file, current)
  expect(readFileSync(file, 'utf8'), 'UPDATE_DOCS=1 writes it').toBe(current)
})

/** Every member is in the schema: reading leaves out what is not. */
const isWhole = (report: Report) => expect(reportSchema.parse(JSON.parse(JSON.stringify(report)))).toEqual(report)

test('it has a place for every member of a report', () => {
  isWhole(passingReport)
  isWhole(failingReport)
})

test('a run that passes writes what it says', async () => {
  const { report } = await virtualRun({ scenario })
  expect(report.verdict).toBe('pass')
  isWhole(report)
}, 60_000)

test('so does a run that fails, with its evidence', async () => {
  const lies = [lieByName('failed-item-in-full')].filter(lie => lie !== undefined)
  const { report } = await virtualRun({ scenario, lies })
  expect(report.verdict).toBe('fail')
  expect(report.findings[0]?.examples[0]?.evidence).not.toEqual([])
  isWhole(report)
}, 60_000)

test('so does a run that proves nothing', async () => {
  const { report } = await virtualRun({ scenario: hopeful })
  expect(report.verdict).toBe('inconclusive')
  isWhole(report)
}, 60_000)

test('members that a later version adds are no mistake', () => {
  expect(reportSchema.safeParse({ ...passingReport, later: 1 }).success).toBe(true)
  expect(JSON.stringify(reportJsonSchema())).not.toContain('"additionalProperties":false')
})

test('what is no report is refused', () => {
  expect(reportSchema.safeParse({ ...passingReport, schema: 2 }).success).toBe(false)
  expect(reportSchema.safeParse({ ...passingReport, billing: null }).success).toBe(false)
})
