import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, type TestContext, test } from 'vitest'
import { shell } from '../support/shell.ts'
import { freshDirectory, serveForTest, turnpike } from '../support/turnpike.ts'

type Finished = TestContext['onTestFinished']

const scenario = (calls: string, stage: string, record = 'all') => `name: repeated
seed: 3
callers: { count: 2 }
budget: { usd: 1 }
record: ${record}
calls:
${calls}
stages:
  - { name: only, ${stage} }
`

/** Runs a scenario against a service that lies. Gives the run directory. */
async function runAgainst(lie: string, text: string, onTestFinished: Finished): Promise<string> {
  const { target } = await serveForTest(['service', '--lie', lie], onTestFinished)
  const directory = freshDirectory()
  const file = join(directory, 'scenario.yaml')
  writeFileSync(file, text)
  const run = join(directory, 'run')
  const { code, stderr } = await turnpike(['run', file, '--target', target, '--out', run, '--quiet', '--no-warm-up'])
  expect(code, stderr).toBe(1)
  return run
}

/** The number of the finding with this name. */
async function numberOf(run: string, name: string): Promise<string> {
  const { stdout, code } = await turnpike(['findings', run, '--format', 'json'])
  expect(code).toBe(0)
  const listed = JSON.parse(stdout) as readonly { readonly number: number; readonly name: string }[]
  return String(listed.find(each => each.name === name)?.number)
}

/** Writes the script for a finding, and runs it against a new service. Gives what it prints from the deciding request on. */
async function repeat(run: string, number: string, lies: readonly string[], onTestFinished: Finished) {
  const script = join(freshDirectory(), 'again.sh')
  const written = await turnpike(['findings', run, number, '--repro', '--out', script])
  expect(written.code, written.stderr).toBe(0)
  expect(statSync(script).mode & 0o777).toBe(0o700)
  const { target } = await serveForTest(['service', ...lies.flatMap(lie => ['--lie', lie])], onTestFinished)
  const keys = `TURNPIKE_KEY=ref_default_again-0 TURNPIKE_OTHER_KEY=ref_default_again-1`
  const { stdout, stderr, code } = await shell(`${keys} TURNPIKE_TARGET="$TARGET" '${script}'`, target)
  expect([code, stderr]).toEqual([0, ''])
  return {
    stdout,
    notes: written.stderr,
    text: readFileSync(script, 'utf8'),
    decides: stdout.slice(stdout.search(/^request \d+.*THIS DECIDES/m)),
  }
}

const statusIn = (shown: string) => /^request \d+, sent at \S+: (\d+) after/.exec(shown)?.[1]

test.concurrent('abuse.counts: 21 failures and the request that is not blocked', async ({ onTestFinished }) => {
  const text = scenario(
    '  rate-limits: { kind: rate-limits }',
    'duration: 2s, shape: sequence, callers: 1, exceed-failure-limit: true, calls: [10 x unlisted-method, 11 x wrong-media-type, rate-limits]',
  )
  const lie = 'media-types-do-not-count'
  const run = await runAgainst(lie, text, onTestFinished)
  const number = await numberOf(run, 'abuse.counts')
  const lying = await repeat(run, number, [lie], onTestFinished)
  expect(lying.stdout.match(/^request \d+/gm)).toHaveLength(22)
  expect(statusIn(lying.decides)).toBe('200')
  const honest = await repeat(run, number, [], onTestFinished)
  expect(statusIn(honest.decides)).toBe('429')
  expect(honest.decides).toContain('wait 30s')
})

test.concurrent('rpc.batch.error-price: the batch costs too much', async ({ onTestFinished }) => {
  const text = scenario(
    `  batch: { kind: rpc-batch, network: ethereum-mainnet, size: 10, failing-items: 1, methods: { eth_blockNumber: 1 } }
  single: { kind: rpc, network: ethereum-mainnet, methods: { eth_blockNumber: 1 } }`,
    'duration: 2s, shape: constant, rate: 3/s, mix: { batch: 1, single: 1 }',
  )
  const run = await runAgainst('failed-item-in-full', text, onTestFinished)
  const number = await numberOf(run, 'rpc.batch.error-price')
  const { stdout } = await turnpike(['findings', run, number, '--format', 'json'])
  const [, got, expected] = /^(\d+) credits for .*expected (\d+)/.exec(JSON.parse(stdout).message) ?? []
  const lying = await repeat(run, number, ['failed-item-in-full'], onTestFinished)
  expect(lying.decides).toMatch(new RegExp(`^  x-\\S+-rpc-credits: ${got}\\s*$`, 'm'))
  const honest = await repeat(run, number, [], onTestFinished)
  expect(honest.decides).toMatch(new RegExp(`^  x-\\S+-rpc-credits: ${expected}\\s*$`, 'm'))
})

test.concurrent('rpc.replay.header: the replay is not marked', async ({ onTestFinished }) => {
  const text = scenario(
    `  single: { kind: rpc, network: ethereum-mainnet, methods: { eth_blockNumber: 1 } }
  again: { kind: replay, of: single, duplicates: 1 }`,
    'duration: 2s, shape: constant, rate: 1/s, mix: { again: 1 }',
  )
  const run = await runAgainst('replay-unmarked', text, onTestFinished)
  const number = await numberOf(run, 'rpc.replay.header')
  const lying = await repeat(run, number, ['replay-unmarked'], onTestFinished)
  expect(lying.stdout.match(/^request \d+/gm)).toHaveLength(2)
  expect(statusIn(lying.decides)).toBe('200')
  expect(lying.decides).not.toMatch(/^ {2}idempotent-replayed/im)
  const honest = await repeat(run, number, [], onTestFinished)
  expect(honest.decides).toMatch(/^ {2}idempotent-replayed: true/im)
})

test.concurrent('chat.stream.done: the stream has no end, and no other record was kept', async ({ onTestFinished }) => {
  const text = scenario(
    '  stream: { kind: chat, stream: true, model-tier: XS, prompt-tokens: 10, max-completion-tokens: 40 }',
    'duration: 2s, shape: constant, rate: 2/s, mix: { stream: 1 }',
    'none',
  )
  const run = await runAgainst('no-done', text, onTestFinished)
  const number = await numberOf(run, 'chat.stream.done')
  const lying = await repeat(run, number, ['no-done'], onTestFinished)
  expect(lying.decides).toContain('data: {')
  expect(lying.decides).not.toContain('data: [DONE]')
  expect((await repeat(run, number, [], onTestFinished)).decides).toContain('data: [DONE]')
})

test.concurrent('limit.requests.enforced: all requests of the window are sent, and too many are accepted', async ({
  onTestFinished,
}) => {
  const text = scenario(
    '  large: { kind: chat, stream: false, model-tier: L, prompt-tokens: 10, max-completion-tokens: 2 }',
    'duration: 1s, shape: burst, size: 150% of tier, exceed-tier: true, callers: 1, mix: { large: 1 }',
  )
  const run = await runAgainst('no-request-limit', text, onTestFinished)
  const { stdout } = await turnpike(['findings', run])
  expect(stdout).toContain('limit.requests.enforced')
  const number = await numberOf(run, 'limit.requests.enforced')
  const accepted = (each: string) => each.match(/^request \d+, sent at \S+: 200/gm)?.length
  expect(accepted((await repeat(run, number, ['no-request-limit'], onTestFinished)).stdout)).toBeGreaterThan(20)
  expect(accepted((await repeat(run, number, [], onTestFinished)).stdout)).toBe(20)
})

test.concurrent('without a record, the failures are built again from the plan, and the script says so', async ({
  onTestFinished,
}) => {
  const text = scenario(
    '  rate-limits: { kind: rate-limits }',
    'duration: 2s, shape: sequence, callers: 1, exceed-failure-limit: true, calls: [21 x unlisted-method, rate-limits]',
    'none',
  )
  const run = await runAgainst('block-never', text, onTestFinished)
  const number = await numberOf(run, 'abuse.block')
  const lying = await repeat(run, number, ['block-never'], onTestFinished)
  expect(lying.stdout.match(/^request \d+/gm)).toHaveLength(22)
  expect(lying.notes).toContain('had no record, and the script builds them again from the plan')
  expect(lying.text).toContain('NOT RECORDED')
  expect(statusIn(lying.decides)).toBe('200')
  expect(statusIn((await repeat(run, number, [], onTestFinished)).decides)).toBe('429')
})

test.concurrent('mistakes of the command give one sentence each, and write nothing', async ({ onTestFinished }) => {
  const text = scenario('  rate-limits: { kind: rate-limits }', 'duration: 1s, shape: sequence, calls: [rate-limits]')
  const run = await runAgainst('ray-twice', text, onTestFinished)
  const say = async (...args: string[]) => {
    const { code, stdout, stderr } = await turnpike(['findings', run, ...args])
    expect([code, stdout]).toEqual([2, ''])
    return stderr
  }
  expect(await say('7')).toMatch(/number: got "7", expected a finding, 1/)
  expect(await say('x', '--repro')).toMatch(/number: got "x", expected a finding, 1/)
  expect(await say('1', '--out', 'x.sh')).toMatch(/--out: got "x.sh", expected --repro with it/)
  expect(await say('1', '--repro', '--out', run)).toMatch(/expected a new file/)
})

test.concurrent('a request of a wallet is signed anew, on both chains', async ({ onTestFinished }) => {
  const text = scenario(
    '  batch: { kind: rpc-batch, network: ethereum-mainnet, size: 10, failing-items: 1, methods: { eth_blockNumber: 1, eth_getBalance: 1 } }',
    'duration: 2s, shape: constant, rate: 2/s, mix: { batch: 1 }',
  )
  const lie = 'failed-item-in-full'
  for (const [chain, key] of [
    ['base', '5a'.repeat(32)],
    ['solana', '4ER36Sbxo3PC5Y7n3zrEG4ukTqDEjRrPkLZcXHDWtUcJ'],
  ] as const) {
    const wallets = text
      .replace('count: 2', `count: 0, wallets: 2, chain: ${chain}, top-up: 5`)
      .replace('usd: 1', 'usd: 20')
    const run = await runAgainst(lie, wallets, onTestFinished)
    const number = await numberOf(run, 'rpc.batch.error-price')
    const { stdout: shown } = await turnpike(['findings', run, number, '--format', 'json'])
    const [, got] = /^(\d+) credits for /.exec(JSON.parse(shown).message) ?? []
    const script = join(freshDirectory(), 'again.sh')
    expect((await turnpike(['findings', run, number, '--repro', '--out', script])).code).toBe(0)
    const { target } = await serveForTest(['service', '--lie', lie, '--wallet-credit', '3'], onTestFinished)
    const { stdout, stderr, code } = await shell(
      // Here viem is installed.
      `cd "$ROOT" && TURNPIKE_WALLET_KEY=${key} TURNPIKE_OTHER_WALLET_KEY=${key} TURNPIKE_TARGET="$TARGET" '${script}'`,
      target,
    )
    expect([code, stderr]).toEqual([0, ''])
    const decides = stdout.slice(stdout.search(/^request \d+.*THIS DECIDES/m))
    expect(decides).toMatch(new RegExp(`^  x-\\S+-rpc-credits: ${got}\\s*$`, 'm'))
  }
})
