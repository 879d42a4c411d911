import { readFileSync, writeFileSync } from 'node:fs'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { parse } from 'yaml'
import { reportSchema } from '../../src/report/document.ts'
import { freePort } from '../support/free-port.ts'
import { startGuidellm } from '../support/guidellm-server.ts'
import { describeWith } from '../support/real-part.ts'
import { type RealProgram, startProgram } from '../support/real-program.ts'
import { expectEachTurn, trafficAt } from '../support/traffic-of-others.ts'
import { freshDirectory, turnpike } from '../support/turnpike.ts'

const windowSeconds = 10

/** Every key is one of its own, with six requests in a window, or many. Keys of its database would need PostgreSQL. */
const files = (upstream: string) => ({
  'keys.py': `
from litellm.proxy._types import UserAPIKeyAuth
async def check(request, api_key):
    return UserAPIKeyAuth(api_key=api_key, user_id=api_key, rpm_limit=1000 if api_key.startswith("sk-many") else 6, tpm_limit=100000)
`,
  'config.yaml': `
model_list:
  - model_name: tiny
    litellm_params: { model: openai/tiny, api_key: none, mock_response: "Hello there." }
  - model_name: served
    litellm_params: { model: openai/served, api_key: none, api_base: "${upstream}/v1" }
general_settings: { custom_auth: keys.check, master_key: sk-of-nobody-0123456789abcdef0123456789abcdef }
`,
  // It asks no server for prices, and its windows are short.
  'run.py': `
import os, sys
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
os.environ["LITELLM_RATE_LIMIT_WINDOW_SIZE"] = "${windowSeconds}"
from litellm import run_server
run_server()
`,
})

const scenario = `
name: limits
question: Does the proxy keep what it states?
seed: 3
callers: { count: 1 }
calls:
  chat: { kind: chat, model: tiny, stream: false, prompt-tokens: 5, max-completion-tokens: 64 }
stages:
  - { name: up-to-the-limit, duration: 1s, shape: sequence, calls: [9 x chat] }
  - { name: wait, duration: 21s, shape: pause }
  - { name: at-once, duration: 1s, shape: burst, size: 9, exceed-tier: true, mix: { chat: 1 } }
thresholds:
  - { expect: violations == 0, why: A proxy keeps what it states. }
`

describeWith('litellm', 'the proxy of LiteLLM, with limits per key', () => {
  let target = ''
  let proxy: RealProgram
  let upstreamPort = 0
  const folder = freshDirectory()

  beforeAll(async () => {
    const port = await freePort()
    upstreamPort = await freePort()
    const origin = `http://127.0.0.1:${port}`
    target = `${origin}/v1`
    for (const [name, text] of Object.entries(files(`http://127.0.0.1:${upstreamPort}`)))
      writeFileSync(`${folder}/${name}`, text)
    const flags = ['run.py', '--config', 'config.yaml', '--port', String(port), '--host', '127.0.0.1']
    const python = process.env.TURNPIKE_LITELLM_PYTHON ?? ''
    proxy = await startProgram(python, flags, { origin, folder, ready: '/health/liveliness' })
  })
  afterAll(() => proxy?.kill())

  test('is learned, and named for what it contradicts itself in', async () => {
    const { code, stdout, stderr } = await turnpike(['learn', '--target', target], { TURNPIKE_KEYS: 'sk-first' })
    expect(code, stderr).toBe(0)
    writeFileSync(`${folder}/learned.yaml`, stdout)
    expect(parse(stdout).limits).toEqual({ dialect: 'litellm', windowMs: windowSeconds * 1_000 })
    // A 429 in the middle of a window states the whole window as its wait, and streams state no limits.
    expect(stderr).toMatch(
      /limit\.requests\.reset: a request of chat:tiny was accepted \d s before the end of the wait/,
    )
    expect(stderr).toMatch(/limit\.requests\.headers: .* is nothing .*\(1 of \d+ times/)
  })

  test('is accused of nothing by whole completions, and its limit is seen to bite', async () => {
    writeFileSync(`${folder}/limits.yaml`, scenario)
    const flags = ['--profile', `${folder}/learned.yaml`, '--target', target, '--quiet', '--out', `${folder}/run`]
    const { stderr } = await turnpike(['run', `${folder}/limits.yaml`, ...flags], { TURNPIKE_KEYS: 'sk-second' })
    expect(stderr).toBe('')
    const report = reportSchema.parse(JSON.parse(readFileSync(`${folder}/run/report.json`, 'utf8')))
    expect(report.findings.map(({ clause, message }) => `${clause}: ${message}`)).toEqual([])
    expect(report.limits.map(({ accepted, rejected }) => [accepted, rejected])).toEqual([[12, 6]])
  })

  test('is named for the tokens that its made-up answers state in one form and not in the other', async () => {
    const { code, report } = await trafficAt(target, { model: 'tiny', keys: 'sk-many-1,sk-many-2' })
    // A whole one has 10 and 20 tokens, whatever it says and whatever was asked for.
    expect(code).toBe(1)
    expect(report.findings.map(({ clause }) => clause).toSorted()).toEqual([
      'chat.max-completion-tokens',
      'twin.tokens',
    ])
    expectEachTurn(report)
  })

  describeWith('llm-server', 'in front of the mock server of guidellm', () => {
    let upstream: RealProgram
    beforeAll(async () => {
      upstream = await startGuidellm(upstreamPort)
    })
    afterAll(() => upstream?.kill())

    test('is accused of nothing in conversations and in twins, and each turn has its row', async () => {
      const { code, report } = await trafficAt(target, { model: 'served', keys: 'sk-many-3,sk-many-4' })
      expect(report.findings.map(({ clause, message }) => `${clause}: ${message}`)).toEqual([])
      expect([code, report.verdict]).toEqual([0, 'pass'])
      expectEachTurn(report)
    })
  })
})
