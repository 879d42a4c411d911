import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { describe, expect, type TestContext, test } from 'vitest'
import type { Plan } from '../../src/plan/plan.ts'
import type { Report } from '../../src/report/document.ts'
import { freshDirectory, serveForTest, turnpike } from '../support/turnpike.ts'

type Finished = TestContext['onTestFinished']

function scenarioFile(callers = ''): string {
  const file = join(freshDirectory(), 'paced.yaml')
  writeFileSync(
    file,
    `name: paced
callers: { count: 2${callers} }
calls:
  chat: { kind: chat, stream: false, model-tier: XS, prompt-tokens: 20, max-completion-tokens: 8 }
stages:
  - { name: steady, duration: 1s, shape: constant, rate: 90% of tier, mix: { chat: 1 } }
`,
  )
  return file
}

/** A reference service with a limit of 300 requests per minute instead of the documented 500. */
async function startLimitedService(onTestFinished: Finished): Promise<string> {
  const profile = join(freshDirectory(), 'limited.yaml')
  writeFileSync(profile, 'name: limited\naccounts: { default: { XS: { requestsPerMinute: 300 } } }\n')
  return (await serveForTest(['service', '--profile', profile], onTestFinished)).target
}

/** A target with one response for everything, and the requests that it received. */
async function startTarget(onTestFinished: Finished, status: number, body: string) {
  const requests: string[] = []
  const server = createServer((request, response) => {
    requests.push(`${request.method} ${request.url} ${request.headers.authorization}`)
    response.writeHead(status, { 'content-type': 'application/json' }).end(body)
  })
  onTestFinished(() => void server.close())
  const port = await new Promise(resolve => {
    server.listen(0, '127.0.0.1', () => {
      const address = server.address()
      resolve(typeof address === 'object' ? address?.port : null)
    })
  })
  return { target: `http://127.0.0.1:${port}/api/v1`, request: requests }
}

const planOf = async (args: readonly string[], environment?: Readonly<Record<string, string>>): Promise<Plan> =>
  JSON.parse((await turnpike(['plan', ...args, '--format', 'json'], environment)).stdout) as Plan
const rateOf = ({ stages }: Plan) => {
  const [load] = stages.map(stage => stage.load)
  return load?.model === 'open' && load.shape.kind === 'constant' ? load.shape.perSecond : null
}
const readJson = (directory: string, file: string): unknown => JSON.parse(readFileSync(join(directory, file), 'utf8'))
const expectedLimit = { scope: 'chat:ref-nano-3b', profile: 500, target: 300 }

describe.concurrent('a target with lower limits than documented', () => {
  test('is paced by its own limits, which the plan shows, or by those of the profile, as the scenario sets', async ({
    onTestFinished,
  }) => {
    const target = await startLimitedService(onTestFinished)
    const plan = await planOf([scenarioFile(), '--target', target])
    expect(plan.limits.discovery).toEqual({ kind: 'answered', caller: 'c0' })
    expect(plan.limits.scopes).toContainEqual({ ...expectedLimit, from: 'target' })
    expect(rateOf(plan)).toBe(9)

    const text = await turnpike(['plan', scenarioFile(), '--target', target])
    expect(text.stdout).toMatch(/limits +from the target \(caller c0\); 1 differs from the profile/)
    expect(text.stdout).toMatch(/chat:ref-nano-3b +500 +300 +the target +differs/)

    const byProfile = await planOf([scenarioFile(', limits-from: profile'), '--target', target])
    expect(byProfile.limits.scopes).toContainEqual({ ...expectedLimit, from: 'document' })
    expect(rateOf(byProfile)).toBe(15)
  })

  test('is judged by them, and its run states the source of each limit', async ({ onTestFinished }) => {
    const target = await startLimitedService(onTestFinished)
    const out = join(freshDirectory(), 'run')
    const run = await turnpike(['run', scenarioFile(), '--target', target, '--out', out])
    expect(run.code).toBe(0)
    expect(run.stderr).toContain(
      'The target publishes different limits than the profile: chat:ref-nano-3b 300 instead of 500 per minute. Rates use the limits of the target.',
    )
    const plan = readJson(out, 'plan.json') as Plan
    expect(plan.limits.scopes).toContainEqual({ ...expectedLimit, from: 'target' })
    expect(rateOf(plan)).toBe(9)
  })

  test('fails the clauses about its limits with --limits-from documented', async ({ onTestFinished }) => {
    const target = await startLimitedService(onTestFinished)
    const out = join(freshDirectory(), 'run')
    const flags = ['--target', target, '--out', out, '--limits-from', 'documented']
    expect((await turnpike(['run', scenarioFile(), ...flags])).code).toBe(1)
    const clauses = (readJson(out, 'report.json') as Report).findings.map(({ clause }) => clause)
    expect(clauses.toSorted()).toEqual(['catalogue.rate-limits', 'limit.requests.limit'])
  })
})

describe.concurrent('a target that does not publish its limits', () => {
  test.for<readonly [what: string, status: number, body: string, why: string]>([
    ['has no such endpoint', 404, '{}', 'it responded with 404'],
    ['does not know the caller', 401, '{}', 'it responded with 401'],
    ['returns HTML', 200, '<html>', 'its response contains no limits'],
    ['returns an empty list', 200, '{"data":{"rateLimits":[]}}', 'its response contains no limits'],
  ])(
    'and that %s is planned by the profile, and the plan states so',
    async ([, status, body, why], { onTestFinished }) => {
      const { target, request } = await startTarget(onTestFinished, status, body)
      const plan = await planOf([scenarioFile(), '--target', target], { TURNPIKE_KEYS: 'key-one,key-two' })
      expect(plan.limits.discovery).toEqual({ kind: 'failed', caller: 'c0', why })
      expect(rateOf(plan)).toBe(15)
      const paths = ['models', 'crypto/rpc/networks', 'api_keys/rate_limits']
      expect(request.slice(0, 3)).toEqual(paths.map(path => `GET /api/v1/${path} Bearer key-one`))
      // If every list is missing, Turnpike looks for the service under other paths, without a key.
      for (const other of request.slice(3)) expect(other).toMatch(/^GET \S*\/models (?!Bearer)/)
    },
  )

  test('and that is unreachable is planned by the profile', async () => {
    const plan = await planOf([scenarioFile(), '--target', 'http://127.0.0.1:9/api/v1'])
    expect(plan.limits.discovery).toEqual({ kind: 'failed', caller: 'c0', why: 'connect-refused' })
  })
})

describe.concurrent('no discovery request is sent', () => {
  test('for a plan without --target, even if the scenario names a target', async ({ onTestFinished }) => {
    const { target, request } = await startTarget(onTestFinished, 200, '{}')
    const file = scenarioFile()
    writeFileSync(file, `target: ${target}\n${readFileSync(file, 'utf8')}`)
    const plan = await planOf([file])
    expect(plan.limits.discovery).toEqual({ kind: 'not-asked', why: 'a run discovers the limits of the target' })
    expect(request).toEqual([])
  })

  test.for<readonly [what: string, flags: readonly string[], text: string]>([
    ['a budget that is too small', ['--budget-usd', '0.000001'], 'budget: got $0.000001'],
    ['a directory that holds a run', ['--out', 'taken'], 'a directory that holds a run'],
    ['an invalid address', ['--metrics', 'nowhere'], '--metrics: got "nowhere"'],
    ['a key twice', ['--keys', 'one,one'], 'got a key twice'],
  ])('for a run that is rejected for %s', async ([, flags, text], { onTestFinished }) => {
    const { target, request } = await startTarget(onTestFinished, 200, '{}')
    const out = join(freshDirectory(), 'out')
    const taken = freshDirectory()
    writeFileSync(join(taken, 'plan.json'), '{}')
    const [flag = '', value = ''] = flags
    const given = flag === '--keys' ? ['--out', out] : flag === '--out' ? ['--out', taken] : ['--out', out, flag, value]
    const keys = flag === '--keys' ? value : 'one,two'
    const run = await turnpike(['run', scenarioFile(), '--target', target, ...given], { TURNPIKE_KEYS: keys })
    expect(run.stderr).toContain(text)
    expect(run.code).toBe(2)
    expect(request).toEqual([])
    expect(existsSync(out)).toBe(false)
  })

  test('for a plan whose run would be rejected, and the plan states why', async ({ onTestFinished }) => {
    const { target, request } = await startTarget(onTestFinished, 200, '{}')
    const plan = await planOf([scenarioFile(), '--target', target, '--budget-usd', '0.000001'])
    expect(plan).toMatchObject({
      limits: { discovery: { kind: 'not-asked', why: expect.stringContaining('a run would be refused') } },
      refused: expect.stringContaining('budget: got $0.000001'),
    })
    expect(request).toEqual([])
  })
})

test('the built-in reference service receives a discovery request too', async () => {
  const out = join(freshDirectory(), 'run')
  const run = await turnpike(['run', scenarioFile(), '--out', out])
  expect(run.code).toBe(0)
  const plan = readJson(out, 'plan.json') as Plan
  expect(plan.limits.discovery).toEqual({ kind: 'answered', caller: 'c0' })
  expect(plan.limits.scopes.every(({ profile, target, from }) => profile === target && from === 'target')).toBe(true)
})
