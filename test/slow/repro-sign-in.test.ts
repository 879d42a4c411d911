import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { documentedContract } from '../../src/contract/documented.ts'
import type { WalletCaller } from '../../src/produce/callers/caller.ts'
import { walletKind } from '../../src/produce/callers/signer.ts'
import { walletSecrets } from '../../src/produce/callers/wallet-keys.ts'
import { signInSteps } from '../../src/run/repro-sign-in.ts'
import { evmSignatures } from '../../src/service/wallets/evm-signatures.ts'
import { signInChecker } from '../../src/service/wallets/sign-in.ts'

const { wallets: terms } = documentedContract
beforeAll(() => evmSignatures.load())

async function walletOn(chain: 'base' | 'solana') {
  const rail = terms.rails[chain]
  if (rail === undefined) throw new Error(`no rail ${chain}`)
  const privateKey = '5a'.repeat(32)
  const { family, network } = rail
  const address = (await walletKind(family)).addressOf(privateKey)
  const wallet: WalletCaller = { kind: 'wallet', name: 'w0', chain, family, network, address, privateKey }
  return { rail, wallet, texts: chain === 'base' ? [privateKey, `0x${privateKey}`] : walletSecrets(wallet).slice(1) }
}

/** Runs the lines for two requests of a wallet, and reads what they leave. */
function run(lines: readonly string[], key: string, cwd = process.cwd()) {
  const work = mkdtempSync(join(tmpdir(), 'turnpike-sign-in-'))
  const script = ['target=http://api.example.org:81/api/v1', `work='${work}'`, ...lines].join('\n')
  const env = { ...process.env, TURNPIKE_WALLET_KEY: key }
  const { status, stdout, stderr } = spawnSync('bash', ['-c', script], { cwd, env, encoding: 'utf8' })
  const read = (name: string) => readFileSync(join(work, name), 'utf8')
  return { status, output: stdout + stderr, read }
}

describe.each(['base', 'solana'] as const)('a script that signs in as a wallet on %s', chain => {
  test.each(['message', 'fields'] as const)('does so once for each request, with the layout %s', async layout => {
    const { rail, wallet, texts } = await walletOn(chain)
    const own = { ...terms.signIn, layouts: [layout], statement: `It's "signed" $HOME` }
    const lines = signInSteps(
      [4, 7].map(id => ({ id, variable: 'TURNPIKE_WALLET_KEY', rail })),
      own,
    )
    const check = signInChecker({ ...terms, signIn: own }, refusal => refusal)
    for (const text of texts) {
      const { status, output, read } = run(lines, text)
      expect([status, output]).toEqual([0, ''])
      for (const id of [4, 7]) {
        const [, value = ''] = /^SIGN-IN-WITH-X: (\S+)\n$/.exec(read(`${id}.sign-in`)) ?? []
        const address = chain === 'base' ? wallet.address.toLowerCase() : wallet.address
        expect(check(value, 'api.example.org:81', Date.now())).toEqual({ kind: 'signed-in', address })
        expect(read(`${id}.address`)).toBe(wallet.address)
      }
    }
  })

  test('says that a private key is none, and does not show it', async () => {
    const { rail } = await walletOn(chain)
    const lines = signInSteps([{ id: 4, variable: 'TURNPIKE_WALLET_KEY', rail }], terms.signIn)
    const { status, output } = run(lines, 'no key: 0IlO')
    expect([status, output]).toEqual([2, 'No sign-in: is the private key valid?\n'])
  })
})

test('a script without viem says what to install', async () => {
  const { rail, texts } = await walletOn('base')
  const lines = signInSteps([{ id: 4, variable: 'TURNPIKE_WALLET_KEY', rail }], terms.signIn)
  const { status, output } = run(lines, texts[0] ?? '', mkdtempSync(join(tmpdir(), 'turnpike-empty-')))
  expect([status, output]).toEqual([2, 'The package viem is missing. Run: npm install viem\n'])
})

test('a script without wallets signs nothing', () => {
  expect(signInSteps([], terms.signIn)).toEqual([])
})
