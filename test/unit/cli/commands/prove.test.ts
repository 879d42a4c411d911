import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { runCli } from '../../../../src/cli/cli.ts'
import { exitCodes } from '../../../../src/cli/flags.ts'
import { freshDirectory } from '../../../support/turnpike.ts'

const printed: string[] = []
beforeEach(() => {
  printed.length = 0
  vi.spyOn(process.stdout, 'write').mockImplementation(line => printed.push(`${line}`) > 0)
})
afterEach(() => void vi.restoreAllMocks())

const folder = freshDirectory()
const [scenario, profile] = [join(folder, 'blocks.yaml'), join(folder, 'profile.yaml')]
writeFileSync(
  scenario,
  `name: blocks
callers: { count: 1 }
calls:
  read: { kind: rpc, network: ethereum-mainnet, methods: { eth_blockNumber: 1 } }
stages:
  - { name: all, shape: sequence, duration: 5s, calls: [read, read] }
thresholds: [{ expect: violations == 0, why: a test }]
`,
)
writeFileSync(profile, 'promises: { only: [rpc.response, rpc.status, abuse.counts] }')
const prove = (...flags: readonly string[]) =>
  runCli(['prove', scenario, `--profile=${profile}`, '--workers=1', '--no-suggestions', ...flags])

test('the exit code says whether the score is high enough', async () => {
  expect(await prove('--format=json', '--min-score=10%')).toBe(exitCodes.pass)
  const proof = JSON.parse(printed.join(''))
  expect(proof).toMatchObject({ schema: 1, scenario: 'blocks', verdict: 'pass', minScore: 0.1 })
  expect(proof.score).toBeGreaterThan(0.1)
  expect(proof.score).toBeLessThan(0.9)
  expect(await prove('--min-score=90%')).toBe(exitCodes.fail)
  expect(await prove('--min-score=90%', '--fail-code=99')).toBe(99)
  expect(await prove('--min-score=10%', '--fail-code=99')).toBe(exitCodes.pass)
})

test.each(['80', 'all', '101%', '-1%'])('--min-score %s is a mistake, before anything runs', async given => {
  await expect(prove(`--min-score=${given}`)).rejects.toThrow(
    `--min-score: got "${given}", expected a share from 0% to 100%, such as 80%`,
  )
  expect(printed).toEqual([])
})

test('--format html prints one page without scripts, and with the same words', async () => {
  expect(await prove('--format=html')).toBe(exitCodes.pass)
  const page = printed.join('')
  expect(page).toMatch(/^<!doctype html>/)
  expect(page).not.toContain('<script')
  for (const words of ['<h1>blocks</h1>', 'Not noticed', 'Never asked: no caller failed often enough'])
    expect(page).toContain(words)
})
