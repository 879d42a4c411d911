import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { reportSchema } from '../../../src/report/document.ts'
import { todays } from '../../support/nightly.ts'
import { freshDirectory, serveForTest, turnpike } from '../../support/turnpike.ts'
import { type Bug, limit, limiters, startGateway } from './express-gateway.ts'

/** What a new user does: `init` with the target, and then the command that it prints. */
async function initAndRun(target: string, environment: Readonly<Record<string, string>> = {}) {
  const folder = freshDirectory()
  const written = await turnpike(['init', folder, '--target', target, '--ci', 'none', '--format', 'json'], environment)
  expect(written.code, written.stderr).toBe(0)
  const { next } = JSON.parse(written.stdout)
  expect(next).toMatch(/^turnpike run /)
  const out = join(folder, 'run')
  const ended = await turnpike([...next.split(' ').slice(1), '--out', out, '--quiet'], environment)
  const report = reportSchema.parse(JSON.parse(readFileSync(join(out, 'report.json'), 'utf8')))
  const scenario = readFileSync(join(folder, 'turnpike/scenario.yaml'), 'utf8')
  return { ended, report, scenario, stderr: written.stderr }
}

test.concurrent('init, and the command that it prints, pass with the reference service', async ({ onTestFinished }) => {
  const { target } = await serveForTest(['service'], onTestFinished)
  const { ended, report, scenario, stderr } = await initAndRun(target)
  expect([ended.code, report.verdict], report.reasons.join('; ')).toEqual([0, 'pass'])
  expect(scenario).toContain('rate: 50% of tier')
  for (const call of ['stream: true', 'stream: false', 'kind: rpc']) expect(scenario).toContain(call)
  expect(stderr).toMatch(/^Learning from \S+: at most 60 calls, no budget\.\n/)
})

test.concurrent.for(todays(limiters, 3))(
  'and with a gateway that has chat and limits alone, with one key: %s',
  async (kind, { onTestFinished }) => {
    const { url, server } = await startGateway(kind)
    onTestFinished(() => {
      server.closeAllConnections()
      server.close()
    })
    const { ended, report, scenario } = await initAndRun(url, { TURNPIKE_KEYS: 'key-of-a-new-user' })
    expect(report.findings.map(({ message }) => message)).toEqual([])
    expect([ended.code, report.verdict], report.reasons.join('; ')).toEqual([0, 'pass'])
    expect(scenario).toContain('rate: 36/m')
    expect(scenario).not.toContain('kind: rpc')
    // Of nine at once, three are above the limit.
    expect(report.limits.map(({ rejected }) => rejected)).toContain(3)
  },
)

test.concurrent('and names a gateway that does not enforce its limit', async ({ onTestFinished }) => {
  const headers: Bug['headers'] = response => {
    if (response.hasHeader('RateLimit-Limit')) response.setHeader('RateLimit-Limit', String(limit))
  }
  const { url, server } = await startGateway('draft-6', { enforces: 1_000, headers })
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const { ended, report } = await initAndRun(url)
  expect(ended.code, report.reasons.join('; ')).toBe(1)
  expect(report.findings.map(({ clause }) => clause)).toContain('limit.requests.enforced')
})
