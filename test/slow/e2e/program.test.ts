import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { createServer as createHttpServer } from 'node:http'
import { createServer, type Server } from 'node:net'
import { join } from 'node:path'
import { describe, expect, type TestContext, test } from 'vitest'
import type { Report } from '../../../src/report/document.ts'
import { freshDirectory, serveForTest, startForTest, turnpike } from '../../support/turnpike.ts'

const scenario = 'test/e2e/short.yaml'
const reportIn = (directory: string): Report => JSON.parse(readFileSync(join(directory, 'report.json'), 'utf8'))

type Finished = TestContext['onTestFinished']

function listen(server: Server, onTestFinished: Finished): Promise<string> {
  onTestFinished(() => void server.close())
  return new Promise(resolve => {
    server.listen(0, '127.0.0.1', () => {
      const address = server.address()
      resolve(`http://127.0.0.1:${typeof address === 'object' ? address?.port : address}/api/v1`)
    })
  })
}

/** Progress after a hundred requests. On a busy machine, the first lines appear before the load. */
const underLoad = /sent=\d{3}/

describe.concurrent('a run against the embedded reference service', () => {
  test('passes, writes its directory, and an audit yields the same report', async () => {
    const out = freshDirectory()
    const run = await turnpike(['run', scenario, '--out', out])
    expect(run.stderr).toContain('Started a reference service')
    expect(run.stdout).toMatch(/^PASS {2}short/)
    expect(run.code).toBe(0)
    expect(readdirSync(out).sort()).toEqual([
      'contract.json',
      'findings.ndjson',
      'junit.xml',
      'observations.ndjson.gz',
      'plan.json',
      'report.html',
      'report.json',
      'report.md',
      'report.sarif',
      'report.txt',
      'slices.json',
    ])
    const audit = await turnpike(['audit', out, '--format', 'json'])
    expect(audit.code).toBe(0)
    expect(JSON.parse(audit.stdout)).toEqual(reportIn(out))
    const report = await turnpike(['report', out])
    expect(report.stdout).toBe(run.stdout)
  })
})

describe.concurrent('a run with outputs', () => {
  test('serves its counts to Prometheus, on this machine only', async ({ onTestFinished }) => {
    const run = startForTest(
      ['run', 'test/e2e/long.yaml', '--out', freshDirectory(), '--metrics', ':0'],
      onTestFinished,
    )
    await run.said(underLoad)
    const address = await run.said(/http:\/\/127\.0\.0\.1:\d+\/metrics/)
    const text = await (await fetch(address)).text()
    const sample = (name: string) => Number(new RegExp(`^${name}[^\n]* (\\S+)$`, 'm').exec(text)?.[1])
    expect(sample('turnpike_requests_total\\{call="rpc"')).toBeGreaterThan(5)
    expect(sample('turnpike_claimed_credits_total')).toBeGreaterThan(100)
    expect(sample('turnpike_run_info')).toBe(1)
  })

  test('writes its notes as JSON lines with --log json', async () => {
    const { stderr, code } = await turnpike(['run', scenario, '--out', freshDirectory(), '--log', 'json'])
    expect(code).toBe(0)
    const lines = stderr
      .trim()
      .split('\n')
      .map(line => JSON.parse(line))
    expect(lines[0].msg).toMatch(/^Started a reference service/)
  })
})

describe.concurrent('a run against a faulty target', () => {
  test('reports a lie by its clause, with a request to repeat', async ({ onTestFinished }) => {
    const { target } = await serveForTest(['service', '--lie', 'failed-item-in-full'], onTestFinished)
    const out = freshDirectory()
    const { code, stdout } = await turnpike(['run', scenario, '--target', target, '--out', out])
    expect(code).toBe(1)
    expect(stdout).toMatch(/^FAIL {2}short/)
    const [finding] = reportIn(out).findings
    expect(finding?.clause).toBe('rpc.batch.error-price')
    const evidence = finding?.examples[0]?.evidence[0]
    expect(evidence?.request?.path).toBe('/crypto/rpc/ethereum-mainnet')
    expect(JSON.parse(evidence?.request?.body ?? '')).toHaveLength(4)
    const lines = readFileSync(join(out, 'findings.ndjson'), 'utf8').trim().split('\n')
    expect(JSON.parse(lines[0] ?? '').clause).toBe('rpc.batch.error-price')
  })

  test('is inconclusive without a target, immediately', async () => {
    const out = freshDirectory()
    const { code, stdout } = await turnpike(['run', scenario, '--target', 'http://127.0.0.1:9/api/v1', '--out', out])
    expect(code).toBe(3)
    expect(stdout).toMatch(/^INCONCLUSIVE {2}short/)
    expect(reportIn(out).run.ended).toBe('target-unreachable')
  })

  test('is inconclusive if the target does not speak HTTP', async ({ onTestFinished }) => {
    const target = await listen(
      createServer(socket => socket.on('error', () => {}).on('data', () => socket.end('\0\x01 what?\r\n'))),
      onTestFinished,
    )
    const out = freshDirectory()
    const { code } = await turnpike(['run', scenario, '--target', target, '--out', out])
    expect(code).toBe(3)
    expect(reportIn(out).load.failures).toEqual({ protocol: 3 })
  })

  test('is inconclusive if the target responds with a page, which is no response of the service', async ({
    onTestFinished,
  }) => {
    const page = createHttpServer((request, response) => {
      request.resume().on('end', () => response.writeHead(200, { 'content-type': 'text/html' }).end('<p>hello</p>'))
    })
    const out = freshDirectory()
    const { code } = await turnpike(['run', scenario, '--target', await listen(page, onTestFinished), '--out', out])
    expect(code).toBe(3)
    const { reasons, findings } = reportIn(out)
    expect(reasons).toEqual([expect.stringContaining('is an HTML page')])
    expect(findings).toEqual([])
  })

  test.for<readonly string[]>([['--warm-up'], ['--no-warm-up']])(
    'sends only the load to the target, and reports only the load: %s',
    async (flags, { onTestFinished }) => {
      let requests = 0
      const empty = createHttpServer((request, response) => {
        requests++
        request.resume().on('end', () => response.writeHead(200, { 'content-type': 'application/json' }).end('{}'))
      })
      const out = freshDirectory()
      const target = await listen(empty, onTestFinished)
      await turnpike(['run', scenario, ...flags, '--target', target, '--out', out])
      const { load } = reportIn(out)
      // Three requests discovered models, networks and limits.
      expect(requests).toBe(load.sent + 3)
    },
  )

  test('is inconclusive and readable if the target dies', async ({ onTestFinished }) => {
    const { target, service } = await serveForTest(['service'], onTestFinished)
    const out = freshDirectory()
    const run = startForTest(['run', 'test/e2e/long.yaml', '--target', target, '--out', out], onTestFinished)
    await run.said(underLoad)
    service.child.kill('SIGKILL')
    const { code, stdout } = await run.ended
    expect(stdout).toMatch(/^INCONCLUSIVE {2}long/)
    expect(code).toBe(3)
    expect(reportIn(out).run.ended).toBe('target-unreachable')
    expect(reportIn(out).findings).toEqual([])
  })
})

describe.concurrent('a run that receives a signal', () => {
  test('drains on the first: it writes the report and exits with 130', async ({ onTestFinished }) => {
    const out = freshDirectory()
    const run = startForTest(['run', 'test/e2e/long.yaml', '--out', out], onTestFinished)
    await run.said(underLoad)
    run.child.kill('SIGINT')
    const { code, stderr } = await run.ended
    expect(code).toBe(130)
    expect(stderr).toContain('Interrupted')
    const report = reportIn(out)
    expect(report.run.ended).toBe('interrupted')
    expect(report.load.failed).toBe(0)
    expect(report.billing.billedUsd).toBe(report.billing.claimedUsd)
    expect(report.findings).toEqual([])
  })

  test('stops immediately on the second, with a report', async ({ onTestFinished }) => {
    const out = freshDirectory()
    const run = startForTest(['run', 'test/e2e/long.yaml', '--out', out], onTestFinished)
    await run.said(underLoad)
    run.child.kill('SIGINT')
    await run.said('Interrupted')
    run.child.kill('SIGINT')
    expect((await run.ended).code).toBe(130)
    expect(reportIn(out).run.ended).toBe('interrupted')
  })

  test('leaves a readable recording after a kill, and its service exits', async ({ onTestFinished }) => {
    const out = freshDirectory()
    const run = startForTest(['run', 'test/e2e/long.yaml', '--out', out], onTestFinished)
    await run.said(underLoad)
    run.child.kill('SIGKILL')
    const { stderr } = await run.ended
    const audit = await turnpike(['audit', out, '--format', 'json'])
    expect(audit.code).toBe(3)
    const report: Report = JSON.parse(audit.stdout)
    expect(report.run.ended).toBe('truncated')
    expect(report.load.answered).toBeGreaterThan(50)
    expect(report.findings).toEqual([])
    const target = /http:\S+\/api\/v1/.exec(stderr)?.[0] ?? ''
    await expect(fetch(`${target}/models`)).rejects.toThrow()
  })
})

test('a scenario may come from a pipe, which can be read only once', () => {
  const command = `cat ${scenario} | "${process.execPath}" dist/main.js plan /dev/stdin --format json`
  expect(JSON.parse(execFileSync('sh', ['-c', command], { encoding: 'utf8' }))).toMatchObject({ scenario: 'short' })
})

describe.concurrent('a mistake of the user', () => {
  test('on the command line is one line', async () => {
    const said = 'command line: got "rnu", expected a command that turnpike --help lists; did you mean "run"?\n'
    expect(await turnpike(['rnu', 'smoke'])).toEqual({ code: 2, stdout: '', stderr: said })
  })

  test('is not a command, and the help follows on stderr', async () => {
    const { code, stdout, stderr } = await turnpike([])
    expect([code, stdout]).toEqual([2, ''])
    expect(stderr).toContain('First steps:')
    expect((await turnpike(['-h'])).stdout).toBe(stderr)
  })

  test('in a scenario is one line with its position, and creates nothing', async () => {
    const out = join(freshDirectory(), 'run')
    const { code, stderr, stdout } = await turnpike(['run', 'test/e2e/mistaken.yaml', '--out', out])
    expect(code).toBe(2)
    expect(stdout).toBe('')
    expect(stderr).toBe('test/e2e/mistaken.yaml:4:13: got "kindd", expected the key "kind"\n')
    expect(() => readdirSync(out)).toThrow()
  })

  test('is a remote target without a budget, refused after the forecast', async () => {
    const { code, stderr } = await turnpike(['run', scenario, '--target', 'https://api.example.invalid/api/v1'], {
      TURNPIKE_KEYS: 'a,b,c',
    })
    expect(code).toBe(2)
    expect(stderr).toContain('forecast')
    expect(stderr).toMatch(/--budget-usd: got nothing, expected a budget/)
  })

  test('is a directory that holds a run, which is not overwritten', async () => {
    const out = freshDirectory()
    await turnpike(['run', scenario, '--target', 'http://127.0.0.1:9/api/v1', '--out', out])
    const { code, stderr } = await turnpike(['run', scenario, '--out', out])
    expect(code).toBe(2)
    expect(stderr).toContain('got a directory that holds a run')
  })
})
