import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { lieByName } from '../src/service/lies/lies.ts'
import { blocksOf } from './support/markdown.ts'
import { virtualRun } from './support/virtual-run.ts'

const pages = [
  ['k6', 'json-rpc-node'],
  ['locust', 'json-rpc-node'],
  ['guidellm', 'openai-compatible'],
] as const
const lies = { 'json-rpc-node': 'id-of-the-proxy', 'openai-compatible': 'no-done' } as const
const read = (tool: string) => readFileSync(`docs/from-${tool}.md`, 'utf8')

describe.each(pages)('docs/from-%s.md', (tool, name) => {
  const [scenario = ''] = blocksOf(read(tool), 'yaml')
  const profile = `scenarios/profiles/${name}.yaml`

  test('has a scenario that passes with a service that keeps its promises', async () => {
    const { report } = await virtualRun({ scenario, profile })
    expect([report.verdict, report.reasons.length]).toEqual(['pass', 1])
    expect(report.run.scenario).toBe(`from-${tool}`)
  })

  test('has a scenario that fails with one that does not', async () => {
    const lie = lieByName(lies[name])
    expect(lie).toBeDefined()
    const { report } = await virtualRun({ scenario, profile, lies: lie === undefined ? [] : [lie] })
    expect(report.verdict).toBe('fail')
  })
})

test('the numbers of a report have the names of k6', async () => {
  const [scenario = ''] = blocksOf(read('k6'), 'yaml')
  const { report } = await virtualRun({ scenario, profile: 'scenarios/profiles/json-rpc-node.yaml' })
  const [, filter = ''] = /^jq '([^']*)'/m.exec(read('k6')) ?? []
  const { stdout, stderr } = spawnSync('jq', [filter], { input: JSON.stringify(report), encoding: 'utf8' })
  expect(stderr).toBe('')
  const { latencyMs } = report.calls[0] ?? { latencyMs: null }
  expect(JSON.parse(stdout).metrics).toEqual({
    http_reqs: { values: { count: 200 } },
    dropped_iterations: { values: { count: 0 } },
    http_req_failed: { values: { rate: 0 } },
    http_req_duration: {
      values: {
        ...{ avg: latencyMs?.mean, med: latencyMs?.p50, 'p(90)': latencyMs?.p90 },
        ...{ 'p(95)': latencyMs?.p95, max: latencyMs?.max },
      },
    },
  })
})
