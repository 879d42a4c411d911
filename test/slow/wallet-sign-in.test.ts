import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { todays } from '../support/nightly.ts'
import { freshDirectory, serveForTest, turnpike } from '../support/turnpike.ts'

const scenario = 'scenarios/wallet-sign-in.yaml'
const findingsIn = (out: string): readonly { readonly clause: string }[] =>
  JSON.parse(readFileSync(join(out, 'report.json'), 'utf8')).findings

test('the program signs as it should and as it should not, and its audit says the same', async () => {
  const out = freshDirectory()
  const { code, stdout, stderr } = await turnpike(['run', scenario, '--out', out, '--quiet'])
  expect([code, findingsIn(out)], stdout + stderr).toEqual([0, []])
  const audited = await turnpike(['audit', out])
  expect(audited.code).toBe(0)
  expect(audited.stdout).toContain('status(402) of rpc > 0')
})

const lies = [
  ['used-nonce-accepted', 'wallet.failed'],
  ['legacy-header-refused', 'wallet.legacy-header'],
  ['no-solana-wallets', 'wallet.solana'],
  ['same-challenge', 'wallet.insufficient.help'],
] as const

test.each(todays(lies, 2))('over two workers and HTTP, the lie %s fails %s alone', async (lie, clause) => {
  const { target } = await serveForTest(['service', '--lie', lie], onTestFinished)
  const out = freshDirectory()
  const flags = ['--target', target, '--out', out, '--workers', '2', '--quiet']
  const { code, stdout, stderr } = await turnpike(['run', scenario, ...flags])
  const clauses = new Set(findingsIn(out).map(each => each.clause))
  expect([code, [...clauses]], stdout + stderr).toEqual([1, [clause]])
})
