import { existsSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import { expectSmokePassed, type Installed, install } from '../../support/installed.ts'

/** The package without its optional dependencies. */
let installed: Installed
beforeAll(async () => {
  installed = await install('--omit=optional')
})

const scenarioOf = (callers: string) => {
  const file = join(installed.folder, 'wallets.yaml')
  writeFileSync(
    file,
    `name: wallets
callers: { ${callers} }
calls: { rpc: { kind: rpc, network: ethereum-mainnet } }
stages: [{ name: steady, duration: 1s, shape: constant, rate: 4/s, mix: { rpc: 1 } }]
`,
  )
  return file
}

test('a user without wallets and Redis installs none of their packages', async () => {
  const { stdout } = await installed.bash('npm ls --all --parseable')
  const packages = stdout.trim().split('\n')
  expect(
    packages.filter(path => /viem|x402|solana|secp256k1|\box\b|bullmq|ioredis|modelcontextprotocol/.test(path)),
  ).toEqual([])
  // With them, there are about 200.
  expect(packages.length).toBeLessThan(120)
})

test('the smoke scenario passes', async () => {
  expectSmokePassed(await installed.turnpike('run smoke'))
})

test.each([
  ['chain: base', 'viem, tiny-secp256k1'],
  ['chain: solana, top-up: 5', '@x402/core, @x402/evm, @x402/svm, @solana/kit, viem'],
  ['chain: [base, solana], top-up: 5', 'viem, tiny-secp256k1, @x402/core, @x402/evm, @x402/svm, @solana/kit'],
])('wallets with %s are one error, which names the packages and the command', async (chain, names) => {
  const runs = () =>
    existsSync(join(installed.folder, 'runs')) ? readdirSync(join(installed.folder, 'runs')).length : 0
  const before = runs()
  const { code, stdout, stderr } = await installed.turnpike(`run ${scenarioOf(`count: 1, wallets: 2, ${chain}`)}`)
  expect([code, stdout, stderr.replace(/^npm warn.*\n/gm, '')]).toEqual([
    2,
    '',
    `callers.wallets: got packages that are not installed, expected ${names}; run npm install --include=optional\n`,
  ])
  expect(runs()).toBe(before)
})

test('Redis is one error, which names the packages and the command', async () => {
  const { code, stdout, stderr } = await installed.turnpike('worker --redis redis://127.0.0.1:1')
  expect([code, stdout, stderr.replace(/^npm warn.*\n/gm, '')]).toEqual([
    2,
    '',
    '--redis: got packages that are not installed, expected bullmq, ioredis; run npm install --include=optional\n',
  ])
})

test('wallets of Solana that pay nothing need no package', async () => {
  const { code, stderr } = await installed.turnpike(`run ${scenarioOf('count: 1, wallets: 2, chain: solana')} --quiet`)
  expect([0, 1, 3], stderr).toContain(code)
  expect(stderr).not.toContain('not installed')
})

test('tools for agents are one error, which names the package and the command', async () => {
  expect(await installed.turnpike('mcp')).toMatchObject({
    code: 2,
    stdout: '',
    stderr: expect.stringContaining(
      'turnpike mcp: got a package that is not installed, expected @modelcontextprotocol/server; run npm install --include=optional\n',
    ),
  })
})

test('the command that the error names installs them', async () => {
  await installed.bash('npm install --include=optional --prefer-offline --no-audit --no-fund')
  const { code, stdout } = await installed.turnpike(
    `run ${scenarioOf('count: 1, wallets: 2, chain: [base, solana], top-up: 5')}`,
  )
  expect([0, 3], stdout).toContain(code)
  expect(await installed.turnpike('mcp </dev/null')).toMatchObject({ code: 0, stdout: '' })
})
