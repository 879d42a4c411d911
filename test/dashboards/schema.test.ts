import { readdirSync, readFileSync } from 'node:fs'
import { Ajv } from 'ajv'
import { createGenerator } from 'ts-json-schema-generator'
import { expect, test } from 'vitest'

const folder = 'dashboards/grafana'
const dashboards = readdirSync(folder).filter(file => file.endsWith('.json'))

/** The schema of a dashboard, from Grafana's own types. Queries have extra fields that depend on their data source. */
const schema = createGenerator({
  path: 'node_modules/@grafana/grafana-foundation-sdk/dist/dashboard/types.gen.d.ts',
  type: 'Dashboard',
  skipTypeCheck: true,
  additionalProperties: true,
}).createSchema('Dashboard')
const validate = new Ajv({ strict: false }).compile(JSON.parse(JSON.stringify(schema)))

test.each(dashboards)('%s is a valid Grafana dashboard', file => {
  const dashboard = JSON.parse(readFileSync(`${folder}/${file}`, 'utf8'))
  expect([validate(dashboard), validate.errors]).toEqual([true, null])
  expect(validate({ ...dashboard, time: 'now-15m' })).toBe(false)
  expect(validate({ ...dashboard, panels: [{ ...dashboard.panels[1], targets: 'none' }] })).toBe(false)
})
