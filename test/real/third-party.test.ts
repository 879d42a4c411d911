import { readFileSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Report, reportSchema } from '../../src/report/document.ts'
import { behindProxy } from '../support/behind-proxy.ts'
import { freePort } from '../support/free-port.ts'
import { describeWith } from '../support/real-part.ts'
import { type RealProgram, startProgram } from '../support/real-program.ts'
import { withoutTimes } from '../support/shortened.ts'
import { freshDirectory, turnpike } from '../support/turnpike.ts'

async function runAt(name: string, target: string): Promise<{ readonly code: number | null; readonly report: Report }> {
  const folder = freshDirectory()
  const [scenario, out] = [`${folder}/${name}.yaml`, `${folder}/run`]
  writeFileSync(scenario, withoutTimes(name))
  const { code, stderr } = await turnpike(['run', scenario, '--target', target, '--quiet', '--out', out])
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
      'rpc.coherence.batch',
    ])
    // Other scenarios ask for these.
    const ofOthers = /^(rpc\.protocol\.|rpc\.coherence\.(block|final)$|twin\.)/
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

/** The command line program needs all dependencies of guidellm, and the server only a few. */
const guidellm = `
import sys
from guidellm.mock_server.server import MockServer
from guidellm.schemas.mock_server import MockServerConfig
MockServer(MockServerConfig(host="127.0.0.1", port=int(sys.argv[1]), ttft_ms=20, itl_ms=2, output_tokens=64)).run()
`

describeWith('llm-server', 'the mock server of guidellm', () => {
  let origin = ''
  let server: RealProgram

  beforeAll(async () => {
    const port = await freePort()
    origin = `http://127.0.0.1:${port}`
    const flags = ['-c', guidellm, String(port)]
    const python = process.env.TURNPIKE_GUIDELLM_PYTHON ?? ''
    server = await startProgram(python, flags, { origin, folder: freshDirectory(), ready: '/v1/models' })
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
})
