import { readFileSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Report, reportSchema } from '../../src/report/document.ts'
import { behindProxy } from '../support/behind-proxy.ts'
import { freePort } from '../support/free-port.ts'
import { startGuidellm } from '../support/guidellm-server.ts'
import { describeWith } from '../support/real-part.ts'
import { type RealProgram, startProgram } from '../support/real-program.ts'
import { withoutTimes } from '../support/shortened.ts'
import { expectEachTurn, trafficAt } from '../support/traffic-of-others.ts'
import { freshDirectory, turnpike } from '../support/turnpike.ts'

async function runAt(
  name: string,
  target: string,
  profile: string | null = null,
): Promise<{ readonly code: number | null; readonly report: Report }> {
  const folder = freshDirectory()
  const [scenario, out] = [`${folder}/${name}.yaml`, `${folder}/run`]
  writeFileSync(scenario, withoutTimes(name))
  const flags = ['--target', target, '--quiet', '--out', out, ...(profile === null ? [] : ['--profile', profile])]
  const { code, stderr } = await turnpike(['run', scenario, ...flags])
  expect(stderr).toBe('')
  return { code, report: reportSchema.parse(JSON.parse(readFileSync(`${out}/report.json`, 'utf8'))) }
}

const clausesOf = ({ clauses }: Report, verdict: string) =>
  clauses.filter(each => each.verdict === verdict).map(({ id }) => id)

/** The verdict on a target behind a proxy that changes the bodies of responses. */
const runBehind = (name: string, origin: string, path: string, change: (body: string) => string) =>
  behindProxy(
    origin,
    ({ body }) => ({ body: change(body) }),
    behind => runAt(name, `${behind}${path}`),
  )

describeWith('hardhat', 'the node of Hardhat', () => {
  let origin = ''
  let node: RealProgram

  beforeAll(async () => {
    const hardhat = process.env.TURNPIKE_HARDHAT ?? ''
    const port = await freePort()
    origin = `http://127.0.0.1:${port}`
    // Hardhat runs only in a project that has it as a dependency.
    const folder = resolve(hardhat, '../../..')
    node = await startProgram(hardhat, ['node', '--port', String(port)], { origin, folder, ready: '/' })
  })
  afterAll(() => node?.kill())

  test('passes without a key, and everything that it promises is judged', async () => {
    const { code, report } = await runAt('rpc-node', origin)
    expect(report.findings).toEqual([])
    expect([code, report.verdict]).toEqual([0, 'pass'])
    expect(clausesOf(report, 'pass')).toEqual([
      'rpc.content-type',
      'rpc.response',
      'rpc.response.error',
      'rpc.id',
      'rpc.batch.correlation',
      'rpc.item-failure.alone',
      'rpc.coherence.head',
      'rpc.coherence.block',
      'rpc.coherence.batch',
      'twin.accepted',
      'twin.result',
    ])
    // Other scenarios ask for these.
    const ofOthers = /^(rpc\.protocol\.|rpc\.coherence\.final$|twin\.)/
    expect(clausesOf(report, 'not-exercised').filter(id => !ofOthers.test(id))).toEqual([])
  })

  test('fails behind a proxy that loses an item of each batch', async () => {
    const { code, report } = await runBehind('rpc-node', origin, '', body => {
      const responses: unknown = JSON.parse(body)
      return Array.isArray(responses) ? JSON.stringify(responses.slice(1)) : body
    })
    expect(code).toBe(1)
    expect(clausesOf(report, 'fail')).toEqual(['rpc.batch.correlation'])
  })
})

describeWith('llm-server', 'the mock server of guidellm', () => {
  let origin = ''
  let server: RealProgram

  beforeAll(async () => {
    const port = await freePort()
    origin = `http://127.0.0.1:${port}`
    server = await startGuidellm(port)
  })
  afterAll(() => server?.kill())

  test('passes without a key, and everything that it promises is judged', async () => {
    const { code, report } = await runAt('llm-server', `${origin}/v1`)
    expect(report.findings).toEqual([])
    expect([code, report.verdict]).toEqual([0, 'pass'])
    expect(clausesOf(report, 'pass')).toEqual(
      expect.arrayContaining([
        ...['chat.content-type', 'chat.object', 'chat.message', 'chat.usage', 'chat.max-completion-tokens'],
        ...['chat.stream.chunk', 'chat.stream.finish', 'chat.stream.usage', 'chat.stream.done'],
      ]),
    )
  })

  test('fails behind a proxy that loses the done marker', async () => {
    const { code, report } = await runBehind('llm-server', origin, '/v1', body => body.replace('data: [DONE]\n\n', ''))
    expect(code).toBe(1)
    expect(clausesOf(report, 'fail')).toEqual(['chat.stream.done'])
  })

  test('fails behind a proxy that changes the id in the middle of a stream', async () => {
    let chunks = 0
    const { report } = await runBehind('llm-server', origin, '/v1', body =>
      body.replace(/"id": "chatcmpl-/g, start => (chunks++ % 3 === 0 ? '"id": "other-' : start)),
    )
    expect(clausesOf(report, 'fail')).toEqual(['chat.stream.chunk'])
  })

  test('is accused of nothing in conversations and in twins, and each turn has its row', async () => {
    const { code, report } = await trafficAt(`${origin}/v1`)
    expect(report.findings).toEqual([])
    expect([code, report.verdict]).toEqual([0, 'pass'])
    expectEachTurn(report)
  })

  test('is learned to accept -1 as a token limit, and is named only for the tokens that it counts then', async () => {
    const { stdout } = await turnpike(['learn', '--target', `${origin}/v1`])
    const profile = `${freshDirectory()}/learned.yaml`
    writeFileSync(profile, stdout)
    const { report } = await runAt('llm-conformance', `${origin}/v1`, profile)
    expect(report.findings.map(({ clause }) => clause)).toEqual(['chat.usage'])
    expect(report.findings[0]?.message).toMatch(/"completion_tokens":-1/)
    expect(report.clauses.map(({ id }) => id)).not.toContain('chat.token-limit.below-zero')
    expect(clausesOf(report, 'pass')).toContain('chat.token-limit.whole-number')
  })

  test('fails behind a proxy that counts one more token of a prompt in whole completions', async () => {
    const change = (body: string) =>
      body.startsWith('{')
        ? body.replace(/"prompt_tokens":(\d+)(.*"total_tokens":)(\d+)/, (_, prompt, between, total) => {
            return `"prompt_tokens":${Number(prompt) + 1}${between}${Number(total) + 1}`
          })
        : body
    const { code, report } = await behindProxy(
      origin,
      ({ body }) => ({ body: change(body) }),
      behind => trafficAt(`${behind}/v1`),
    )
    expect(code).toBe(1)
    expect(clausesOf(report, 'fail')).toEqual(['twin.tokens'])
  })
})
