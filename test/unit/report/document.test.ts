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

const published = new Ajv2020({ strict: false }).compile(JSON.parse(readFileSync(file, 'utf8')))

/** Every member is in the schema: reading leaves out what is not. */
function isWhole(report: Report) {
  const written: unknown = JSON.parse(JSON.stringify(report))
  expect(reportSchema.parse(written)).toEqual(report)
  const isValid = published(written)
  expect(published.errors).toBeNull()
  expect(isValid).toBe(true)
}

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
