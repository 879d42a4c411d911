import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { loadProfile } from '../../src/contract/profile.ts'
import { freshDirectory, serveForTest, turnpike } from '../support/turnpike.ts'

const acme = `
name: acme
headerPrefix: x-acme-
rpc: { usdPerCredit: "0.0000007", batchLimit: 25 }
limits: { requestsReset: unix-milliseconds }
`

test('the program learns the profile of a service, and a run by it accuses nobody', async ({ onTestFinished }) => {
  const directory = freshDirectory()
  const [served, learned] = [join(directory, 'acme.yaml'), join(directory, 'learned.yaml')]
  writeFileSync(served, acme)
  const { target } = await serveForTest(['service', '--profile', served], onTestFinished)

  const { code, stdout, stderr } = await turnpike(['learn', '--target', target, '--budget-usd', '0.1'])
  const [cost, heading] = stderr.split('\n')
  expect(cost).toMatch(/^Learning from \S+: at most 120 calls, at most \$0\.1\.$/)
  expect([code, heading]).toEqual([
    0,
    expect.stringMatching(/^Differences from the document \(\d+ calls, at most \$0\.\d+\):$/),
  ])
  expect(stderr).toContain('- rpc.usdPerCredit: "0.0000007", the document says "0.000000625"')
  writeFileSync(learned, stdout)
  const { headerPrefix, rpc, limits } = loadProfile(learned)
  expect([headerPrefix, rpc.usdPerCredit, rpc.batchLimit, limits.requestsReset]).toEqual([
    'x-acme-',
    '0.0000007',
    25,
    'unix-milliseconds',
  ])

  const json = await turnpike(['learn', '--target', target, '--budget-usd', '0.1', '--format', 'json'])
  const { profile, ...rest } = JSON.parse(json.stdout)
  expect(profile).toMatch(/^headerPrefix: "?x-acme-"?$/m)
  expect(rest).toEqual({
    differences: expect.arrayContaining([expect.stringMatching(/^rpc\.usdPerCredit: "0\.0000007"/)]),
    calls: expect.any(Number),
    spentUsd: expect.stringMatching(/^0\.\d+$/),
  })

  const short = join(directory, 'short.yaml')
  writeFileSync(short, scenario)
  const run = await turnpike([
    'run',
    short,
    '--target',
    target,
    '--profile',
    learned,
    '--out',
    join(directory, 'run'),
    '--quiet',
  ])
  expect([run.code, run.stdout.split('\n')[0]]).toEqual([0, expect.stringMatching(/^PASS/)])
})

const scenario = `
name: short
question: Does the learned profile hold?
callers: { count: 2 }
calls:
  chat: { kind: chat, stream: true, model-tier: S, prompt-tokens: 40, max-completion-tokens: 10 }
  rpc: { kind: rpc-batch, network: ethereum-mainnet, methods: { eth_blockNumber: 1 }, size: 4, failing-items: 1 }
stages:
  - { name: steady, duration: 4s, shape: constant, rate: 3/s, mix: { chat: 1, rpc: 1 } }
thresholds:
  - { expect: violations == 0, why: The profile was learned from this service. }
`

const mistakes: readonly (readonly [args: readonly string[], said: string])[] = [
  [[], '--target: got nothing, expected the base URL of the service'],
  [['--target', 'ftp://x'], '--target: got "ftp://x"'],
  [['--target', 'https://api.example.com/v1'], '--budget-usd: got nothing, expected a budget'],
  [['--target', 'http://127.0.0.1:9', '--budget-usd', '-1'], '--budget-usd: got'],
  [['--target', 'https://api.example.com/v1', '--budget-usd', '1'], 'TURNPIKE_KEYS: got nothing'],
]

test.each(mistakes)('a mistake ends with exit code 2: %j', async (args, said) => {
  const { code, stdout, stderr } = await turnpike(['learn', ...args])
  expect([code, stdout]).toEqual([2, ''])
  expect(stderr).toContain(said)
})

test('a target that is down ends with exit code 3 and one reason', async () => {
  const { code, stdout, stderr } = await turnpike(['learn', '--target', 'http://127.0.0.1:9/v1'])
  expect([code, stdout]).toEqual([3, ''])
  expect(stderr).toMatch(
    /^Learning from http:\/\/127\.0\.0\.1:9\/v1: at most 120 calls, no budget\.\nNothing was learned from http:\/\/127\.0\.0\.1:9\/v1: no response could be read \(connect-refused: no program listens at this address\)\.\n$/,
  )
})
