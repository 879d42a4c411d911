import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { type Report, reportSchema } from '../../../src/report/document.ts'
import { openAiServer, rpcServer, startFakeUpstream } from '../../support/fake-upstream.ts'
import { freshDirectory, startTurnpike, turnpike } from '../../support/turnpike.ts'

const secrets = {
  TURNPIKE_CHAT_UPSTREAM_KEY: 'chat-upstream-secret',
  TURNPIKE_RPC_UPSTREAM_KEY: 'node-upstream-secret',
}

test('a service in front of real servers passes a run, and keeps keys on their side', async ({ onTestFinished }) => {
  const [chat, node] = [await startFakeUpstream(openAiServer), await startFakeUpstream(rpcServer)]
  const flags = [
    '--chat-upstream',
    `${chat.origin}/v1/`,
    '--chat-upstream-model',
    'tiny',
    '--rpc-upstream',
    node.origin,
  ]
  const service = startTurnpike(['service', '--port', '0', ...flags], secrets)
  onTestFinished(async () => {
    service.child.kill('SIGKILL')
    await Promise.all([chat.close(), node.close()])
  })
  const target = await service.said(/http:\S+\/api\/v1/)
  const out = `${freshDirectory()}/run`
  const { code, stdout } = await turnpike([
    'run',
    'test/e2e/upstreams.yaml',
    '--target',
    target,
    '--quiet',
    '--out',
    out,
  ])
  const report: Report = reportSchema.parse(JSON.parse(readFileSync(`${out}/report.json`, 'utf8')))
  expect([code, report.findings]).toEqual([0, []])
  const passed = report.clauses.flatMap(({ id, verdict }) => (verdict === 'pass' ? [id] : []))
  expect(passed).toEqual(
    expect.arrayContaining([
      ...['chat.stream.chunk', 'chat.stream.usage', 'chat.usage', 'rpc.batch.error-price', 'rpc.response.error'],
      ...['rpc.replay.charge', 'billing.conservation'],
    ]),
  )
  expect(chat.requests.map(({ path, body }) => [path, body.model])[0]).toEqual(['/v1/chat/completions', 'tiny'])
  expect(chat.requests[0]?.headers.authorization).toBe(`Bearer ${secrets.TURNPIKE_CHAT_UPSTREAM_KEY}`)
  expect(node.requests[0]?.headers.authorization).toBe(`Bearer ${secrets.TURNPIKE_RPC_UPSTREAM_KEY}`)
  expect(JSON.stringify([chat.requests, node.requests])).not.toContain('ref_default_')

  await Promise.all([chat.close(), node.close()])
  const refused = await fetch(`${target}/crypto/rpc/base-mainnet`, {
    method: 'POST',
    headers: { authorization: 'Bearer ref_default_late', 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_chainId', params: [] }),
  })
  expect(refused.status).toBe(503)
  await service.said('The rpc upstream did not respond (ECONNREFUSED).')
  service.child.kill('SIGTERM')
  const ended = await service.ended
  for (const key of Object.values(secrets)) expect(ended.stderr + ended.stdout + stdout).not.toContain(key)
})

test.each([
  [['--chat-upstream', 'localhost:8000'], '--chat-upstream: got "localhost:8000", expected an http or https address'],
  [
    ['--chat-upstream', 'http://127.0.0.1:1', '--lie', 'failed-item-in-full'],
    '--lie: got also --chat-upstream, expected one of them',
  ],
  [['--chat-upstream-model', 'x'], '--chat-upstream-model: got no --chat-upstream'],
  [['--rpc-upstream', 'http://127.0.0.1:1/{key}'], 'the key in TURNPIKE_RPC_UPSTREAM_KEY'],
])('%j is refused before anything starts', async (flags, message) => {
  const { code, stderr } = await turnpike(['service', '--port', '0', ...flags])
  expect([code, stderr]).toEqual([2, expect.stringContaining(message)])
})
