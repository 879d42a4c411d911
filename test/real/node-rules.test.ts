import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { parse } from 'yaml'
import { reportSchema } from '../../src/report/document.ts'
import { behindProxy } from '../support/behind-proxy.ts'
import { freePort } from '../support/free-port.ts'
import { todays } from '../support/nightly.ts'
import { describeWith, type RealPart } from '../support/real-part.ts'
import { type RealProgram, startProgram } from '../support/real-program.ts'
import { withoutTimes } from '../support/shortened.ts'
import { freshDirectory, turnpike } from '../support/turnpike.ts'

type Node = {
  readonly part: RealPart
  readonly title: string
  readonly start: (port: number) => {
    readonly program: string
    readonly flags: readonly string[]
    readonly folder: string
  }
  /** The rules of JSON-RPC 2.0 that it really breaks. */
  readonly breaks: readonly string[]
  readonly batchLimit: number
}

const inFolder = (program: string | undefined, flags: readonly string[]) => ({
  program: program ?? '',
  flags,
  folder: freshDirectory(),
})

const nodes: readonly Node[] = [
  {
    part: 'hardhat',
    title: 'the node of Hardhat',
    // It runs only in a project that has it as a dependency.
    start: port => ({
      ...inFolder(process.env.TURNPIKE_HARDHAT, ['node', '--port', String(port)]),
      folder: resolve(process.env.TURNPIKE_HARDHAT ?? '', '../../..'),
    }),
    breaks: ['rpc.protocol.empty-batch', 'rpc.protocol.notification'],
    // It has none; longer ones are not tried.
    batchLimit: 1_001,
  },
  {
    part: 'ganache',
    title: 'the node of ganache',
    start: port =>
      inFolder(process.env.TURNPIKE_GANACHE, ['--server.port', String(port), '--server.host', '127.0.0.1']),
    breaks: ['no-json', 'version', 'unknown-method', 'empty-batch', 'notification'].map(rule => `rpc.protocol.${rule}`),
    batchLimit: 1_001,
  },
  {
    part: 'geth',
    title: 'Geth in dev mode',
    start: port => {
      const flags = ['--dev', '--http', '--http.addr', '127.0.0.1', '--http.port', String(port), '--port', '0']
      return inFolder(process.env.TURNPIKE_GETH, [...flags, '--ipcdisable', '--verbosity', '1'])
    },
    breaks: [],
    batchLimit: 1_000,
  },
]

const asked = (part: string) => (_: unknown, request: string) => request.includes(part)

/** What a proxy in front of a node may break, by the clause that says so. */
const bugs: readonly (readonly [string, string, Parameters<typeof behindProxy>[1]])[] = [
  [
    'ids come back as texts',
    'rpc.id',
    ({ body }) => ({ body: body.replace(/^\{"jsonrpc":"2.0","id":(\d+)/, '{"jsonrpc":"2.0","id":"$1"') }),
  ],
  ['another version', 'rpc.response', ({ body }) => ({ body: body.replaceAll('"jsonrpc":"2.0"', '"jsonrpc":"1.0"') })],
  ['errors without a code', 'rpc.response.error', ({ body }) => ({ body: body.replaceAll('"code":', '"status":') })],
  ['another content type', 'rpc.content-type', () => ({ type: 'text/plain' })],
  [
    'one failing item fails the batch',
    'rpc.item-failure.alone',
    ({ body }) => {
      const responses: unknown = JSON.parse(body === '' ? 'null' : body)
      const isBad = Array.isArray(responses) && responses.length > 2 && body.includes('-32602')
      return isBad
        ? {
            body: JSON.stringify(
              responses.map(({ id }) => ({ jsonrpc: '2.0', id, error: { code: -32_602, message: 'no' } })),
            ),
          }
        : {}
    },
  ],
  [
    'ids are read as numbers of 32 bits',
    'rpc.protocol.id',
    ({ body }) => ({ body: body.replace('9007199254740991', '-1') }),
  ],
  [
    'deep params crash it',
    'rpc.protocol.params',
    (response, request) => (asked('[[[[[')(response, request) ? { status: 500, body: 'Internal Server Error' } : {}),
  ],
]

for (const { part, title, start, breaks, batchLimit } of nodes)
  describeWith(part, title, () => {
    let origin = ''
    let node: RealProgram
    let profile = ''

    beforeAll(async () => {
      const port = await freePort()
      origin = `http://127.0.0.1:${port}`
      const { program, flags, folder } = start(port)
      mkdirSync(folder, { recursive: true })
      // Ganache has no such path.
      node = await startProgram(program, flags, { origin, folder, ready: '/', readyStatus: 404 })
      const learned = await turnpike(['learn', '--target', origin])
      expect(learned.code, learned.stderr).toBe(0)
      profile = `${folder}/learned.yaml`
      writeFileSync(profile, learned.stdout)
    })
    afterAll(() => node?.kill())

    async function runAt(target: string) {
      const folder = freshDirectory()
      writeFileSync(`${folder}/rules.yaml`, withoutTimes('node-conformance').replace('"6s"', '"3s"'))
      const flags = ['--profile', profile, '--target', target, '--quiet', '--out', `${folder}/run`]
      const { code, stderr } = await turnpike(['run', `${folder}/rules.yaml`, ...flags])
      expect(stderr).toBe('')
      const report = reportSchema.parse(JSON.parse(readFileSync(`${folder}/run/report.json`, 'utf8')))
      return { code, report, failed: report.findings.map(({ clause }) => clause) }
    }

    test('is learned: what it breaks, and its limit of batches', () => {
      const { promises, rpc } = parse(readFileSync(profile, 'utf8'))
      expect(promises.except.filter((id: string) => id !== 'rpc.protocol.batch-limit').toSorted()).toEqual(
        breaks.toSorted(),
      )
      expect(rpc.batchLimit).toBe(batchLimit)
    })

    test('is accused of nothing else, and everything that it promises is judged', async () => {
      const { code, report, failed } = await runAt(origin)
      expect(failed).toEqual([])
      expect(code).toBe(0)
      // Other scenarios ask for these.
      expect(report.clauses.filter(({ verdict }) => verdict === 'not-exercised').map(({ id }) => id)).toEqual([
        'rpc.coherence.head',
        'rpc.coherence.block',
        'rpc.coherence.final',
        'rpc.coherence.batch',
        'twin.accepted',
        'twin.result',
      ])
    })

    // The proxy is the same for each node, so by day it stands before one.
    test.each(todays(bugs, part === 'hardhat' ? 7 : Number.POSITIVE_INFINITY))(
      'behind a proxy: %s',
      async (_, clause, change) => {
        expect((await behindProxy(origin, change, runAt)).failed).toContain(clause)
      },
    )
  })
