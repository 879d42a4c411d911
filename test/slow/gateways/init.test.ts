import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { reportSchema } from '../../../src/report/document.ts'
import { blocksOf } from '../../support/markdown.ts'
import { todays } from '../../support/nightly.ts'
import { shell } from '../../support/shell.ts'
import { serveForTest } from '../../support/turnpike.ts'
import { type Bug, gatewayForTest, limit, limiters } from './express-gateway.ts'

/** The commands of a page, each block with the address of a target of the test. */
const documented = blocksOf(readFileSync('docs/learn.md', 'utf8'), 'sh').map(block =>
  block.replaceAll('https://staging.example.com/api/v1', '"$TARGET"').replaceAll('npx turnpike', 'turnpike'),
)
const inTwoCommands = documented.at(-1) ?? ''

/** What a new user does: the two commands of the page, of which the first one prints the second one. */
async function initAndRun(target: string, keys = '') {
  const [init = '', run = ''] = inTwoCommands.trim().split('\n')
  const { code, stdout, stderr, directory } = await shell(
    `${keys === '' ? '' : `export TURNPIKE_KEYS=${keys}`}\n${init}\n${run} --out run --quiet`,
    target,
  )
  const printed = /^Next:\n(.*)$/m.exec(stdout)?.[1]
  expect(printed?.replace(/ --budget-usd unlimited$/, '')).toBe(run.replace('"$TARGET"', target))
  const report = reportSchema.parse(JSON.parse(readFileSync(join(directory, 'run/report.json'), 'utf8')))
  const scenario = readFileSync(join(directory, 'turnpike/scenario.yaml'), 'utf8')
  return { code, report, scenario, stderr }
}

test.concurrent('init, and the command that it prints, pass with the reference service', async ({ onTestFinished }) => {
  const { target } = await serveForTest(['service'], onTestFinished)
  const { code, report, scenario, stderr } = await initAndRun(target)
  expect([code, report.verdict], report.reasons.join('; ')).toEqual([0, 'pass'])
  expect(scenario).toContain('rate: 75% of tier')
  for (const call of ['stream: true', 'stream: false', 'kind: rpc']) expect(scenario).toContain(call)
  expect(stderr).toMatch(/^Learning from \S+: at most 120 calls, at most \$0\.05\.\n/)
})

test.concurrent.for(todays(limiters, 3))(
  'and with a gateway that has chat and limits alone, with one key: %s',
  async (kind, { onTestFinished }) => {
    const { code, report, scenario } = await initAndRun(await gatewayForTest(onTestFinished, kind), 'key-of-a-new-user')
    expect(report.findings.map(({ message }) => message)).toEqual([])
    expect([code, report.verdict], report.reasons.join('; ')).toEqual([0, 'pass'])
    expect(scenario).toContain('rate: 54/m')
    expect(scenario).not.toContain('kind: rpc')
    // Of nine at once, three are above the limit. Two more are in the same window, and one in the window after it.
    expect(Math.max(...report.limits.map(({ rejected }) => rejected))).toBeGreaterThanOrEqual(5)
  },
)

test.concurrent('and names a gateway that does not enforce its limit', async ({ onTestFinished }) => {
  const headers: Bug['headers'] = response => {
    if (response.hasHeader('RateLimit-Limit')) response.setHeader('RateLimit-Limit', String(limit))
  }
  const { code, report } = await initAndRun(
    await gatewayForTest(onTestFinished, 'draft-6', { enforces: 1_000, headers }),
  )
  expect(code, report.reasons.join('; ')).toBe(1)
  expect(report.findings.map(({ clause }) => clause)).toContain('limit.requests.enforced')
})
