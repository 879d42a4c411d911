import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { shell } from '../support/shell.ts'
import { freshDirectory, turnpike } from '../support/turnpike.ts'

const scenario = `name: reads
callers: { count: 1 }
calls:
  read: { kind: rpc, network: ethereum-mainnet, methods: { eth_blockNumber: 1 } }
stages:
  - { name: all, shape: constant, duration: 5s, rate: 1/s, mix: { read: 1 } }
thresholds: [{ expect: violations == 0, why: a test }]
`
const profile = 'promises: { only: [rpc.*, billing.*] }'

test('several threads find what one finds, and end', async () => {
  const folder = freshDirectory()
  const [file, profileFile] = [join(folder, 'reads.yaml'), join(folder, 'profile.yaml')]
  writeFileSync(file, scenario)
  writeFileSync(profileFile, profile)
  const prove = (...flags: readonly string[]) =>
    turnpike(['prove', file, `--profile=${profileFile}`, '--format=json', '--no-suggestions', ...flags], {})
  const [one, two] = [await prove('--workers=1'), await prove('--workers=2', '--min-score=99%')]
  expect([one.code, two.code]).toEqual([0, 1])
  const { mutants, groups, score } = JSON.parse(one.stdout)
  expect(score).toBeGreaterThan(0.1)
  expect(JSON.parse(two.stdout)).toMatchObject({ verdict: 'fail', mutants, groups, score })
  expect(two.stderr).toBe('')
})

test('threads do not read again what was read, so it may change, or be a pipe', async () => {
  const { code, stdout, stderr } = await shell(`
cat >reads.yaml <<'END'
${scenario}END
turnpike prove <(cat reads.yaml) --profile <(echo '${profile}') --format json --workers 2 --no-suggestions --no-sensitivity
`)
  expect([code, stderr]).toEqual([0, ''])
  expect(JSON.parse(stdout).groups.map(({ name }: { name: string }) => name)).not.toContain('chat')
})

test('a scenario that cannot run in memory is a mistake', async () => {
  const { code, stdout, stderr } = await turnpike(['prove', 'x402-races', '--workers=2'], {})
  expect([code, stdout]).toEqual([2, ''])
  expect(stderr).toMatch(/^callers\.chain: got wallets on solana that pay, expected wallets on base/)
})
