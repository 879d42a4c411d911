import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { freshDirectory, turnpike } from '../support/turnpike.ts'

test('several threads find what one finds, and end', async () => {
  const folder = freshDirectory()
  const [scenario, profile] = [join(folder, 'reads.yaml'), join(folder, 'profile.yaml')]
  writeFileSync(
    scenario,
    `name: reads
callers: { count: 1 }
calls:
  read: { kind: rpc, network: ethereum-mainnet, methods: { eth_blockNumber: 1 } }
stages:
  - { name: all, shape: constant, duration: 5s, rate: 1/s, mix: { read: 1 } }
thresholds: [{ expect: violations == 0, why: a test }]
`,
  )
  writeFileSync(profile, 'promises: { only: [rpc.*, billing.*] }')
  const prove = (...flags: readonly string[]) =>
    turnpike(['prove', scenario, `--profile=${profile}`, '--format=json', '--no-suggestions', ...flags], {})
  const [one, two] = [await prove('--workers=1'), await prove('--workers=2', '--min-score=99%')]
  expect([one.code, two.code]).toEqual([0, 1])
  const { mutants, groups, score } = JSON.parse(one.stdout)
  expect(score).toBeGreaterThan(0.1)
  expect(JSON.parse(two.stdout)).toMatchObject({ verdict: 'fail', mutants, groups, score })
  expect(two.stderr).toBe('')
})

test('a scenario that cannot run in memory is a mistake', async () => {
  const { code, stdout, stderr } = await turnpike(['prove', 'x402-races', '--workers=2'], {})
  expect([code, stdout]).toEqual([2, ''])
  expect(stderr).toMatch(/^callers\.chain: got wallets on solana that pay, expected wallets on base/)
})
