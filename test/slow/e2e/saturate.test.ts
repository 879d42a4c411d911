import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { lieByName } from '../../../src/service/lies/lies.ts'
import { freshDirectory, turnpike } from '../../support/turnpike.ts'
import { virtualRun } from '../../support/virtual-run.ts'

const scenario = 'test/e2e/busy.yaml'

describe.concurrent('a run with a saturate stage', () => {
  test('sends the maximum of calls, judges every response, and an audit yields the same report', async () => {
    const out = freshDirectory()
    const run = await turnpike(['run', scenario, '--out', out])
    expect(run.stdout).toMatch(/^PASS {2}busy/)
    const report = JSON.parse(readFileSync(join(out, 'report.json'), 'utf8'))
    const { answered, failed, dropped } = report.load
    // Eight callers check their balance before and after.
    expect({ answered, failed, dropped }).toEqual({ answered: 56, failed: 0, dropped: 0 })
    expect(report.billing.billedUsd).toBe(report.billing.claimedUsd)
    const audit = await turnpike(['audit', out, '--format', 'json'])
    expect(JSON.parse(audit.stdout)).toEqual(report)
  })

  test('is refused for an https target, since it would not verify the certificate', async () => {
    const run = await turnpike(['run', scenario, '--target', 'https://localhost:1/api/v1', '--budget-usd', '1'])
    expect(run.code).toBe(2)
    expect(run.stderr).toContain('got https://localhost:1/api/v1, expected an http: target')
  })
})

test('a saturate stage detects wrong credits, and nothing else', async () => {
  const lie = lieByName('credits-with-decimals')
  const { report } = await virtualRun({ scenario, lies: lie === undefined ? [] : [lie] })
  expect(report.findings.map(({ clause }) => clause)).toEqual(['rpc.credits.header'])
})

test.each([1, 4])('a saturate stage stops before it could exceed the budget, with %i workers', async workers => {
  const text = `${readFileSync(scenario, 'utf8').replace('max-calls: 40', 'max-calls: 400')}budget: { usd: 0.002 }\n`
  const { report, observations } = await virtualRun({ scenario: text, workers })
  expect(report.run.ended).toBe('budget-reached')
  expect(Number(report.billing.claimedUsd)).toBeLessThanOrEqual(0.002)
  expect(observations.length).toBeGreaterThan(50)
})

test.each([1, 2, 3, 4])('a saturate stage sends exactly its maximum of calls, with %i workers', async workers => {
  const { report, observations } = await virtualRun({ scenario, workers })
  expect(observations.filter(({ stage }) => stage === 'busy')).toHaveLength(40)
  expect(report.verdict).toBe('pass')
})
